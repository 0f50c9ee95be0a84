// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// Sends requests with a `URLSession`.
public struct URLSessionTransport: HTTPTransport {
    private let session: URLSession

    /// - Parameter session: the app's own, for example with pinned certificates.
    public init(_ session: URLSession = .shared) { self.session = session }

    public func send(_ request: URLRequest) async throws -> HTTPAnswer {
        #if canImport(FoundationNetworking)
            // Foundation on Linux, where only tests run, does not ask the delegate of a task.
            let (body, response) = try await session.data(for: request)
        #else
            let (body, response) = try await session.data(for: request, delegate: SameHost())
        #endif
        guard let answer = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        var headers: [String: String] = [:]
        for (name, value) in answer.allHeaderFields {
            if let name = name as? String, let value = value as? String { headers[name] = value }
        }
        return HTTPAnswer(status: answer.statusCode, headers: headers, body: body)
    }
}

#if !canImport(FoundationNetworking)
    /// Follows redirects within the host, port and scheme of the request alone: a proof or a token in its header fields would go along.
    private final class SameHost: NSObject, URLSessionTaskDelegate, Sendable {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            let places = [task.originalRequest?.url, request.url].map { url in
                url.map { "\($0.scheme?.lowercased() ?? "")://\(RequestBinding.host(of: $0) ?? "")" }
            }
            completionHandler(places[0] != nil && places[0] == places[1] ? request : nil)
        }
    }
#endif
