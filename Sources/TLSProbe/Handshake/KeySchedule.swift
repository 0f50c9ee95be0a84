// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import TLSModel

/// The hash functions of the TLS 1.3 suites with what the key schedule does with them (RFC 8446 section 7.1).
enum ScheduleHash: Sendable {
    case sha256, sha384

    var size: Int { self == .sha256 ? 32 : 48 }

    func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let data = Data(bytes)
        return switch self {
        case .sha256: Array(SHA256.hash(data: data))
        case .sha384: Array(SHA384.hash(data: data))
        }
    }

    func authenticate(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        switch self {
        case .sha256: Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
        case .sha384: Array(HMAC<SHA384>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
        }
    }

    /// HKDF-Extract.
    func extract(salt: [UInt8], _ material: [UInt8]) -> [UInt8] { authenticate(material, key: salt) }

    /// HKDF-Expand-Label.
    func expand(_ secret: [UInt8], _ label: String, context: [UInt8] = [], count: Int) -> [UInt8] {
        var info = WireWriter()
        info.write16(UInt16(clamping: count))
        info.prefixed(1) { $0.write(Array("tls13 \(label)".utf8)) }
        info.prefixed(1) { $0.write(context) }
        let key: SymmetricKey =
            switch self {
            case .sha256: HKDF<SHA256>.expand(pseudoRandomKey: secret, info: info.bytes, outputByteCount: count)
            case .sha384: HKDF<SHA384>.expand(pseudoRandomKey: secret, info: info.bytes, outputByteCount: count)
            }
        return key.copied
    }
}

/// One direction of a protected connection: opens or seals records in order (RFC 8446 section 5.2).
struct RecordProtection: Sendable {
    private enum Cipher: Sendable { case aesGCM, chaChaPoly }

    private let cipher: Cipher
    private let key: SymmetricKey
    private let initialVector: [UInt8]
    private var sequence: UInt64 = 0

    init(suite: CipherSuite, secret: [UInt8], hash: ScheduleHash) {
        cipher = suite == .chacha20Poly1305SHA256 ? .chaChaPoly : .aesGCM
        key = SymmetricKey(data: hash.expand(secret, "key", count: suite == .aes128GCMSHA256 ? 16 : 32))
        initialVector = hash.expand(secret, "iv", count: 12)
    }

    /// The content and its true type; nil if the record was not made with the key.
    mutating func open(_ record: RecordReader.Record) -> (type: UInt8, content: ArraySlice<UInt8>)? {
        guard record.body.count >= 17 else { return nil }
        let nonce = nextNonce()
        let text = record.body.dropLast(16)
        let tag = record.body.suffix(16)
        let plain: Data?
        switch cipher {
        case .aesGCM:
            plain = (try? AES.GCM.SealedBox(nonce: .init(data: nonce), ciphertext: text, tag: tag))
                .flatMap { try? AES.GCM.open($0, using: key, authenticating: record.header) }
        case .chaChaPoly:
            plain = (try? ChaChaPoly.SealedBox(nonce: .init(data: nonce), ciphertext: text, tag: tag))
                .flatMap { try? ChaChaPoly.open($0, using: key, authenticating: record.header) }
        }
        guard let plain else { return nil }
        // Zeros after the type are padding.
        var content = ArraySlice(plain)
        while content.last == 0 { content.removeLast() }
        guard let type = content.popLast() else { return nil }
        return (type, content)
    }

    /// A record with `content`; nil if it is longer than one record may be, or if the cipher fails, which it does not.
    mutating func seal(_ type: UInt8, _ content: [UInt8]) -> [UInt8]? {
        guard content.count <= RecordReader.maximumFragment else { return nil }
        let nonce = nextNonce()
        let plain = content + [type]
        var writer = WireWriter()
        writer.write([ContentType.applicationData, 3, 3])
        writer.write16(UInt16(clamping: plain.count + 16))
        let header = writer.bytes
        switch cipher {
        case .aesGCM:
            guard let box = try? AES.GCM.seal(plain, using: key, nonce: .init(data: nonce), authenticating: header)
            else { return nil }
            return header + box.ciphertext + box.tag
        case .chaChaPoly:
            guard let box = try? ChaChaPoly.seal(plain, using: key, nonce: .init(data: nonce), authenticating: header)
            else { return nil }
            return header + box.ciphertext + box.tag
        }
    }

    private mutating func nextNonce() -> [UInt8] {
        var nonce = initialVector
        for index in 0..<8 { nonce[4 + index] ^= UInt8(truncatingIfNeeded: sequence >> (8 * (7 - index))) }
        sequence &+= 1
        return nonce
    }
}

/// The handshake secrets of TLS 1.3, from the shared secret and the transcript up to the ServerHello.
struct HandshakeKeys: Sendable {
    let hash: ScheduleHash
    private let clientSecret: [UInt8]
    private let serverSecret: [UInt8]
    var reading: RecordProtection
    var writing: RecordProtection

    init(suite: CipherSuite, sharedSecret: [UInt8], transcript: [UInt8]) {
        let hash: ScheduleHash = suite == .aes256GCMSHA384 ? .sha384 : .sha256
        let zeros = [UInt8](repeating: 0, count: hash.size)
        let early = hash.extract(salt: zeros, zeros)
        let derived = hash.expand(early, "derived", context: hash.hash([]), count: hash.size)
        let handshake = hash.extract(salt: derived, sharedSecret)
        let context = hash.hash(transcript)
        self.hash = hash
        clientSecret = hash.expand(handshake, "c hs traffic", context: context, count: hash.size)
        serverSecret = hash.expand(handshake, "s hs traffic", context: context, count: hash.size)
        reading = RecordProtection(suite: suite, secret: serverSecret, hash: hash)
        writing = RecordProtection(suite: suite, secret: clientSecret, hash: hash)
    }

    /// What the server's Finished must say after `transcript` (RFC 8446 section 4.4.4).
    func serverFinished(after transcript: [UInt8]) -> [UInt8] {
        let key = hash.expand(serverSecret, "finished", count: hash.size)
        return hash.authenticate(hash.hash(transcript), key: key)
    }
}
