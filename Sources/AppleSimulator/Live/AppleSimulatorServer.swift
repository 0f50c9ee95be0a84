// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ConnectionAdmission
import Foundation
import HTTPTypes
import Hummingbird
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
        let onListening = self.onListening
        let admission = Admission(limits: limits, onRefusals: Admission.logger(logger))
        let application = Application(
            responder: SimulatorResponder(simulator: simulator, browsers: browsers),
            // An idle connection keeps a place for as long as a slow client needs, and no longer.
            server: .http1(configuration: .init(idleTimeout: .seconds(30))),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port), serverName: "simulated-apple"),
            onServerRunning: { channel in
                // Without it nobody is kept out, and everything else is as it should be.
                try? await channel.eventLoop.submit {
                    try channel.pipeline.syncOperations.addHandler(admission.gate(), position: .first)
                }.get()
                onListening(channel.localAddress?.port ?? 0)
            },
            logger: logger
        )
        try await application.run()
    }
}

private struct SimulatorResponder: HTTPResponder {
    let simulator: AppleSimulator
    let browsers: BrowserGate

    /// The largest body that is read: the receipts of Apple have about 4 KiB.
    private let bodyLimit = 64 << 10

    func respond(to request: Request, context: BasicRequestContext) async throws -> Response {
        switch browsers.judge(request.head) {
        case .admitted: break
        case .otherHost:
            return refusal(421, "host", "the simulator does not answer to the name in Host; --host NAME adds it")
        case .otherOrigin:
            return refusal(
                403, "origin", "a web page may not ask this: the request has the Origin of another host; use a program")
        }
        var bytes: [UInt8] = []
        for try await part in request.body {
            bytes += part.readableBytesView
            guard bytes.count <= bodyLimit else { return Response(status: .contentTooLarge) }
        }
        let answer = await simulator.answer(
            SimulatorRequest(
                method: request.method.rawValue, path: request.uri.path, authorization: request.headers[.authorization],
                body: bytes), wall: Date())
        if answer.delay > .zero { try await Task.sleep(for: answer.delay) }
        return response(answer)
    }

    private func refusal(_ status: Int, _ error: String, _ sentence: String) -> Response {
        response(SimulatorAnswer(status, json: AppleSimulator.Problem(error: error, detail: sentence)))
    }

    private func response(_ answer: SimulatorAnswer) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = answer.contentType
        for (name, value) in answer.headers {
            if let field = HTTPField.Name(name) { headers[field] = value }
        }
        return Response(
            status: HTTPResponse.Status(code: answer.status), headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)))
    }
}
