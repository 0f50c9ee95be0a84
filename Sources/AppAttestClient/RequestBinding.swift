// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif
#if canImport(FoundationNetworking)
    package import FoundationNetworking
#endif

/// What a signed request is bound to: the members of its client data beside the challenge. A backend compares them with what it received.
package struct RequestBinding: Hashable, Sendable, Codable {
    /// For example `POST`.
    package let method: String
    /// As on the wire, percent-encoded; `/` if the URL has none.
    package let path: String
    /// As on the wire, percent-encoded, without `?`; empty if the URL has none.
    package let query: String
    /// As in the field `Host`: in lower case, with the port if the URL names one; nil in what apps before 0.2 signed.
    package let host: String?
    /// SHA-256 of the body's bytes in base64; of no bytes if there is no body.
    package let bodySHA256: String

    /// Makes one from what was received or will be sent.
    package init(method: String, host: String?, path: String, query: String, body: Data) {
        self.method = method
        self.host = host
        self.path = path.isEmpty ? "/" : path
        self.query = query
        bodySHA256 = Data(SHA256.hash(data: body)).base64EncodedString()
    }

    /// Binds a request.
    ///
    /// - Parameter body: the body of an upload that the request does not contain.
    /// - Throws: `request.body-stream` for a body that cannot be read twice, `request.url`.
    package init(_ request: URLRequest, body: Data? = nil) throws(SessionError) {
        guard request.httpBodyStream == nil else { throw SessionError(.refused, "request.body-stream") }
        guard let url = request.url, let parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
            throw SessionError(.refused, "request.url")
        }
        self.init(
            method: request.httpMethod ?? "GET", host: RequestBinding.host(of: url), path: parts.percentEncodedPath,
            query: parts.percentEncodedQuery ?? "",
            body: body ?? request.httpBody ?? Data())
    }

    /// The host of a URL as in the field `Host`; nil if it has none.
    static func host(of url: URL) -> String? {
        guard let host = url.host?.lowercased(), !host.isEmpty else { return nil }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return url.port.map { "\(name):\($0)" } ?? name
    }

    /// Whether requests to a URL stay confidential: https, or this device itself.
    static func isPrivate(_ url: URL) -> Bool {
        url.scheme?.lowercased() == "https"
            || url.scheme?.lowercased() == "http"
                && ["localhost", "127.0.0.1", "::1", "[::1]"].contains(url.host ?? "")
    }

    /// Reads the binding of client data that arrived; nil if there is none.
    package init?(clientData: Data) {
        guard let binding = try? JSONDecoder().decode(RequestBinding.self, from: clientData) else { return nil }
        self = binding
    }

    /// The bytes that are signed: one JSON object with the challenge and the binding.
    func clientData(challenge: String) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var members = [
            "challenge": challenge, "method": method, "path": path, "query": query, "bodySHA256": bodySHA256,
        ]
        members["host"] = host
        return try encoder.encode(members)
    }
}

/// A proof for one request: send all of it with the request, once. A second attempt needs a new proof.
public struct RequestProof: Hashable, Sendable {
    /// The header fields of a signed request, all base64: key, assertion, client data.
    package static let fields = ["App-Attest-Key-Id", "App-Attest-Assertion", "App-Attest-Client-Data"]

    /// The identifier of the key.
    public let keyId: String
    /// What the device signed.
    public let assertion: Data
    /// What it signed over, with the challenge inside.
    public let clientData: Data

    /// The body that `POST /v1/apps/{app}/assertions` and `/tokens` take.
    public var body: [String: String] {
        ["keyId": keyId, "assertion": assertion.base64EncodedString(), "clientData": clientData.base64EncodedString()]
    }

    /// The request with this proof in its header fields.
    func added(to request: URLRequest) -> URLRequest {
        var request = request
        let values = [keyId, assertion.base64EncodedString(), clientData.base64EncodedString()]
        for (field, value) in zip(RequestProof.fields, values) { request.setValue(value, forHTTPHeaderField: field) }
        return request
    }
}
