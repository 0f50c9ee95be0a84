// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
package import ConnectionAdmission
import Glibc
package import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import Vocabulary

/// Sends requests to servers that the user runs: no App Transport Security, no redirects.
///
/// A redirect is an answer like any other, so that credentials go to no other host. Call ``shutDown()`` when it is no longer needed.
package struct HTTPTransport: Sendable {
    package struct Reply: Sendable {
        package let status: Int
        package let body: [UInt8]

        package init(status: Int, body: [UInt8]) { (self.status, self.body) = (status, body) }
    }

    /// No whole answer came.
    package struct Fault: Error, Sendable, CustomStringConvertible {
        /// One sentence without a full stop.
        package let reason: String

        package init(reason: String) { self.reason = reason }

        package var description: String { reason }
    }

    /// For a page of 1,000 keys or lines of the audit, which are the longest answers.
    package static let bodyLimit = 16 << 20

    /// Closes a client that nobody has closed: the library ends the process otherwise.
    private final class Owner: Sendable {
        let client: HTTPClient

        init(_ client: HTTPClient) { self.client = client }

        deinit { client.shutdown { _ in } }
    }

    private let owner: Owner
    private var client: HTTPClient { owner.client }
    private let timeout: Duration

    /// - Parameters:
    ///   - timeout: for a whole exchange.
    ///   - connectTimeout: for a connection, TLS included.
    ///   - addresses: where to connect for a host, in place of what the resolver says.
    ///   - identity: whom it trusts, and what it shows.
    package init(
        timeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(10), connectionsPerHost: Int = 8,
        addresses: [String: String] = [:], identity: ClientIdentity = ClientIdentity()
    ) {
        self.timeout = timeout
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = TimeAmount(connectTimeout)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsPerHost
        // A server that refuses is not asked again until the time is over.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        configuration.dnsOverride = addresses
        configuration.tlsConfiguration = identity.configuration
        owner = Owner(HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration))
    }

    /// Sends a request and reads the whole answer, whatever its status.
    ///
    /// - Throws: ``Fault``, or `CancellationError`.
    package func send(
        _ method: HTTPRequest.Method, _ url: String, _ fields: HTTPFields = [:], body: [UInt8] = [],
        within limit: Duration? = nil
    ) async throws -> Reply {
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method.rawValue)
        for field in fields { request.headers.add(name: field.name.canonicalName, value: field.value) }
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        do {
            let answer = try await client.execute(request, timeout: TimeAmount(min(limit ?? timeout, timeout)))
            let content = try await answer.body.collect(upTo: HTTPTransport.bodyLimit)
            return Reply(status: Int(answer.status.code), body: Array(content.readableBytesView))
        } catch let error as CancellationError {
            throw error
        } catch {
            throw Fault(reason: HTTPTransport.reason(error))
        }
    }

    /// Runs the body, then closes the connections.
    package func closing<Result>(_ body: (HTTPTransport) async throws -> Result) async throws -> Result {
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body(self)) } catch { result = .failure(error) }
        await shutDown()
        return try result.get()
    }

    package func shutDown() async { try? await client.shutdown() }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError:
            [.deadlineExceeded, .connectTimeout, .readTimeout].contains(error)
                ? "no answer came in time" : "no answer came (\(error.shortDescription))"
        case is NIOTooManyBytesError: "the answer is larger than 16 MiB"
        case let error as IOError: message(error)
        case let error as NIOConnectionError:
            (error.connectionErrors.first?.error as? IOError).map(message) ?? "there is no such host"
        default: "no answer came"
        }
    }

    private static func message(_ error: IOError) -> String {
        error.errnoCode == ECONNREFUSED
            ? "the connection is refused: nothing is listening there" : SystemFile.message(error.errnoCode)
    }
}
