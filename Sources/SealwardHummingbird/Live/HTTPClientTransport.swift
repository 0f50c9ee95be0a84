// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import Vocabulary

/// Asks the service over HTTP. A body that is too long, a redirect, and a whole call that takes too long end with an error.
struct HTTPClientTransport: GateTransport {
    let client: HTTPClient
    let timeout: Duration

    /// Why an answer does not count.
    struct Redirected: Error {}

    /// One for all gates of the process, which lives as long as it does.
    static let withoutRedirects: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    func send(_ request: GateRequest) async throws -> GateAnswer {
        try await withDeadline(timeout) { try await answer(to: request) }
    }

    private func answer(to request: GateRequest) async throws -> GateAnswer {
        var call = HTTPClientRequest(url: request.url)
        call.method = HTTPMethod(rawValue: request.method)
        if let bearer = request.bearer { call.headers.add(name: "authorization", value: "Bearer " + bearer) }
        if let tag = request.tag { call.headers.add(name: "if-none-match", value: tag) }
        if !request.body.isEmpty {
            call.headers.add(name: "content-type", value: "application/json")
            call.body = .bytes(ByteBuffer(bytes: request.body))
        }
        let answer = try await client.execute(call, timeout: TimeAmount(timeout))
        // A client that follows redirects has gone to another place by now; what that says does not count.
        guard answer.history.count <= 1 else { throw Redirected() }
        let body = try await answer.body.collect(upTo: request.bodyLimit)
        func number(_ name: String) -> Int? {
            answer.headers.first(name: name).flatMap { Int($0) }.flatMap { $0 >= 0 ? min($0, 86_400) : nil }
        }
        return GateAnswer(
            status: Int(clamping: answer.status.code), retryAfterSeconds: number("retry-after"),
            quotaRemaining: answer.headers.first(name: "x-sealward-quota-remaining").flatMap { Int($0) },
            tag: answer.headers.first(name: "etag").flatMap { $0.utf8.count <= 256 ? $0 : nil },
            body: Array(buffer: body))
    }
}

extension TokenGate {
    /// A gate with the clocks of this machine.
    ///
    /// - Parameter client: the client used to ask the service, for example with roots of your own; by default one that follows no redirects.
    ///   Give yours `redirectConfiguration = .disallow` too: an answer after a redirect never counts, but a client that follows one has sent the
    ///   token of the request to the new address if it is at the same origin.
    public init(_ configuration: Configuration, client: HTTPClient? = nil) {
        let start = ContinuousClock.now
        self.init(
            configuration,
            transport: HTTPClientTransport(
                client: client ?? HTTPClientTransport.withoutRedirects, timeout: configuration.timeout),
            uptime: { start.duration(to: .now) }, now: { Date() })
    }
}
