// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1

/// Asks the service over HTTP. A body that is too long, and a whole call that takes too long, end with an error.
struct HTTPClientTransport: GateTransport {
    let client: HTTPClient
    let timeout: Duration

    func send(_ request: GateRequest) async throws -> GateAnswer {
        var call = HTTPClientRequest(url: request.url)
        call.method = HTTPMethod(rawValue: request.method)
        if let bearer = request.bearer { call.headers.add(name: "authorization", value: "Bearer " + bearer) }
        if !request.body.isEmpty {
            call.headers.add(name: "content-type", value: "application/json")
            call.body = .bytes(ByteBuffer(bytes: request.body))
        }
        let answer = try await client.execute(call, timeout: TimeAmount(timeout))
        let body = try await answer.body.collect(upTo: GateAnswer.bodyLimit)
        func number(_ name: String) -> Int? {
            answer.headers.first(name: name).flatMap { Int($0) }.flatMap { $0 >= 0 ? min($0, 86_400) : nil }
        }
        return GateAnswer(
            status: Int(clamping: answer.status.code), retryAfterSeconds: number("retry-after"),
            quotaRemaining: answer.headers.first(name: "x-sealward-quota-remaining").flatMap { Int($0) },
            body: Array(buffer: body))
    }
}

extension TokenGate {
    /// A gate with the clocks of this machine.
    ///
    /// - Parameter client: the client used to ask the service; it should follow no redirects.
    public init(_ configuration: Configuration, client: HTTPClient = .shared) {
        let start = ContinuousClock.now
        self.init(
            configuration, transport: HTTPClientTransport(client: client, timeout: configuration.timeout),
            uptime: { start.duration(to: .now) }, now: { Date() })
    }
}
