// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
package import FoundationEssentials

/// The bearer tokens of servers and operators. Only their digests are kept; the comparison takes the same time for each.
package struct Credentials: Sendable {
    private struct Entry: Sendable {
        let digest: [UInt8]
        let authority: Authority
        let expires: Date?
    }

    private let entries: [Entry]

    package init(_ configuration: Configuration) {
        func entry(_ token: String, _ authority: Authority) -> Entry {
            Entry(digest: Credentials.digest(of: token), authority: authority, expires: nil)
        }
        entries =
            (configuration.adminTokens?.tokens ?? []).map { entry($0, .admin) }
            + (configuration.serverTokens?.tokens ?? []).map { entry($0, .server) }
            + configuration.namedCredentials.map {
                Entry(digest: $0.digest, authority: $0.authority, expires: $0.expires)
            }
    }

    /// Notes tokens that are in two roles: which of them counted would depend on the order of the files.
    static func judge(_ configuration: Configuration, at place: ConfigurationPlace) {
        let admin = Set((configuration.adminTokens?.tokens ?? []).map(digest))
        let server = Set((configuration.serverTokens?.tokens ?? []).map(digest))
        if !admin.isDisjoint(with: server) {
            place.member("serverTokenFile").wrong("has a token of adminTokenFile; give each role its own")
        }
        for entry in configuration.namedCredentials where admin.union(server).contains(entry.digest) {
            let other = admin.contains(entry.digest) ? "adminTokenFile" : "serverTokenFile"
            place.member("tokensFile").wrong("\(entry.name) has a token of \(other); give each role its own")
        }
    }

    /// Whether any token opens the routes of a role.
    package func opens(_ role: Authority.Role) -> Bool { entries.contains { $0.authority.has(role) } }

    /// Who holds a token; ``Authority/anyone`` for none, an unknown one, or one that has expired.
    package func caller(bearer: String?, at now: Date) -> Authority {
        guard let bearer else { return .anyone }
        return caller(digest: Credentials.digest(of: bearer), at: now)
    }

    /// The first entry with a digest, looked for in the same time wherever it is.
    static func first<Entry>(of entries: [Entry], with digest: [UInt8], _ path: KeyPath<Entry, [UInt8]>) -> Entry? {
        entries.reduce(nil) { found, entry in
            let difference = zip(entry[keyPath: path], digest).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
            return difference == 0 && found == nil ? entry : found
        }
    }

    /// By what a token is known here: its SHA-256.
    static func digest(of token: String) -> [UInt8] { Array(SHA256.hash(data: Data(token.utf8))) }

    /// Who holds the token of a digest.
    func caller(digest: [UInt8], at now: Date) -> Authority {
        guard let found = Credentials.first(of: entries, with: digest, \.digest),
            found.expires.map({ now < $0 }) ?? true
        else { return .anyone }
        return found.authority
    }
}
