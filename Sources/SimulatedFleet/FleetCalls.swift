// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
import FoundationEssentials
package import HTTPService
package import HTTPTypes

/// No usable answer came from the service or from Apple's side.
package struct FleetFault: Error, CustomStringConvertible {
    package let description: String
}

/// An answer of whichever call; what is no JSON counts as one without members.
package struct FleetReply: Sendable {
    package let status: Int
    package let body: JSONValue

    /// A member that is text; what is missing, or of another type, counts as not said.
    package func text(_ member: String) -> String? { body.member(member)?.text }

    package func list(_ member: String) -> [JSONValue] { body.member(member)?.elements ?? [] }

    package var isSuccess: Bool { (200...299).contains(status) && enforcementCode == nil }

    /// The code of a would-be refusal in monitor mode.
    private var enforcementCode: String? {
        guard let enforcement = body.member("enforcement"), enforcement.member("decision")?.text == "refuse" else {
            return nil
        }
        return enforcement.member("code")?.text ?? ""
    }

    /// The code of a refusal, or the bare status if there is none.
    package var code: String { enforcementCode ?? text("code") ?? text("error") ?? "status \(status)" }
}

/// The HTTP calls of the fleet: to the service as an app, and to simulated Apple as a phone.
package struct FleetCalls: Sendable {
    /// Sends a request and returns the whole answer.
    package typealias Send =
        @Sendable (HTTPRequest.Method, String, HTTPFields, [UInt8]) async throws -> HTTPTransport.Reply

    private let transport: Send
    /// The address of the service without a slash at its end.
    package let service: String
    /// The address at which the service answers operators.
    package let operators: String
    /// The address of simulated Apple without a slash at its end.
    package let apple: String
    /// The `id` of the app in the service's configuration.
    package let app: String
    package let serverToken: String?
    package let adminToken: String?
    package let tally: FleetTally

    package init(
        send: @escaping Send, service: String, operators: String? = nil, apple: String, app: String,
        serverToken: String?, adminToken: String?, tally: FleetTally
    ) {
        transport = send
        self.service = service
        self.operators = operators ?? service
        self.apple = apple
        self.app = app
        self.serverToken = serverToken
        self.adminToken = adminToken
        self.tally = tally
    }

    /// A call to the service below the app's path; waits and repeats if the service asks for it with 429.
    package func app(_ path: String, _ body: [String: String?], asServer: Bool = false) async throws -> FleetReply {
        for _ in 0..<100 {
            let start = ContinuousClock.now
            let reply = try await send(
                .post, "\(service)/v1/apps/\(app)/\(path)", body, token: asServer ? serverToken : nil)
            await tally.answered(path, in: ContinuousClock.now - start, throttled: reply.status == 429)
            guard reply.status == 429 else { return reply }
            let seconds = min(max(reply.body.member("retryAfterSeconds")?.double ?? 0.1, 0.02), 5)
            try await Task.sleep(for: .seconds(seconds))
        }
        throw FleetFault(description: "the service keeps answering 429")
    }

    /// What an operator sees of the app's risk, if the fleet has an operator's token.
    package func risk() async throws -> FleetReply {
        try await send(.get, "\(operators)/v1/apps/\(app)/risk", nil, token: adminToken)
    }

    /// A call that a phone makes to its own hardware or to Apple.
    package func phone(_ path: String, _ body: [String: String?]) async throws -> FleetReply {
        try await send(.post, "\(apple)/device/v1/devices\(path)", body, token: nil)
    }

    /// What a gateway asks about a token.
    package func authorize(_ token: String, simulatedAllowed: Bool) async throws -> Int {
        let query = simulatedAllowed ? "?simulated=allow" : ""
        return try await send(.get, "\(service)/v1/authorize\(query)", nil, token: token).status
    }

    /// Waits until something answers at both addresses, so that a fleet can be started together with what it meets.
    ///
    /// - Throws: the fault of the last try.
    package func waitForAnswers(upTo limit: Duration) async throws {
        let end = ContinuousClock.now + limit
        for (name, url) in [("Apple's side", "\(apple)/roots/attestation.pem"), ("the service", "\(service)/livez")] {
            while true {
                do {
                    _ = try await transport(.get, url, [:], [])
                    break
                } catch let fault as HTTPTransport.Fault {
                    guard ContinuousClock.now < end else {
                        throw FleetFault(description: "\(name) does not answer: \(fault.reason)")
                    }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
        }
    }

    private func send(
        _ method: HTTPRequest.Method, _ url: String, _ body: [String: String?]?, token: String?
    ) async throws -> FleetReply {
        var fields: HTTPFields = [.accept: "application/json"]
        if let token { fields[.authorization] = "Bearer \(token)" }
        var bytes: [UInt8] = []
        if let body {
            fields[.contentType] = "application/json"
            let members = body.compactMapValues { $0 }.sorted { $0.key < $1.key }
            bytes = JSONValue.object(members.map { .init($0.key, .string($0.value)) }).encoded(pretty: false)
        }
        let answer = try await transport(method, url, fields, bytes)
        // At most 64 KiB, which the transport sees to.
        return FleetReply(status: answer.status, body: (try? JSONReader.read(answer.body)) ?? .null)
    }
}
