// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import HTTPTypes
import TLSProbe

/// Who takes spans: the base URL of an OTLP/HTTP receiver, and what is sent along.
package struct TraceReceiver: Sendable {
    /// As it was written, without a slash at its end.
    package let base: String
    private let url: LoadURL

    /// What a base URL must be.
    package static let rule =
        "must be an https URL, or an http URL on this machine or the local network, without a query"

    /// The spans contain no secret, but the headers may, so cleartext goes as far as App Transport Security lets it with
    /// `NSAllowsLocalNetworking`: names without a dot, names in `.local`, and addresses.
    private static let policy: ATSPolicy = {
        var dictionary = ATSDictionary()
        dictionary.localNetworking = true
        return ATSPolicy(dictionary: dictionary, profile: .standard)
    }()

    /// Takes a base URL; `/v1/traces` is appended to it.
    ///
    /// - Returns: nil unless ``rule`` holds.
    package init?(_ text: String) {
        let base = text.utf8.reversed().drop { $0 == UInt8(ascii: "/") }.reversed()
        self.base = String(decoding: base, as: UTF8.self)
        guard text.utf8.count <= 1024, ["http://", "https://"].contains(where: self.base.hasPrefix),
            !text.utf8.contains(where: "?#@".utf8.contains), let url = try? LoadURL(self.base + "/v1/traces"),
            TraceReceiver.policy.decide(url).verdict != .blocked
        else { return nil }
        self.url = url
    }

    /// Speaks to the receiver. A redirect is an answer like any other, so the headers go to no other host.
    func client() -> ATSClient {
        var configuration = ATSClient.Configuration()
        configuration.redirectLimit = nil
        configuration.connectionsPerHost = 1
        return ATSClient(
            policy: TraceReceiver.policy, trust: (try? .system()) ?? TrustAnchors(), configuration: configuration)
    }

    /// - Parameter headers: names and values; one that no field can have is left out.
    func request(_ headers: [String: String]) -> HTTPRequest {
        var fields: HTTPFields = [.contentType: "application/json"]
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return HTTPRequest(
            method: .post, scheme: url.scheme, authority: "\(url.bracketedHost):\(url.effectivePort)",
            path: url.pathAndQuery, headerFields: fields)
    }
}
