// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import HTTPService
package import HTTPTypes
import Vocabulary

/// One request after routing: everything a handler may look at.
package struct Call: Sendable {
    package enum Access: Sendable, Equatable {
        /// Everybody, without limits: health, key sets, a gateway's sub-requests.
        case open
        /// Apps: everybody, within the limits.
        case app
        /// Servers and operators whose credential permits the role.
        case role(Authority.Role)
        /// Whoever may read the metrics.
        case metrics
        /// People with a browser, at the internal listener alone. The console itself asks who they are.
        case console

        package static let server = Access.role(.server)
        package static let read = Access.role(.read)
        package static let revoke = Access.role(.revoke)
        package static let admin = Access.role(.admin)
        package static let audit = Access.role(.audit)

        /// Whether a credential opens a route of this access. If the path names no app, the handler looks at what the call is about.
        func admits(_ caller: Authority, app: String?) -> Bool {
            guard case .role(let role) = self else { return true }
            return caller.has(role) && (app == nil || caller.permits(role, app: app))
        }
    }

    /// The name of the operation, as in `docs/openapi.yaml`.
    package var operation: String
    /// The parts of the path that stand for something.
    package let parameters: [String: String]
    package let query: String
    package var headers: HTTPFields
    package let body: [UInt8]
    /// The caller's address: the peer's, or the one that a trusted proxy names.
    package let address: String
    package let correlationId: String
    /// What the bearer token proved.
    package var caller: Authority
    package let now: Date
    /// Whether the caller came by TLS, to this listener or to the proxy in front.
    package var isSecure = false
    /// The name of the console's session; nil for a call with a token.
    package var session: String?

    /// The most bytes of a query parameter's value: 256 characters of any alphabet.
    private static let valueLimit = 1024

    /// The value of the first query parameter of this name, percent-decoded; nil if it is absent, longer than 1,024 bytes, or cannot be
    /// decoded.
    package func queryValue(_ name: String) -> String? {
        for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
            let first = pair.prefix { $0 != UInt8(ascii: "=") }
            guard PercentEncoding.decode(first, plusIsSpace: true)?.hasSameBytes(as: name) == true else { continue }
            let second = pair.dropFirst(first.count + 1)
            guard second.count <= Call.valueLimit * 3, let value = PercentEncoding.decode(second, plusIsSpace: true),
                value.utf8.count <= Call.valueLimit
            else { return nil }
            return value
        }
        return nil
    }

    /// Whether the proxy in front says that the caller came by TLS. Who says so without a proxy gets a cookie that his own browser keeps back.
    static func isSecure(_ headers: HTTPFields) -> Bool {
        let values = headers[values: .xForwardedProto]
        return values.count == 1 && values.first?.utf8.equalsIgnoringASCIICase("https") == true
    }

    package var bearer: String? { Call.bearer(in: headers) }

    /// The token of an `Authorization: Bearer` header, read by bytes; nil for two headers or another scheme.
    static func bearer(in headers: HTTPFields) -> String? {
        headers[.authorization].flatMap(bearer(of:))
    }

    static func bearer(of value: String) -> String? {
        let parts = value.utf8.split(separator: UInt8(ascii: " "), maxSplits: 3)
        guard parts.count == 2, parts[0].equalsIgnoringASCIICase("bearer")
        else { return nil }
        return String(Substring(parts[1]))
    }
}
