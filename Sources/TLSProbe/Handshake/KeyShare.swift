// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Crypto
import FoundationEssentials
package import TLSModel

/// A private key for the key agreement of TLS 1.3: its group, what the server gets of it, and the agreement.
package struct KeyShare: Sendable {
    package let group: NamedGroup
    /// As the key_share extension carries it (RFC 8446 section 4.2.8.2).
    let publicKey: [UInt8]
    private let agree: @Sendable ([UInt8]) throws -> [UInt8]?

    private init(
        _ group: NamedGroup, _ publicKey: some Sequence<UInt8>,
        _ agree: @escaping @Sendable (_ share: [UInt8]) throws -> [UInt8]?
    ) {
        self.group = group
        self.publicKey = Array(publicKey)
        self.agree = agree
    }

    /// The shared secret with the server's share; nil if the share is no key of the group, or one of small order, whose secret anybody
    /// knows (RFC 8446 section 7.4.2).
    func secret(with share: some Collection<UInt8>) -> [UInt8]? { try? agree(Array(share)) }

    package static func x25519(_ key: Curve25519.KeyAgreement.PrivateKey) -> KeyShare {
        KeyShare(.x25519, key.publicKey.rawRepresentation) {
            try key.sharedSecretFromKeyAgreement(with: .init(rawRepresentation: $0)).unlessZero
        }
    }

    package static func secp256r1(_ key: P256.KeyAgreement.PrivateKey) -> KeyShare {
        KeyShare(.secp256r1, key.publicKey.x963Representation) {
            try key.sharedSecretFromKeyAgreement(with: .init(x963Representation: $0)).unlessZero
        }
    }

    package static func secp384r1(_ key: P384.KeyAgreement.PrivateKey) -> KeyShare {
        KeyShare(.secp384r1, key.publicKey.x963Representation) {
            try key.sharedSecretFromKeyAgreement(with: .init(x963Representation: $0)).unlessZero
        }
    }

    package static func secp521r1(_ key: P521.KeyAgreement.PrivateKey) -> KeyShare {
        KeyShare(.secp521r1, key.publicKey.x963Representation) {
            try key.sharedSecretFromKeyAgreement(with: .init(x963Representation: $0)).unlessZero
        }
    }

    package static func x25519MLKEM768(_ key: HybridKey) -> KeyShare {
        KeyShare(.x25519MLKEM768, key.publicKey, key.secret(with:))
    }

    /// The bytes of a client's share; nil for groups that no key is made of here.
    static func length(_ group: NamedGroup) -> Int? {
        switch group {
        case .x25519: 32
        case .secp256r1: 65
        case .secp384r1: 97
        case .secp521r1: 133
        case .x25519MLKEM768: HybridKey.clientShareLength
        default: nil
        }
    }
}

/// The client's keys of X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem): ML-KEM-768 of FIPS 203, and Curve25519 behind it.
package struct HybridKey: Sendable {
    /// 1,184 bytes of ML-KEM-768 and 32 of Curve25519.
    let publicKey: [UInt8]
    private let classical: Curve25519.KeyAgreement.PrivateKey
    /// The secret that a ciphertext of 1,088 bytes carries. A closure, for the key's type is newer than some systems that this runs on.
    private let decapsulate: @Sendable ([UInt8]) -> [UInt8]?

    /// A fresh pair; nil on systems without ML-KEM: macOS before 26, and the others of that year.
    package init?() {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *), let key = try? MLKEM768.PrivateKey()
        else { return nil }
        let classical = Curve25519.KeyAgreement.PrivateKey()
        self.classical = classical
        publicKey = Array(key.publicKey.rawRepresentation) + Array(classical.publicKey.rawRepresentation)
        decapsulate = { ciphertext in
            (try? key.decapsulate(ciphertext))?.copied
        }
    }

    /// The secret of ML-KEM before that of Curve25519; nil if the share has another length than 1,120 bytes or a half of it is no share.
    @Sendable func secret(with share: [UInt8]) -> [UInt8]? {
        guard share.count == HybridKey.ciphertextLength + HybridKey.classicalLength,
            let quantum = decapsulate(Array(share.prefix(HybridKey.ciphertextLength))),
            let other = try? classical.sharedSecretFromKeyAgreement(
                with: .init(rawRepresentation: Array(share.suffix(HybridKey.classicalLength)))
            ).unlessZero
        else { return nil }
        return quantum + other
    }

    static let clientShareLength = 1184 + classicalLength
    private static let ciphertextLength = 1088
    private static let classicalLength = 32
}

extension ContiguousBytes {
    /// The bytes of a secret, which its type only lends.
    // Safe: the buffer is copied while it is lent.
    var copied: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}

extension SharedSecret {
    /// The bytes; nil for zeros, which a share of small order makes.
    fileprivate var unlessZero: [UInt8]? {
        let bytes = copied
        return bytes.allSatisfy { $0 == 0 } ? nil : bytes
    }
}

/// Everything random that one handshake needs, made outside so that the handshake itself is a function of its input.
package struct HandshakeSecrets: Sendable {
    /// 32 bytes.
    package let random: [UInt8]
    /// 32 bytes.
    package let sessionIdentifier: [UInt8]
    /// A key for a group; nil for a group that is not supported.
    package let keyShare: @Sendable (NamedGroup) -> KeyShare?
}
