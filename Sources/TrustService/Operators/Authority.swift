// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import Formats
public import FoundationEssentials
import HTTPService
import Vocabulary

/// What a bearer token permits, and under which name its calls are recorded.
package struct Authority: Sendable, Equatable {
    /// What a credential may do. An operator's (`admin`) may do all.
    package enum Role: String, Sendable, CaseIterable {
        /// Routes of backends.
        case server
        /// Sees keys, risk and the console's overview, and changes nothing.
        case read
        /// Revokes keys and restores them.
        case revoke
        /// Routes of operators, and all others.
        case admin
        /// Reads the audit.
        case audit

        /// All of them, as a sentence about scopes names them.
        package static let names =
            allCases.dropLast().map(\.rawValue).joined(separator: ", ") + " or " + (allCases.last?.rawValue ?? "")
    }

    /// A role, for one app or for every one.
    struct Scope: Hashable, Sendable {
        let role: Role
        /// nil for every app.
        var app: UTF8Key?
    }

    /// The name in the audit.
    package let name: String
    private let scopes: Set<Scope>

    init(name: String, _ scopes: Set<Scope>) {
        self.name = name
        self.scopes = scopes
    }

    /// Nobody: no token, or one that is not known.
    package static let anyone = Authority(name: "", [])
    /// A backend for every app, as the lines of `serverTokenFile` are.
    package static let server = Authority(name: "serverTokenFile", [Scope(role: .server)])
    /// An operator of everything, as the lines of `adminTokenFile` are.
    package static let admin = Authority(name: "adminTokenFile", [Scope(role: .admin)])

    /// The roles as they were given, for people: `read, revoke`.
    var roles: String {
        Role.allCases.filter { role in scopes.contains { $0.role == role } }.map(\.rawValue).joined(separator: ", ")
    }

    /// Whether the role is given for some app at least.
    package func has(_ role: Role) -> Bool { scopes.contains { [role, .admin].contains($0.role) } }

    /// Whether the role is given for an app; with nil for what concerns all apps.
    package func permits(_ role: Role, app: String?) -> Bool {
        let app = app.map { UTF8Key($0) }
        return scopes.contains { [role, .admin].contains($0.role) && ($0.app == nil || $0.app == app) }
    }

    /// - Throws: ``Problem`` `caller.unauthorized` if the role is not given for an app.
    func require(_ role: Role, app: String?) throws(Problem) {
        guard permits(role, app: app) else {
            throw Problem(.callerUnauthorized, evidence: "the credential is for other apps")
        }
    }
}

/// One entry of `tokensFile`: a credential by name, known by the hash of its token.
public struct NamedCredential: Sendable, Equatable {
    package let name: String
    package let digest: [UInt8]
    package let scopes: [String]
    package let expires: Date?
    let authority: Authority

    /// Whether a name may stand in the audit: 1 to 64 printable ASCII characters without spaces.
    package static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    /// Makes one from its parts. Nil if a scope is unknown, there is none, or the digest is not of 32 bytes.
    ///
    /// - Parameters:
    ///   - name: the name under which its calls are recorded.
    ///   - digest: SHA-256 of the token, 32 bytes.
    ///   - scopes: the raw value of a ``Authority/Role``, each for every app or with `:app` behind it.
    ///   - expires: from this instant on it is refused; nil for never.
    public init?(name: String, digest: [UInt8], scopes: [String], expires: Date?) {
        var found: Set<Authority.Scope> = []
        for scope in scopes {
            let parts = scope.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            guard let first = parts.first, let role = Authority.Role(rawValue: String(Substring(first))),
                parts.count == 1 || !parts[1].isEmpty
            else { return nil }
            found.insert(.init(role: role, app: parts.count == 1 ? nil : UTF8Key(String(Substring(parts[1])))))
        }
        guard !found.isEmpty, digest.count == 32 else { return nil }
        self.name = name
        self.digest = digest
        self.scopes = scopes
        self.expires = expires
        authority = Authority(name: name, found)
    }
}

/// A new credential: the token, which is shown once and kept nowhere, and the entry of `tokensFile` by which it is known.
package struct NewToken: Sendable {
    /// 43 characters of base64url: 256 random bits.
    package let token: String
    /// `name`, `sha256`, `scopes` and, if given, `expires`.
    package let entry: JSONValue

    /// Nil for a name or a scope that no entry may have.
    ///
    /// - Parameter random: 32 bytes that were never used before.
    package init?(name: String, scopes: [String], expires: Date?, random: [UInt8]) {
        let token = Base64.encodeURL(random)
        let digest = Array(SHA256.hash(data: Data(token.utf8)))
        guard random.count == 32, NamedCredential.isName(name),
            NamedCredential(name: name, digest: digest, scopes: scopes, expires: expires) != nil
        else { return nil }
        self.token = token
        var members: [JSONValue.Member] = [
            .init("name", .string(name)),
            .init("sha256", .string(digest.hexadecimal())),
            .init("scopes", .array(scopes.map { .string($0) })),
        ]
        if let expires { members.append(.init("expires", .string(RFC3339.text(expires)))) }
        entry = .object(members)
    }
}
