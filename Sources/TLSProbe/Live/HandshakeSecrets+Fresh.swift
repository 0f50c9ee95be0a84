// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import TLSModel

extension HandshakeSecrets {
    /// Secrets from the system's source of randomness.
    package static func fresh() -> HandshakeSecrets {
        let bytes = SymmetricKey(size: SymmetricKeySize(bitCount: 512)).copied
        return HandshakeSecrets(
            random: Array(bytes.prefix(32)), sessionIdentifier: Array(bytes.suffix(32)), keyShare: KeyShare.init(fresh:)
        )
    }
}

extension KeyShare {
    /// A fresh key for a group; nil for a group that is not supported.
    fileprivate init?(fresh group: NamedGroup) {
        switch group {
        case .x25519: self = .x25519(.init())
        case .secp256r1: self = .secp256r1(.init())
        case .secp384r1: self = .secp384r1(.init())
        case .secp521r1: self = .secp521r1(.init())
        case .x25519MLKEM768:
            guard let key = HybridKey() else { return nil }
            self = .x25519MLKEM768(key)
        default: return nil
        }
    }
}
