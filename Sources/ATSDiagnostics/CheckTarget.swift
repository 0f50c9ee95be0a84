// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
import TLSProbe
public import Vocabulary

/// A server to check, by the URL that an app would load.
public struct CheckTarget: Sendable, Hashable {
    /// The URL with its port. Without a scheme, `https`.
    package let url: LoadURL
    /// Set if one of several addresses is meant.
    public var address: String?
    /// The addresses that it may be at, whenever its name is looked up: not all of them if the place of an enrollment named it.
    var scope = FetchScope.named

    /// Reads a host, `host:port` or a URL. `http` stays `http`: whether the app may load it is part of the verdict.
    ///
    /// - Throws: `MalformedInput` with code `malformed.url`.
    public init(_ text: String) throws(MalformedInput) {
        let given = try CheckTarget.given(text)
        url = try LoadURL("\(given.scheme)://\(given.bracketedHost):\(given.effectivePort)\(given.pathAndQuery)")
        displayURL = given.text
    }

    /// Reads a target as nscurl does, which loads `http` URLs as `https`.
    package init(nscurl text: String) throws(MalformedInput) {
        let given = try CheckTarget.given(text)
        url = try LoadURL(CheckTarget.secureText(of: given))
        let behindScheme = given.text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? given.text.startIndex
        displayURL = "https" + given.text[behindScheme...]
    }

    /// The URL as it was given, with a scheme.
    package let displayURL: String

    /// The port that was given; nil without one.
    package var port: Int? { (try? LoadURL(displayURL))?.port }

    /// The same host over TLS; nil if the target is secure already.
    package var secured: CheckTarget? {
        guard !url.isSecure, var target = try? CheckTarget(CheckTarget.secureText(of: url)) else { return nil }
        target.address = address
        target.scope = scope
        return target
    }

    /// Port 80 becomes 443; every other port stays.
    private static func secureText(of url: LoadURL) -> String {
        let port = url.isSecure || url.effectivePort != 80 ? url.effectivePort : 443
        return "https://\(url.bracketedHost):\(port)\(url.pathAndQuery)"
    }

    private static func given(_ text: String) throws(MalformedInput) -> LoadURL {
        let end = authorityEnd(of: text)
        return try LoadURL(isBareAddress(text) ? "https://[\(text[..<end])]\(text[end...])" : text)
    }

    private static func authorityEnd(of text: String) -> String.Index {
        text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
    }

    /// Whether a target is a bare IPv6 address, which needs no brackets here: it has more than one colon before any slash, and no scheme.
    private static func isBareAddress(_ text: String) -> Bool {
        let authority = text[..<authorityEnd(of: text)].utf8
        return authority.first != UInt8(ascii: "[") && authority.count { $0 == UInt8(ascii: ":") } > 1
    }
}
