// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
public import Vocabulary

/// The public half of a device's P-256 key.
///
/// A store keeps the 65 bytes of ``x963Representation`` and makes the key again from them.
public struct AttestationPublicKey: Sendable {
    /// `0x04`, x, y: 65 bytes.
    public let x963Representation: [UInt8]
    let key: P256.Signing.PublicKey

    /// Makes a key from its 65 bytes in X9.63 form.
    ///
    /// - Throws: `malformed.public-key` if the bytes are not an uncompressed point of the curve P-256.
    public init(x963Representation bytes: some Collection<UInt8>) throws(MalformedInput) {
        let bytes = Array(bytes)
        guard bytes.count == 65, bytes.first == 0x04, let key = try? P256.Signing.PublicKey(x963Representation: bytes)
        else {
            throw MalformedInput(
                code: .malformedPublicKey, reason: "a public key must be an uncompressed P-256 point of 65 bytes")
        }
        x963Representation = bytes
        self.key = key
    }

    /// Makes a key from SubjectPublicKeyInfo in DER, as `openssl ec -pubout -outform DER` writes it.
    ///
    /// - Throws: `malformed.public-key` if the bytes are not such a key on the curve P-256.
    public init(subjectPublicKeyInfo der: some Collection<UInt8>) throws(MalformedInput) {
        guard let key = try? P256.Signing.PublicKey(derRepresentation: Array(der)) else {
            throw MalformedInput(code: .malformedPublicKey, reason: "expected a public key on P-256 in DER")
        }
        x963Representation = Array(key.x963Representation)
        self.key = key
    }

    /// The identifier of the key: SHA-256 of its 65 bytes.
    public var keyId: KeyIdentifier { KeyIdentifier(hash: SHA256.hash(data: x963Representation)) }
}

extension AttestationPublicKey: Hashable {
    public static func == (left: AttestationPublicKey, right: AttestationPublicKey) -> Bool {
        left.x963Representation == right.x963Representation
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(x963Representation) }
}

/// The identifier of a device's key: SHA-256 of its public key, 32 bytes. The device hands it out in base64.
public struct KeyIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// Makes an identifier from its 32 bytes; nil for any other count.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Makes an identifier from the base64 text that `generateKey` gave to the app; nil if that is not 32 bytes in base64.
    public init?(base64: String) {
        guard let bytes = Base64.decode(base64) else { return nil }
        self.init(bytes: bytes)
    }

    init(hash: SHA256Digest) { bytes = Array(hash) }

    /// The identifier in base64, as the device gives it to the app.
    public var base64: String { Base64.encode(bytes) }

    public var description: String { base64 }
}
