// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import NIOSSL
package import TLSModel

/// The cipher suites that swift-nio-ssl may be asked for.
///
/// Its BoringSSL ends the process when it is asked for a suite that it does not know, so no other number is ever passed on. Of the suites that
/// ATS names it lacks four: 0xC024, 0xC028, 0x003C and 0x003D (all CBC with SHA-256 or SHA-384); a server that has only those cannot be loaded
/// here, and `ats check` reports it from its own handshake.
enum VettedSuites {
    /// In the order in which an offer lists them when the policy gives no order.
    static let upToTLS12: [CipherSuite] = [
        .ecdheECDSAWithAES256GCMSHA384, .ecdheECDSAWithAES128GCMSHA256, .ecdheECDSAWithChaCha20Poly1305,
        .ecdheRSAWithAES256GCMSHA384, .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithChaCha20Poly1305,
        .ecdheECDSAWithAES128CBCSHA256, .ecdheRSAWithAES128CBCSHA256, .ecdheECDSAWithAES256CBCSHA,
        .ecdheECDSAWithAES128CBCSHA, .ecdheRSAWithAES256CBCSHA, .ecdheRSAWithAES128CBCSHA, .rsaWithAES256GCMSHA384,
        .rsaWithAES128GCMSHA256, .rsaWithAES256CBCSHA, .rsaWithAES128CBCSHA, .rsaWith3DESCBCSHA,
    ]

    /// BoringSSL offers these three by itself; they cannot be chosen.
    static let tls13: [CipherSuite] = [.aes128GCMSHA256, .aes256GCMSHA384, .chacha20Poly1305SHA256]

    private static let known = Set(upToTLS12)

    /// The suites up to TLS 1.2 of an offer that may be passed on, in its order.
    static func offerable(_ suites: [CipherSuite]) -> [NIOTLSCipher] {
        suites.filter(known.contains).map { NIOTLSCipher(rawValue: $0.rawValue) }
    }

    private static let knownGroups: Set<UInt16> = [
        NIOTLSCurve.x25519.rawValue, NIOTLSCurve.secp256r1.rawValue, NIOTLSCurve.secp384r1.rawValue,
        NIOTLSCurve.secp521r1.rawValue, NIOTLSCurve.x25519_MLKEM768.rawValue,
    ]

    /// The groups of an offer that may be passed on; nil, the library's own list, where none is left.
    static func offerable(_ groups: [NamedGroup]) -> [NIOTLSCurve]? {
        let offered = groups.filter { knownGroups.contains($0.rawValue) }.map { NIOTLSCurve(rawValue: $0.rawValue) }
        return offered.isEmpty ? nil : offered
    }
}

extension ATSClient {
    /// What of a handshake the TLS library lacks, in words; nil if a load can agree on all of it. Only the prober can judge its server.
    package static func missing(_ handshake: HandshakeObservation) -> String? {
        guard (VettedSuites.upToTLS12 + VettedSuites.tls13).contains(handshake.suite) else {
            return handshake.suite.description
        }
        return handshake.signatureScheme.flatMap { TLSOffer.knownSchemes.contains($0) ? nil : $0.description }
    }
}
