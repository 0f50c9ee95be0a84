// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TLSModel
import TestSupport
import Testing

@testable import TLSProbe

/// The pure state machine, driven with flights that a real server sent.
@Suite struct ClientHandshakeTests {
    /// A recorded flight with the secrets that open it.
    struct Flight: Sendable {
        let offer: HelloOffer
        let secrets: HandshakeSecrets
        let bytes: [UInt8]

        func replay(_ bytes: [UInt8]) -> ClientHandshake {
            var handshake = ClientHandshake(offer: offer, secrets: secrets)
            _ = handshake.start()
            _ = handshake.receive(bytes)
            return handshake
        }

        /// Records what a server sends, over a plain blocking socket.
        init(_ offer: HelloOffer, port: Int) throws {
            let x25519 = Curve25519.KeyAgreement.PrivateKey()
            let p256 = P256.KeyAgreement.PrivateKey()
            let p384 = P384.KeyAgreement.PrivateKey()
            let secrets = HandshakeSecrets(
                random: [UInt8](repeating: 7, count: 32), sessionIdentifier: [UInt8](repeating: 9, count: 32)
            ) { group in
                switch group {
                case .x25519: .x25519(x25519)
                case .secp256r1: .secp256r1(p256)
                case .secp384r1: .secp384r1(p384)
                default: nil
                }
            }
            var handshake = ClientHandshake(offer: offer, secrets: secrets)
            var recorded: [UInt8] = []
            try BlockingSocket.talk(port: port, first: handshake.start()) { bytes in
                recorded += bytes
                let reply = handshake.receive(bytes)
                return handshake.outcome == nil ? reply : nil
            }
            self.offer = offer
            self.secrets = secrets
            bytes = recorded
        }
    }

    struct Recording: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let options: [String]
        var offer = ProberTests.offer
        var keyShares: [NamedGroup] = [.x25519, .secp256r1]

        func flight() throws -> Flight {
            let server = try ProbeFixtures.server(\.p256, options)
            var offer = offer
            offer.keyShareGroups = keyShares
            return try Flight(offer, port: server.port)
        }
    }

    static let recordings = [
        Recording(testDescription: "TLS 1.2", options: ["-tls1_2"]),
        Recording(testDescription: "TLS 1.0", options: ["-tls1", "-cipher", ProbeFixtures.everything]),
        Recording(testDescription: "TLS 1.3", options: ["-tls1_3", "-verify", "1"]),
        Recording(testDescription: "TLS 1.3, retry", options: ["-tls1_3", "-curves", "P-384"], keyShares: [.x25519]),
    ]

    @Test("A flight cut anywhere gives no verdict, the whole flight gives one", arguments: recordings)
    func truncation(_ recording: Recording) throws {
        let flight = try recording.flight()
        let whole = flight.replay(flight.bytes)
        #expect(whole.outcome?.observation?.keyPossession == .proven)
        var handshake = ClientHandshake(offer: flight.offer, secrets: flight.secrets)
        _ = handshake.start()
        var isQuiet = true
        for byte in flight.bytes {
            var cut = handshake
            cut.end(.closed)
            isQuiet = isQuiet && handshake.outcome == nil && cut.outcome == .connection(.closed)
            _ = handshake.receive([byte])
        }
        #expect(isQuiet)
        #expect(handshake.outcome == whole.outcome)
    }

    @Test(
        "No flipped bit goes unseen where a signature or a tag covers it, and none ends the process",
        arguments: recordings)
    func flips(_ recording: Recording) throws {
        let flight = try recording.flight()
        let original = flight.replay(flight.bytes).outcome
        let changes: [UInt8] = LongForm.isAsked ? (0..<8).map { 1 << $0 } : [0x01]
        var handshake = ClientHandshake(offer: flight.offer, secrets: flight.secrets)
        _ = handshake.start()
        for index in flight.bytes.indices {
            for change in changes where LongForm.isAsked || index.isMultiple(of: 5) {
                var copy = handshake
                _ = copy.receive([flight.bytes[index] ^ change] + flight.bytes[(index + 1)...])
                guard let seen = copy.outcome?.observation, let was = original?.observation else { continue }
                if seen.version >= .tls13 {
                    #expect(copy.outcome == original, "byte \(index)")
                } else {
                    // Below TLS 1.3 the signature covers the randoms and the key exchange only.
                    #expect(seen.keyPossession != .proven || seen.group == was.group, "byte \(index)")
                }
            }
            _ = handshake.receive([flight.bytes[index]])
        }
    }

    @Test func messagesOverManyRecordsAndManyInOneAreTheSame() throws {
        let flight = try Self.recordings[0].flight()
        let original = flight.replay(flight.bytes).outcome
        var messages: [UInt8] = []
        var rest = flight.bytes[...]
        while rest.count >= 5 {
            let length = Int(rest[rest.startIndex + 3]) << 8 | Int(rest[rest.startIndex + 4])
            messages += rest.dropFirst(5).prefix(length)
            rest = rest.dropFirst(5 + length)
        }
        for size in [1, 3, 100, messages.count] {
            let packed = stride(from: 0, to: messages.count, by: size).flatMap { start -> [UInt8] in
                let part = messages[start..<min(start + size, messages.count)]
                return [22, 3, 3, UInt8(part.count >> 8), UInt8(part.count & 255)] + part
            }
            #expect(flight.replay(packed).outcome == original)
        }
    }

    @Test func endlessServersAreStopped() {
        func drive(_ piece: [UInt8]) -> (HandshakeOutcome?, Int) {
            var handshake = ClientHandshake(offer: ProberTests.offer, secrets: .fresh())
            _ = handshake.start()
            var sent = 0
            while handshake.outcome == nil, sent < 10 << 20 {
                _ = handshake.receive(piece)
                sent += piece.count
            }
            return (handshake.outcome, sent)
        }
        let warnings = drive([21, 3, 3, 0, 2, 1, 112])
        let empty = drive([22, 3, 3, 0, 0])
        let ciphers = drive([20, 3, 3, 0, 1, 1])
        // One message that claims 100 KiB and dribbles, and one that claims 16 MiB.
        let dribble = drive([22, 3, 3, 0, 4, 2, 1, 0x90, 0])
        let huge = drive([22, 3, 3, 0, 4, 2, 255, 255, 255])
        for (outcome, sent) in [warnings, empty, ciphers, dribble, huge] {
            guard case .protocolError = outcome else {
                Issue.record("\(String(describing: outcome))")
                continue
            }
            #expect(sent <= ClientHandshake.maximumFlight + 16)
        }
    }

    @Test func whatWasNotOfferedIsAProtocolError() {
        func answer(
            _ version: UInt16, _ suite: UInt16, random: [UInt8] = [UInt8](repeating: 1, count: 32)
        )
            -> HandshakeOutcome?
        {
            let body =
                [UInt8(version >> 8), UInt8(version & 255)] + random + [0, UInt8(suite >> 8), UInt8(suite & 255), 0]
            let message = [2, 0, 0, UInt8(body.count)] + body
            let offer = HelloOffer(minimumVersion: .tls12, suites: ProbeFixtures.forwardSecret)
            var handshake = ClientHandshake(offer: offer, secrets: .fresh())
            _ = handshake.start()
            _ = handshake.receive([22, 3, 3, 0, UInt8(message.count)] + message)
            return handshake.outcome
        }
        #expect(answer(0x0301, 0xC013) == .protocolError("The server chose TLSv1.0, which was not offered"))
        #expect(
            answer(0x0303, 0x002F)
                == .protocolError("The server chose the suite TLS_RSA_WITH_AES_128_CBC_SHA, which was not offered"))
        #expect(answer(0x0303, 0xC02F) == nil)
        let downgrade = [UInt8](repeating: 1, count: 24) + Array("DOWNGRD".utf8) + [1]
        guard case .protocolError = answer(0x0303, 0xC02F, random: downgrade) else {
            Issue.record("a downgrade went unseen")
            return
        }
    }
}

/// A blocking TCP client, independent of the code under test.
enum BlockingSocket {
    /// Sends `first`, then hands over what arrives until `take` returns nil or the server closes.
    static func talk(port: Int, first: [UInt8], _ take: ([UInt8]) -> [UInt8]?) throws {
        let client = try LoopbackClient(port: port, limit: 20)
        var outgoing = first
        while true {
            client.send(outgoing)
            guard let bytes = client.readBytes(), !bytes.isEmpty, let reply = take(bytes) else { return }
            outgoing = reply
        }
    }
}
