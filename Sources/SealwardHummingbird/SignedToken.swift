// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Findings
import Foundation
import StrictJSON
import TrustPolicy

/// A token in its three parts, well formed and with the one algorithm that the service signs with. Nothing is verified yet.
struct SignedToken {
    /// The most bytes of a token that is read: those of the service have less than 2 kB.
    static let limit = 4096

    let keyIdentifier: String
    private let signed: Data
    private let signature: P256.Signing.ECDSASignature
    private let payload: [UInt8]

    /// Nil for everything that the service does not write: another algorithm, an unknown critical header, doubled members.
    init?(_ text: String) {
        guard text.utf8.count <= SignedToken.limit else { return nil }
        var parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)[...]
        guard parts.count == 3, let head = parts.popFirst(), let body = parts.popFirst(), let tail = parts.popFirst(),
            let header = SignedToken.object(head), header.member("alg")?.text?.hasSameBytes(as: "ES256") == true,
            header.member("crit") == nil, let keyIdentifier = header.member("kid")?.text,
            let raw = Base64.decodeURL(String(Substring(tail))), raw.count == 64,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw),
            let payload = Base64.decodeURL(String(Substring(body)))
        else { return nil }
        self.keyIdentifier = keyIdentifier
        self.signature = signature
        self.payload = payload
        signed = Data(head) + Data(".".utf8) + Data(body)
    }

    /// The claims, if this key signed them. What nobody signed is never read.
    func claims(signedBy key: P256.Signing.PublicKey) -> TokenFacts? {
        guard key.isValidSignature(signature, for: signed), let object = SignedToken.object(bytes: payload) else {
            return nil
        }
        return TokenFacts(object)
    }

    private static func object(_ part: Substring.UTF8View) -> JSONValue? {
        Base64.decodeURL(String(Substring(part))).flatMap { object(bytes: $0) }
    }

    /// An object whose members have different names.
    private static func object(bytes: [UInt8]) -> JSONValue? {
        guard let value = try? JSONReader.read(bytes, limits: .outside), let members = value.members,
            Set(members.map { UTF8Key($0.name) }).count == members.count
        else { return nil }
        return value
    }
}

/// What a token says. The names are the contract's.
struct TokenFacts {
    let issuer: String
    let audience: String
    let app: String
    let identifier: String
    let issuedAt: Int
    let expiresAt: Int
    let key: String
    let tier: TrustTier
    let environment: AttestedIdentity.Environment
    let isSimulated: Bool
    let isSingleUse: Bool

    /// Nil where a claim is missing or of another type.
    init?(_ claims: JSONValue) {
        func number(_ name: String) -> Int? {
            if case .integer(let number) = claims.member(name) { number } else { nil }
        }
        func flag(_ name: String) -> Bool? {
            if case .bool(let flag) = claims.member(name) { flag } else { nil }
        }
        guard let issuer = claims.member("iss")?.text, let audience = claims.member("aud")?.text,
            let app = claims.member("sub")?.text, let identifier = claims.member("jti")?.text,
            let issuedAt = number("iat"), let expiresAt = number("exp"), let key = claims.member("key")?.text,
            let tier = claims.member("tier")?.text.flatMap(TrustTier.init(rawValue:)),
            let environment = claims.member("env")?.text.flatMap(AttestedIdentity.Environment.init(rawValue:)),
            let isSimulated = flag("sim")
        else { return nil }
        self.issuer = issuer
        self.audience = audience
        self.app = app
        self.identifier = identifier
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.key = key
        self.tier = tier
        self.environment = environment
        self.isSimulated = isSimulated
        isSingleUse = flag("singleUse") ?? (claims.member("singleUse") != nil)
    }
}
