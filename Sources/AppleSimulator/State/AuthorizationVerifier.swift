// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// Judges the authorization of a request to Apple: an ES256 token of a known key of a known team, at most an hour old.
///
/// The token is read by hand, so that the simulator shares no code with the clients that it judges.
struct AuthorizationVerifier: Sendable {
    /// What the authorization is worth.
    enum Verdict: Sendable, Equatable {
        case team(String)
        /// No token, or not three parts of base64url with JSON in the first two.
        case malformed
        /// A well-formed token that is not accepted: `alg` none or HS256, unknown key, another team, a bad signature.
        case refused
        case expired
    }

    /// Public keys by key id, for each team.
    private var teams: [String: [String: P256.Signing.PublicKey]] = [:]

    /// An hour, and five minutes for clocks that run ahead.
    private let maximumAge: TimeInterval = 3600
    private let maximumLead: TimeInterval = 300

    var teamIds: [String] { teams.keys.sorted() }

    mutating func register(team: String, keyId: String, key: P256.Signing.PublicKey) {
        teams[team, default: [:]][keyId] = key
    }

    mutating func remove(team: String, keyId: String) { teams[team]?[keyId] = nil }

    /// Judges the value of an Authorization field, with `Bearer` before the token or without.
    func judge(_ field: String?, wall: Date) -> Verdict {
        guard let field, field.utf8.count <= 8192 else { return .malformed }
        let words = field.split(separator: " ", maxSplits: 2)
        let token = words.count == 2 && words[0].lowercased() == "bearer" ? words[1] : words.first ?? ""
        guard words.count <= 2 else { return .malformed }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = read(parts[0], Header.self), let claims = read(parts[1], Claims.self),
            let signature = Base64URL.decode(parts[2])
        else { return .malformed }
        guard header.alg == "ES256", let keyId = header.kid,
            let team = claims.iss, let key = teams[team]?[keyId],
            let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(parsed, for: Data((parts[0] + "." + parts[1]).utf8))
        else { return .refused }
        guard let issued = claims.iat else { return .refused }
        let age = wall.timeIntervalSince1970 - issued
        guard age >= -maximumLead else { return .refused }
        return age <= maximumAge ? .team(team) : .expired
    }

    private struct Header: Decodable {
        let alg: String?
        let kid: String?
    }

    private struct Claims: Decodable {
        let iss: String?
        let iat: Double?
    }

    private func read<Part: Decodable>(_ part: Substring, _ type: Part.Type) -> Part? {
        Base64URL.decode(part).flatMap { try? JSONDecoder().decode(type, from: $0) }
    }
}

/// Base64url without padding.
enum Base64URL {
    static func decode(_ text: Substring) -> Data? {
        guard !text.contains("+"), !text.contains("/"), !text.contains("=") else { return nil }
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }
}
