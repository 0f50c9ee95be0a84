// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TLSModel
import TestSupport
import Testing

@testable import TLSProbe

/// X25519MLKEM768: the agreement, and handshakes with a server that knows nothing else.
@Suite struct HybridKeyTests {
    static let hybridOffer = HelloOffer(
        suites: ProbeFixtures.forwardSecret, groups: [.x25519MLKEM768, .x25519, .secp256r1, .secp384r1],
        keyShareGroups: [.x25519MLKEM768, .x25519])

    @Test("Both sides come to the same 64 bytes, the part of ML-KEM first")
    func agreement() throws {
        let key = try #require(HybridKey())
        #expect(key.publicKey.count == 1216)
        let quantum = try MLKEM768.PublicKey(rawRepresentation: key.publicKey.prefix(1184)).encapsulate()
        let classical = Curve25519.KeyAgreement.PrivateKey()
        let theirs = try classical.sharedSecretFromKeyAgreement(
            with: .init(rawRepresentation: key.publicKey.suffix(32)))
        let share = Array(quantum.encapsulated) + Array(classical.publicKey.rawRepresentation)
        let expected = quantum.sharedSecret.withUnsafeBytes { Array($0) } + theirs.withUnsafeBytes { Array($0) }
        #expect(expected.count == 64)
        #expect(KeyShare.x25519MLKEM768(key).secret(with: share) == expected)
        #expect(try #require(HybridKey()).secret(with: share) != expected)
    }

    @Test("A share of another length, or with a point of small order, is none")
    func badShares() throws {
        let key = try #require(HybridKey())
        let quantum = try MLKEM768.PublicKey(rawRepresentation: key.publicKey.prefix(1184)).encapsulate()
        let zero = [UInt8](repeating: 0, count: 32)
        let good = Array(quantum.encapsulated) + Array(Curve25519.KeyAgreement.PrivateKey().publicKey.rawRepresentation)
        #expect(key.secret(with: good) != nil)
        #expect(key.secret(with: Array(quantum.encapsulated) + zero) == nil)
        for wrong in [[], Array(good.dropLast()), good + [0], Array(good.suffix(32))] {
            #expect(key.secret(with: wrong) == nil, "\(wrong.count) bytes")
        }
    }

    @Test(
        "A server that agrees on a key with X25519MLKEM768 alone, at once or after a HelloRetryRequest",
        .enabled(if: NodeServer.program != nil, "\(NodeServer.need)"),
        arguments: [[NamedGroup.x25519MLKEM768, .x25519], [.x25519]])
    func node(shares: [NamedGroup]) async throws {
        let identity = try ProbeFixtures.required().p256
        let server = try NodeServer(
            certificate: identity.certificatePath, key: identity.keyPath,
            options: "ecdhCurve: 'X25519MLKEM768', minVersion: 'TLSv1.3'")
        var offer = Self.hybridOffer
        offer.keyShareGroups = shares
        let seen = try #require(try await ProbeFixtures.probe(offer, port: server.port).observation)
        #expect(seen.group == .x25519MLKEM768)
        #expect(seen.keyPossession == .proven)
        #expect(seen.usedHelloRetryRequest == (shares == [.x25519]))
        offer.groups = [.x25519]
        #expect(try await ProbeFixtures.probe(offer, port: server.port) == .alert(level: 2, description: 40))
    }

    @Test("A server without it takes the classical share, or asks for another one")
    func classicalServers() async throws {
        for (curve, group) in [("X25519", NamedGroup.x25519), ("P-384", .secp384r1)] {
            let server = try ProbeFixtures.server(\.p256, ["-tls1_3", "-curves", curve])
            let seen = try #require(try await ProbeFixtures.probe(Self.hybridOffer, port: server.port).observation)
            #expect(seen.group == group && seen.keyPossession == .proven)
            #expect(seen.usedHelloRetryRequest == (group == .secp384r1))
        }
    }

    // MARK: Packed certificates

    /// zlib with one stored block (RFC 1950, RFC 1951 section 3.2.4).
    static func packed(_ bytes: [UInt8]) -> [UInt8] {
        var (low, high) = (1, 0)
        for byte in bytes {
            low = (low + Int(byte)) % 65521
            high = (high + low) % 65521
        }
        let size = [UInt8(bytes.count & 255), UInt8(bytes.count >> 8)]
        return [0x78, 0x01, 0x01] + size + size.map { ~$0 } + bytes
            + [UInt8(high >> 8), UInt8(high & 255), UInt8(low >> 8), UInt8(low & 255)]
    }

    static func n24(_ value: Int) -> [UInt8] {
        [UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    /// A server that packs its certificates.
    static func server(algorithm: UInt8 = 1, stated: Int? = nil, damage: Bool = false) -> TLSMisbehaviour {
        TLSMisbehaviour("packed certificates", .negotiated) { session in
            var bytes = session.begin() + session.say(session.encryptedExtensions)
            let plain = Array(session.certificate().dropFirst(4))
            var content = packed(plain)
            if damage { content[content.count - 1] ^= 1 }
            let body = [0, algorithm] + n24(stated ?? plain.count) + n24(content.count) + content
            bytes += session.say([25] + n24(body.count) + body)
            bytes += session.say(session.verify())
            return [.send(bytes + session.say(session.finished())), .close]
        }
    }

    @Test("Packed certificates are read where they were offered, and never beyond what they say")
    func packedCertificates() throws {
        var offer = MisbehaviourTableTests.offer()
        func word(_ row: TLSMisbehaviour) throws -> TLSMisbehaviour.Outcome? {
            MisbehaviourTableTests.word(try MisbehaviourTableTests.play(row, offer: offer).handshake.outcome)
        }
        #expect(try word(Self.server()) == .protocolError)
        offer.layout = HelloLayout(items: HelloLayout.plain.items + [.certificateCompression])
        #expect(try word(Self.server()) == .negotiated)
        #expect(try word(Self.server(damage: true)) == .protocolError)
        #expect(try word(Self.server(algorithm: 2)) == .protocolError)
        for stated in [0, 1, WireLimits.message + 1, 0xFF_FFFF] {
            #expect(try word(Self.server(stated: stated)) == .protocolError, "\(stated)")
        }
    }
}
