// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation

/// What a client hello says, as far as a hostile server needs it.
package struct SeenHello: Sendable {
    /// The handshake message.
    package let message: [UInt8]
    package let random: [UInt8]
    package let session: [UInt8]
    package var serverName: String?
    /// The client's share of X25519.
    package var share: [UInt8]?
    /// The length of the cookie that came back.
    package var cookie: Int?

    /// Reads the first hello in a stream of records; nil until it is whole.
    package init?(records: [UInt8]) {
        var handshake: [UInt8] = []
        var at = 0
        while at + 5 <= records.count {
            let length = Int(records[at + 3]) << 8 | Int(records[at + 4])
            guard at + 5 + length <= records.count else { break }
            if records[at] == 22 { handshake += records[(at + 5)..<(at + 5 + length)] }
            at += 5 + length
        }
        guard handshake.count >= 4, handshake[0] == 1 else { return nil }
        let length = Int(handshake[1]) << 16 | Int(handshake[2]) << 8 | Int(handshake[3])
        guard handshake.count >= 4 + length, length >= 38 else { return nil }
        let message = Array(handshake[..<(4 + length)])
        self.message = message
        random = Array(message[6..<38])
        var cursor = 38
        func take(_ size: Int) -> [UInt8] {
            guard cursor + size <= message.count else { return [] }
            let count = message[cursor..<(cursor + size)].reduce(0) { $0 << 8 | Int($1) }
            let end = min(message.count, cursor + size + count)
            defer { cursor = end }
            return Array(message[(cursor + size)..<end])
        }
        session = take(1)
        _ = take(2)
        _ = take(1)
        let extensions = take(2)
        var place = 0
        while place + 4 <= extensions.count {
            let type = Int(extensions[place]) << 8 | Int(extensions[place + 1])
            let end = place + 4 + (Int(extensions[place + 2]) << 8 | Int(extensions[place + 3]))
            guard end <= extensions.count else { break }
            let body = Array(extensions[(place + 4)..<end])
            place = end
            switch type {
            case 0 where body.count > 5: serverName = String(decoding: body[5...], as: UTF8.self)
            case 44: cookie = body.count - 2
            case 51:
                var entry = 2
                while entry + 4 <= body.count {
                    let size = Int(body[entry + 2]) << 8 | Int(body[entry + 3])
                    guard entry + 4 + size <= body.count else { break }
                    if body[entry] == 0, body[entry + 1] == 29 { share = Array(body[(entry + 4)..<(entry + 4 + size)]) }
                    entry += 4 + size
                }
            default: break
            }
        }
    }
}

/// One direction of TLS 1.3 with TLS_AES_128_GCM_SHA256 (RFC 8446 section 7), written apart from the prober's.
package struct HostileCipher: Sendable {
    private let key: SymmetricKey
    private let vector: [UInt8]
    private var sequence: UInt64 = 0

    init(secret: SymmetricKey) {
        key = HostileCipher.expand(secret, "key", [], 16)
        vector = HostileCipher.expand(secret, "iv", [], 12).withUnsafeBytes { Array($0) }
    }

    /// A record with this content and type inside.
    package mutating func seal(_ type: UInt8, _ content: [UInt8], padding: Int = 0) -> [UInt8] {
        let plain = content + (type == 0 ? [] : [type]) + [UInt8](repeating: 0, count: padding)
        let header: [UInt8] = [23, 3, 3] + Bytes.n16(plain.count + 16)
        var nonce = vector
        for index in 0..<8 { nonce[4 + index] ^= UInt8(truncatingIfNeeded: sequence >> (8 * UInt64(7 - index))) }
        sequence += 1
        guard let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.seal(plain, using: key, nonce: nonce, authenticating: header)
        else { return [] }
        return header + box.ciphertext + box.tag
    }

    static func expand(_ secret: SymmetricKey, _ label: String, _ context: [UInt8], _ count: Int) -> SymmetricKey {
        let info = Bytes.n16(count) + Bytes.vector(1, Array("tls13 \(label)".utf8)) + Bytes.vector(1, context)
        return HKDF<SHA256>.expand(pseudoRandomKey: secret, info: info, outputByteCount: count)
    }
}

/// A server's side of one handshake, with a message for every step that the script may leave out, repeat or spoil.
package struct HostileSession: Sendable {
    package let hello: SeenHello
    package let identity = HostileIdentity.shared
    package var transcript: [UInt8]
    /// The number of hellos that came before this one.
    package var round = 0
    private var handshakeSecret: SymmetricKey?
    private var finishedKey: SymmetricKey?
    private var cipher: HostileCipher?
    package let random = [UInt8](repeating: 5, count: 32)

    package init(_ hello: SeenHello) {
        self.hello = hello
        transcript = hello.message
    }

    // MARK: ServerHello

    /// SHA-256 of "HelloRetryRequest".
    package static let retryRandom = Array(SHA256.hash(data: Data("HelloRetryRequest".utf8)))

    /// A ServerHello of which every part can be replaced.
    package func serverHello(
        version: Int = 0x0303, random: [UInt8]? = nil, session: [UInt8]? = nil, suite: Int = 0x1301,
        compression: UInt8 = 0, extensions: [UInt8], lie: Int = 0
    ) -> [UInt8] {
        Bytes.message(
            2,
            Bytes.n16(version) + (random ?? self.random) + Bytes.vector(1, session ?? hello.session) + Bytes.n16(suite)
                + [compression] + Bytes.vector(2, extensions, lie: lie))
    }

    package static let versionItem = Bytes.item(43, [3, 4])
    private static let serverKey = Curve25519.KeyAgreement.PrivateKey()
    package static let shareItem = Bytes.item(
        51, [0, 29] + Bytes.vector(2, Array(serverKey.publicKey.rawRepresentation)))

    /// A HelloRetryRequest.
    package func retry(_ items: [UInt8], session: [UInt8]? = nil, suite: Int = 0x1301) -> [UInt8] {
        serverHello(
            random: HostileSession.retryRandom, session: session, suite: suite,
            extensions: HostileSession.versionItem + items)
    }

    package static func cookie(_ size: Int) -> [UInt8] {
        Bytes.item(44, Bytes.vector(2, [UInt8](repeating: 0xC0, count: size)))
    }

    /// The records of an honest ServerHello of TLS 1.3; from here on messages can be sealed.
    package mutating func begin() -> [UInt8] {
        let message = serverHello(extensions: HostileSession.versionItem + HostileSession.shareItem)
        transcript += message
        guard let share = hello.share, let key = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: share),
            let shared = try? HostileSession.serverKey.sharedSecretFromKeyAgreement(with: key)
        else { return Bytes.alert(2, 70) }
        let zeros = SymmetricKey(data: [UInt8](repeating: 0, count: 32))
        let early = SymmetricKey(
            data: HKDF<SHA256>.extract(inputKeyMaterial: zeros, salt: [UInt8](repeating: 0, count: 32)))
        let empty = Array(SHA256.hash(data: Data()))
        let derived = HostileCipher.expand(early, "derived", empty, 32)
        let secret = SymmetricKey(
            data: HKDF<SHA256>.extract(
                inputKeyMaterial: SymmetricKey(data: shared.withUnsafeBytes { Array($0) }),
                salt: derived.withUnsafeBytes { Array($0) }))
        handshakeSecret = secret
        let traffic = HostileCipher.expand(secret, "s hs traffic", hash, 32)
        finishedKey = HostileCipher.expand(traffic, "finished", [], 32)
        cipher = HostileCipher(secret: traffic)
        return Bytes.records(message)
    }

    private var hash: [UInt8] { Array(SHA256.hash(data: Data(transcript))) }

    /// The first hello, after a retry request, is a hash (RFC 8446 section 4.4.1).
    package mutating func goOn(after first: HostileSession, retry: [UInt8]) {
        let digest = Array(SHA256.hash(data: Data(first.hello.message)))
        transcript = Bytes.message(254, digest) + retry + hello.message
        round = first.round + 1
    }

    // MARK: TLS 1.3

    package let encryptedExtensions = Bytes.message(8, [0, 0])

    /// A Certificate message; the leaf comes first.
    package func certificate(_ chain: [[UInt8]]? = nil, items: [UInt8] = []) -> [UInt8] {
        let entries = (chain ?? [identity.leaf]).enumerated().flatMap { index, der in
            Bytes.vector(3, der) + Bytes.vector(2, index == 0 ? items : [])
        }
        return Bytes.message(11, [0] + Bytes.vector(3, entries))
    }

    /// A CertificateVerify over everything that was said.
    package func verify(scheme: Int = 0x0403) -> [UInt8] {
        let content =
            [UInt8](repeating: 0x20, count: 64) + Array("TLS 1.3, server CertificateVerify".utf8) + [0] + hash
        let signature = (try? identity.key.signature(for: content).derRepresentation).map { Array($0) } ?? []
        return Bytes.message(15, Bytes.n16(scheme) + Bytes.vector(2, signature))
    }

    /// A Finished over everything that was said.
    package func finished() -> [UInt8] {
        guard let finishedKey else { return [] }
        return Bytes.message(20, Array(HMAC<SHA256>.authenticationCode(for: hash, using: finishedKey)))
    }

    /// Seals a message in one record and puts it into the transcript.
    package mutating func say(_ message: [UInt8], padding: Int = 0) -> [UInt8] {
        transcript += message
        return seal(22, message, padding: padding)
    }

    /// Seals anything.
    package mutating func seal(_ type: UInt8, _ content: [UInt8], padding: Int = 0) -> [UInt8] {
        cipher?.seal(type, content, padding: padding) ?? []
    }

    /// A sealed message over as many records as its length needs.
    package mutating func sayInParts(_ message: [UInt8], size: Int = 16_000) -> [UInt8] {
        transcript += message
        return stride(from: 0, to: message.count, by: size).flatMap { start in
            seal(22, Array(message[start..<min(start + size, message.count)]))
        }
    }

    /// The rest of an honest flight, from `EncryptedExtensions` on.
    package mutating func honestRest(chain: [[UInt8]]? = nil, items: [UInt8] = []) -> [UInt8] {
        var bytes = say(encryptedExtensions)
        bytes += sayInParts(certificate(chain, items: items))
        bytes += say(verify())
        bytes += say(finished())
        return bytes
    }

    /// What is sealed from here on is sealed for the time after the handshake.
    package mutating func finishKeys() {
        guard let handshakeSecret else { return }
        let derived = HostileCipher.expand(handshakeSecret, "derived", Array(SHA256.hash(data: Data())), 32)
        let master = HKDF<SHA256>.extract(
            inputKeyMaterial: SymmetricKey(data: [UInt8](repeating: 0, count: 32)),
            salt: derived.withUnsafeBytes { Array($0) })
        let traffic = HostileCipher.expand(SymmetricKey(data: master), "s ap traffic", hash, 32)
        cipher = HostileCipher(secret: traffic)
    }

    // MARK: TLS 1.2

    /// TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256.
    package func classicHello(
        version: Int = 0x0303, suite: Int = 0xC02B, items: [UInt8] = Bytes.item(23, [])
    )
        -> [UInt8]
    {
        serverHello(version: version, session: [UInt8](repeating: 3, count: 32), suite: suite, extensions: items)
    }

    package func classicCertificate(_ chain: [[UInt8]]? = nil) -> [UInt8] {
        Bytes.message(11, Bytes.vector(3, (chain ?? [identity.leaf]).flatMap { Bytes.vector(3, $0) }))
    }

    package static let point = Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)

    /// A ServerKeyExchange, signed as it stands.
    package func keyExchange(
        kind: UInt8 = 3, curve: Int = 23, point: [UInt8] = HostileSession.point, scheme: Int = 0x0403, lie: Int = 0
    ) -> [UInt8] {
        let parameters = [kind] + Bytes.n16(curve) + Bytes.vector(1, point, lie: lie)
        let signature =
            (try? identity.key.signature(for: hello.random + random + parameters).derRepresentation).map { Array($0) }
            ?? []
        return Bytes.message(12, parameters + Bytes.n16(scheme) + Bytes.vector(2, signature))
    }

    package static let helloDone = Bytes.message(14, [])

    /// A whole honest flight of TLS 1.2.
    package func classicFlight(chain: [[UInt8]]? = nil) -> [UInt8] {
        Bytes.records(classicHello()) + Bytes.records(classicCertificate(chain)) + Bytes.records(keyExchange())
            + Bytes.records(HostileSession.helloDone)
    }
}
