// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import TLSModel

/// Keeps web pages of others out of a server that answers without a token in each request.
///
/// A browser near the server sends it any page's requests. It says whose they are in `Sec-Fetch-Site` and `Origin`, and in `Host` the name that
/// the page used, which may be a stranger's name that leads here (DNS rebinding). A program that sends none of them passes.
package struct BrowserGate: Sendable {
    /// The answer about one request.
    package enum Verdict: Sendable, Equatable {
        case admitted
        /// `Host` is neither an address, nor a loopback name, nor a name of this server: 421.
        case otherHost
        /// The request comes from a page of another origin, or has to say where it comes from and does not: 403.
        case otherOrigin
    }

    private let names: [String]

    /// - Parameters:
    ///   - listener: where the server listens: if that is a name, it answers to it.
    ///   - names: what else it answers to, without ports.
    package init(listener: String, names: [String] = []) {
        self.names = ([listener] + names).compactMap { BrowserGate.name($0) }
    }

    /// A host name in the form that browsers send it, without a dot at the end; nil for anything else, a port included.
    package static func name(_ text: String) -> String? {
        guard let name = HostName.ascii(text), !name.utf8.contains(UInt8(ascii: ":")) else { return nil }
        return name.utf8.last == UInt8(ascii: ".") ? String(Substring(name.utf8.dropLast())) : name
    }

    /// Judges the head of a request.
    ///
    /// - Parameter needsSource: whether a request that does not say where it comes from is refused, as for the forms of pages.
    package func judge(_ head: HTTPRequest, needsSource: Bool = false) -> Verdict {
        if let host = head.authority, !answers(to: host) { return .otherHost }
        let sites = head.headerFields[values: .secFetchSite]
        let origins = head.headerFields[values: .origin]
        let isSameOrigin = sites.first?.utf8.elementsEqual("same-origin".utf8) ?? false
        let isKnown = isSameOrigin || !origins.isEmpty || !needsSource
        guard sites.count <= 1, origins.count <= 1, isKnown,
            // "none": a person typed the address.
            isSameOrigin || sites.first?.utf8.elementsEqual("none".utf8) ?? true,
            origins.first.map({ isOwn($0, head.authority, isSameOrigin) }) ?? true
        else { return .otherOrigin }
        return .admitted
    }

    private func answers(to host: String) -> Bool {
        guard let place = try? HostPort(authority: Substring(host)),
            place.portText.map({ $0.isEmpty || HostPort.port($0) != nil }) ?? true
        else { return false }
        if IPAddress(place.host) != nil { return true }
        guard let name = BrowserGate.name(String(place.host)) else { return false }
        return name.utf8.elementsEqual("localhost".utf8) || name.hasSuffix(".localhost") || names.contains(name)
    }

    /// Whether an origin is this server's. A proxy may have put another `Host` there; then the browser's word that the page is of this origin
    /// counts, if the name is one of this server's.
    private func isOwn(_ origin: String, _ host: String?, _ isSameOrigin: Bool) -> Bool {
        for scheme in ["http://", "https://"] where origin.utf8.starts(with: scheme.utf8) {
            let authority = origin.utf8.dropFirst(scheme.utf8.count)
            return host.map { authority.elementsEqual($0.utf8) } ?? false
                || isSameOrigin && answers(to: String(Substring(authority)))
        }
        return isSameOrigin && origin.utf8.elementsEqual("null".utf8)
    }
}

extension HTTPField.Name {
    // The fallback is never taken: this is a valid field name.
    fileprivate static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .from
}
