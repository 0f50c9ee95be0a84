// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import Foundation
import Testing
import Vocabulary

@testable import TrustTokens

/// What is read of a token before and after its signature was verified.
@Suite struct CompactTokenTests {
    static let key = P256.Signing.PrivateKey()

    static func token(
        _ header: String, _ claims: String = #"{"sub":"app"}"#, with key: P256.Signing.PrivateKey = key
    )
        throws -> String
    {
        let text = "\(Base64.encodeURL(Array(header.utf8))).\(Base64.encodeURL(Array(claims.utf8)))"
        return "\(text).\(Base64.encodeURL(try key.signature(for: Data(text.utf8)).rawRepresentation))"
    }

    static let header = #"{"alg":"ES256","kid":"one","typ":"JWT"}"#

    @Test func aGoodTokenIsReadAndItsSignatureVerified() throws {
        let token = try CompactToken(try Self.token(Self.header), algorithm: "ES256")
        #expect(token.keyId == "one")
        #expect(token.isSigned(by: Self.key.publicKey))
        #expect(token.claims == ["sub": "app"])
        #expect(!token.isSigned(by: P256.Signing.PrivateKey().publicKey))
    }

    @Test func whatIsWrittenIsRead() throws {
        let text = try CompactToken.text(["sub": "app"], algorithm: "ES256", type: "list+jwt", keyId: "one") {
            try Self.key.signature(for: $0).rawRepresentation
        }
        let token = try CompactToken(text, algorithm: "ES256")
        #expect(token.isSigned(by: Self.key.publicKey) && token.claims == ["sub": "app"])
        #expect(token.keyId == "one" && token.type == "list+jwt")
    }

    @Test func aTokenIsGoodFromItsIssueToItsEnd() throws {
        let start = Date(timeIntervalSince1970: 1_800_000_000.9)
        let life = TokenLife(from: start, seconds: 300)
        #expect(life.issuedAt == 1_800_000_000 && life.expiresAt == 1_800_000_300)
        #expect(TokenLife(.object(life.members)) == life && TokenLife(["iat": 1]) == nil)
        let times: [(Double, Bool)] = [(-60, true), (-61, false), (299.9, true), (300, false)]
        for (seconds, isGood) in times {
            let instant = Date(timeIntervalSince1970: 1_800_000_000 + seconds)
            #expect(life.contains(instant) == isGood && life.isOver(at: instant) == (seconds >= 300))
        }
    }

    @Test(arguments: [
        #"{"alg":"none","kid":"one"}"#, #"{"alg":"RS256","kid":"one"}"#, #"{"alg":"es256","kid":"one"}"#,
        #"{"kid":"one"}"#,
        #"{"alg":"ES256"}"#, #"{"alg":"ES256","kid":1}"#, #"{"alg":"ES256","kid":"one","crit":["b64"]}"#,
        #"{"alg":"ES256","kid":"one","kid":"two"}"#, #"{"alg":"none","alg":"ES256","kid":"one"}"#, "[]", "", "{",
    ])
    func whatTheServiceDoesNotWriteIsNotRead(_ header: String) throws {
        let text = try Self.token(header)
        #expect(throws: UnreadableToken.self) { try CompactToken(text, algorithm: "ES256") }
    }

    @Test func textsThatAreNoTokens() throws {
        let good = try Self.token(Self.header)
        for text in [
            "", ".", "..", "a.b", good + ".x", good.replacing("=", with: "") + ".", String(repeating: "a", count: 5000),
        ] {
            #expect(throws: UnreadableToken.self) { try CompactToken(text, algorithm: "ES256") }
        }
    }

    @Test func aSignatureInAnotherFormIsNone() throws {
        let good = try Self.token(Self.header)
        let signed = good.split(separator: ".").prefix(2).joined(separator: ".")
        let der = try Self.key.signature(for: Data(signed.utf8)).derRepresentation
        for end in ["", "AAAA", "!", Base64.encodeURL(Array(der)), Base64.encodeURL([UInt8](repeating: 0, count: 64))] {
            let token = try CompactToken("\(signed).\(end)", algorithm: "ES256")
            #expect(!token.isSigned(by: Self.key.publicKey), "\(end)")
        }
    }

    @Test(arguments: ["[]", "{", #"{"sub":"a","sub":"b"}"#, "1", ""]) func claimsAreOneObject(_ claims: String) throws {
        let token = try CompactToken(try Self.token(Self.header, claims), algorithm: "ES256")
        #expect(token.isSigned(by: Self.key.publicKey))
        #expect(token.claims == nil)
    }
}
