// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One HTTP request of a test, and what was answered.
package struct HTTPCall: Sendable {
    package let status: Int
    /// By name in lower case.
    package let headers: [String: String]
    package let body: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }

    private static let session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 64
        return URLSession(configuration: configuration)
    }()

    /// Sends the request.
    ///
    /// - Parameter timeout: seconds without a byte.
    package init(
        _ method: String = "GET", _ url: String, body: [UInt8]? = nil, token: String? = nil,
        headers: [String: String] = [:], timeout: TimeInterval = 30
    ) async throws {
        guard let address = URL(string: url) else { throw URLError(.badURL) }
        var request = URLRequest(url: address, timeoutInterval: timeout)
        request.httpMethod = method
        // A test asks the server, never a cache.
        request.cachePolicy = .reloadIgnoringLocalCacheData
        request.httpBody = body.map { Data($0) }
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await HTTPCall.session.data(for: request)
        guard let answer = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        var fields: [String: String] = [:]
        for (name, value) in answer.allHeaderFields {
            if let name = name as? String, let value = value as? String { fields[name.lowercased()] = value }
        }
        status = answer.statusCode
        self.headers = fields
        self.body = Array(data)
    }
}
