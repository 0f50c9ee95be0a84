// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import ConnectionAdmission
import FoundationEssentials
import HTTPService
import HTTPTypes
public import Logging
import NIOCore
public import ServiceLifecycle

/// Serves a simulated Apple over HTTP.
public struct AppleSimulatorServer: Service {
    private let simulator: AppleSimulator
    private let host: String
    private let port: Int
    private let browsers: BrowserGate
    private let logger: Logger
    private let onListening: @Sendable (_ port: Int) -> Void
    /// Its certificate and key for the next connection; nil for plain HTTP.
    package var identity: (@Sendable () -> ListenerIdentity)?
    /// How many connections there may be.
    var limits = DescriptorLimit.current().limits()

    /// - Parameters:
    ///   - port: 0 takes a free one.
    ///   - hosts: The names that it answers to, without ports, besides loopback names, addresses and `host`.
    ///   - onListening: Called once with the port that was bound.
    public init(
        _ simulator: AppleSimulator, host: String = "127.0.0.1", port: Int = 0, hosts: [String] = [], logger: Logger,
        onListening: @escaping @Sendable (_ port: Int) -> Void = { _ in }
    ) {
        self.simulator = simulator
        self.host = host
        self.port = port
        browsers = BrowserGate(listener: host, names: hosts)
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until the task is cancelled or a graceful shutdown is asked for.
    public func run() async throws {
        let observer = RequestObserver(registry: PrometheusRegistry(), log: logger)
        var deadlines = ConnectionLimits()
        // An idle connection keeps a place for as long as a slow client needs, and no longer; a planned delay may be longer than a handler's time.
        (deadlines.idle, deadlines.answer) = (.seconds(30), .minutes(5))
        var place = Listener.Place(setting: "--listen", host: host, port: port)
        place.identity = identity
        let listener = Listener(
            place, limits: deadlines, admission: observer.admission(limits, to: "public"), observer: observer,
            log: logger, announce: onListening, answer: answer)
        try await listener.run()
    }

    /// The largest body that is read: the receipts of Apple have about 4 KiB.
    private static let bodyLimit = 64 << 10

    private func answer(_ request: IncomingRequest) async -> Answer {
        switch browsers.judge(request.head) {
        case .admitted: break
        case .otherHost:
            return refusal(421, "host", "the simulator does not answer to the name in Host; --host NAME adds it")
        case .otherOrigin:
            return refusal(
                403, "origin", "a web page may not ask this: the request has the Origin of another host; use a program")
        }
        let body: [UInt8]
        do {
            body = try await request.body(upTo: AppleSimulatorServer.bodyLimit)
        } catch {
            return .empty(error.status)
        }
        let answer = await simulator.answer(
            SimulatorRequest(
                method: request.head.method.rawValue, path: request.target.path,
                authorization: request.head.headerFields[.authorization], body: body), wall: Date())
        if answer.delay > .zero { try? await Task.sleep(for: answer.delay) }
        return sent(answer)
    }

    private func refusal(_ status: Int, _ error: String, _ sentence: String) -> Answer {
        sent(SimulatorAnswer(status, json: AppleSimulator.Problem(error: error, detail: sentence)))
    }

    private func sent(_ answer: SimulatorAnswer) -> Answer {
        var sent = Answer(status: answer.status, contentType: answer.contentType, body: answer.body)
        sent.headers = answer.headers.compactMap { name, value in HTTPField.Name(name).map { ($0, value) } }
        return sent
    }
}
