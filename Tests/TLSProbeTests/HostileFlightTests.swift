// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TLSModel
import TestSupport
import Testing

@testable import TLSProbe

/// A server of TLS 1.3 that encrypts properly and says whatever it is told to say.
@Suite struct HostileFlightTests {
    struct Server {
        var handshake: ClientHandshake
        var keys: HandshakeKeys
        var transcript: [UInt8]

        init(_ offer: HelloOffer = ProberTests.offer) throws {
            let client = Curve25519.KeyAgreement.PrivateKey()
            let server = Curve25519.KeyAgreement.PrivateKey()
            var offer = offer
            offer.keyShareGroups = [.x25519]
            let session = [UInt8](repeating: 9, count: 32)
            handshake = ClientHandshake(
                offer: offer,
                secrets: HandshakeSecrets(random: [UInt8](repeating: 7, count: 32), sessionIdentifier: session) { _ in
                    .x25519(client)
                }
            )
            transcript = Array(handshake.start().dropFirst(5))
            let share = Array(server.publicKey.rawRepresentation)
            let extensions: [UInt8] = [0, 43, 0, 2, 3, 4, 0, 51, 0, 36, 0, 29, 0, 32] + share
            let body: [UInt8] =
                [3, 3] + [UInt8](repeating: 5, count: 32) + [32] + session + [
                    0x13, 0x01, 0, 0, UInt8(extensions.count),
                ] + extensions
            let hello = Self.message(2, body)
            transcript += hello
            let secret = try server.sharedSecretFromKeyAgreement(with: client.publicKey).withUnsafeBytes { Array($0) }
            keys = HandshakeKeys(suite: .aes128GCMSHA256, sharedSecret: secret, transcript: transcript)
            _ = handshake.receive(RecordReader.record(22, version: 0x0303, hello))
        }

        static func message(_ type: UInt8, _ body: [UInt8]) -> [UInt8] {
            [type, UInt8(body.count >> 16), UInt8(body.count >> 8 & 255), UInt8(body.count & 255)] + body
        }

        /// Sends messages in one encrypted record.
        mutating func say(_ messages: [UInt8]) throws {
            _ = handshake.receive(try keys.sealed(22, messages))
            transcript += messages
        }
    }

    static func certificate(_ der: [UInt8]) -> [UInt8] {
        let entry = [UInt8(der.count >> 16), UInt8(der.count >> 8 & 255), UInt8(der.count & 255)] + der + [0, 0]
        return Server.message(
            11, [0, UInt8(entry.count >> 16), UInt8(entry.count >> 8 & 255), UInt8(entry.count & 255)] + entry)
    }

    static let extensions = Server.message(8, [0, 0])

    static func isProtocolError(_ outcome: HandshakeOutcome?, _ part: String = "") -> Bool {
        if case .protocolError(let reason) = outcome { reason.contains(part) || part.isEmpty } else { false }
    }

    @Test func aFinishedWithoutTheKeyIsRefused() throws {
        let leaf = try ProbeFixtures.required().p256.der
        var server = try Server()
        try server.say(Self.extensions + Self.certificate(leaf))
        // A signature that is none: possession is refuted; then a Finished that is right, and one that is not.
        try server.say(Server.message(15, [4, 3, 0, 4, 0x30, 2, 2, 0]))
        var honest = server
        try honest.say(Server.message(20, honest.keys.serverFinished(after: honest.transcript)))
        #expect(honest.handshake.outcome?.observation?.keyPossession == .refuted)
        try server.say(Server.message(20, [UInt8](repeating: 0, count: 32)))
        #expect(Self.isProtocolError(server.handshake.outcome, "Finished"))
    }

    @Test func messagesOutOfOrderAreRefused() throws {
        let leaf = try ProbeFixtures.required().p256.der
        let verify = Server.message(15, [4, 3, 0, 0])
        for messages in [
            Self.certificate(leaf), verify, Server.message(20, []), Self.extensions + verify,
            Self.extensions + Self.extensions,
            Self.extensions + Self.certificate(leaf) + Self.certificate(leaf), Server.message(4, []),
            Server.message(24, [0]),
            Self.extensions + Self.certificate(leaf) + Server.message(15, [4, 1, 0, 0]),
            Self.extensions + Self.certificate(leaf) + Server.message(15, [8, 4, 0, 0]),
            Self.extensions + Server.message(11, [0, 0, 0, 0]), Server.message(8, [0, 5, 0, 16, 0, 1, 0]),
        ] {
            var server = try Server()
            try server.say(messages)
            #expect(Self.isProtocolError(server.handshake.outcome), "\(messages.prefix(8))")
        }
    }

    @Test func mutatedEncryptedMessagesNeverEndTheProcess() throws {
        let leaf = try ProbeFixtures.required().p256.der
        let template =
            Self.extensions + Server.message(13, [0, 0, 0]) + Self.certificate(leaf) + Server.message(15, [4, 3, 0, 0])
        var random = SplitMix(state: 7)
        for _ in 0..<(LongForm.isAsked ? 20_000 : 1500) {
            var messages = template
            for _ in 0...random.below(3) {
                switch random.below(4) {
                case 0: messages[random.below(messages.count)] = UInt8(random.below(256))
                case 1: messages.removeLast(random.below(messages.count))
                case 2: messages.insert(UInt8(random.below(256)), at: random.below(messages.count + 1))
                default: messages[random.below(min(messages.count, 60))] ^= 1 << UInt8(random.below(8))
                }
                if messages.isEmpty { messages = [8] }
            }
            var server = try Server()
            try server.say(messages)
            #expect(server.handshake.outcome?.observation == nil)
        }
    }

    @Test func recordsThatDoNotDecryptEndTheHandshake() throws {
        var server = try Server()
        var record = try server.keys.sealed(22, Self.extensions)
        record[record.count - 1] ^= 1
        _ = server.handshake.receive(record)
        #expect(Self.isProtocolError(server.handshake.outcome, "decrypt"))
    }

    @Test func anAlertInsideTheEncryptionIsAnAlert() throws {
        var server = try Server()
        _ = server.handshake.receive(try server.keys.sealed(21, [2, 116]))
        #expect(server.handshake.outcome == .alert(level: 2, description: 116))
    }
}

extension HandshakeKeys {
    /// A record as the server makes it.
    fileprivate mutating func sealed(_ type: UInt8, _ content: [UInt8]) throws -> [UInt8] {
        let record = reading.seal(type, content)
        return try #require(record)
    }
}
