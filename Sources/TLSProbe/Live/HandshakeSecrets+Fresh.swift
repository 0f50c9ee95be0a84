// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import TLSFacts

extension HandshakeSecrets {
    /// Secrets from the system's source of randomness.
    public static func fresh() -> HandshakeSecrets {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        for _ in 0..<8 { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        return HandshakeSecrets(random: Array(bytes.prefix(32)), sessionIdentifier: Array(bytes.suffix(32))) { group in
            switch group {
            case .x25519: .x25519(.init())
            case .secp256r1: .secp256r1(.init())
            case .secp384r1: .secp384r1(.init())
            case .secp521r1: .secp521r1(.init())
            default: nil
            }
        }
    }
}
