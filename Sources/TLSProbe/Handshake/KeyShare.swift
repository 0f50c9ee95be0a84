// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Crypto
public import TLSFacts

/// A private key for the key agreement of TLS 1.3, and the agreement itself.
public enum KeyShare: Sendable {
    /// Curve25519.
    case x25519(Curve25519.KeyAgreement.PrivateKey)
    /// P-256.
    case secp256r1(P256.KeyAgreement.PrivateKey)
    /// P-384.
    case secp384r1(P384.KeyAgreement.PrivateKey)
    /// P-521.
    case secp521r1(P521.KeyAgreement.PrivateKey)

    /// The group of the key.
    public var group: NamedGroup {
        switch self {
        case .x25519: .x25519
        case .secp256r1: .secp256r1
        case .secp384r1: .secp384r1
        case .secp521r1: .secp521r1
        }
    }

    /// As the key_share extension carries it (RFC 8446 section 4.2.8.2).
    var publicKey: [UInt8] {
        switch self {
        case .x25519(let key): Array(key.publicKey.rawRepresentation)
        case .secp256r1(let key): Array(key.publicKey.x963Representation)
        case .secp384r1(let key): Array(key.publicKey.x963Representation)
        case .secp521r1(let key): Array(key.publicKey.x963Representation)
        }
    }

    /// The shared secret with the server's share; nil if the share is no key of the group, or one of small order, whose secret anybody
    /// knows (RFC 8446 section 7.4.2).
    func secret(with share: some Collection<UInt8>) -> [UInt8]? {
        let share = Array(share)
        let secret: SharedSecret? =
            switch self {
            case .x25519(let key):
                try? key.sharedSecretFromKeyAgreement(with: .init(rawRepresentation: share))
            case .secp256r1(let key):
                try? key.sharedSecretFromKeyAgreement(with: .init(x963Representation: share))
            case .secp384r1(let key):
                try? key.sharedSecretFromKeyAgreement(with: .init(x963Representation: share))
            case .secp521r1(let key):
                try? key.sharedSecretFromKeyAgreement(with: .init(x963Representation: share))
            }
        let bytes = secret.map { $0.withUnsafeBytes { Array($0) } }
        return bytes.flatMap { $0.allSatisfy { $0 == 0 } ? nil : $0 }
    }
}

/// Everything random that one handshake needs, made outside so that the handshake itself is a function of its input.
public struct HandshakeSecrets: Sendable {
    /// 32 bytes.
    public let random: [UInt8]
    /// 32 bytes.
    public let sessionIdentifier: [UInt8]
    /// A fresh key for a group; nil for a group that is not supported.
    public let keyShare: @Sendable (NamedGroup) -> KeyShare?

    /// Makes one from its parts, which the properties describe.
    public init(
        random: [UInt8],
        sessionIdentifier: [UInt8],
        keyShare: @escaping @Sendable (NamedGroup) -> KeyShare?
    ) {
        self.random = random
        self.sessionIdentifier = sessionIdentifier
        self.keyShare = keyShare
    }
}
