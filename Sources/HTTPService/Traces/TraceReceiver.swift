// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import TLSModel

/// Who takes spans: the base URL of an OTLP/HTTP receiver, and what is sent along.
package struct TraceReceiver: Sendable {
    /// As it was written, without a slash at its end.
    package let base: String
    let url: String

    /// What a base URL must be.
    package static let rule =
        "must be an https URL, or an http URL on this machine or the local network, without a query"

    /// Takes a base URL; `/v1/traces` is appended to it.
    ///
    /// The spans contain no secret, but the headers may, so cleartext goes to names without a dot, names in `.local`, and addresses, as with
    /// `NSAllowsLocalNetworking`.
    ///
    /// - Returns: nil unless ``rule`` holds.
    package init?(_ text: String) {
        let bytes = text.utf8.reversed().drop { $0 == UInt8(ascii: "/") }.reversed()
        let base = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.count <= 1024, let scheme = ["https", "http"].first(where: { base.hasPrefix("\($0)://") }),
            text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && !"?#@\\^`{|}<>\"".utf8.contains($0) })
        else { return nil }
        let authority = base.dropFirst(scheme.utf8.count + 3).prefix { $0 != "/" }
        guard let place = try? HostPort(authority: authority),
            place.portText.map({ HostPort.port($0) != nil }) ?? true
        else { return nil }
        let isAddress = IPAddress(place.host) != nil
        guard isAddress || !place.isBracketed, isAddress || HostName.ascii(String(place.host)) != nil else {
            return nil
        }
        let host = place.host.lowercased()
        guard scheme == "https" || isAddress || !host.utf8.contains(UInt8(ascii: ".")) || host.hasSuffix(".local")
        else { return nil }
        self.base = base
        url = base + "/v1/traces"
    }

    /// - Parameter headers: names and values; one that no field can have is left out.
    func fields(_ headers: [String: String]) -> HTTPFields {
        var fields: HTTPFields = [.contentType: "application/json"]
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }
}
