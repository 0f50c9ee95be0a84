// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import NIOCore
package import TLSFacts
package import TLSProbe

/// A hello that offers more than any system does: what a server that refuses every other one answers to it tells why.
///
/// `check`, the client and the proxy all ask it here, so that they name one reason.
package enum WidestHello {
    /// One or two hellos, with every suite, group and signature scheme that has a name here.
    ///
    /// A server with a key that TLS 1.3 does not know answers one up to TLS 1.2, and one that speaks nothing but TLS 1.3 the other.
    ///
    /// - Parameters:
    ///   - maximum: the newest version of the system that was refused; what it speaks is asked first.
    ///   - timeout: for both together.
    package static func ask(
        _ prober: Prober,
        _ addresses: [SocketAddress],
        serverName: String,
        maximum: TLSVersion,
        timeout: Duration
    ) async -> HandshakeObservation? {
        let end = ContinuousClock.now + timeout
        for version in maximum >= .tls13 ? [TLSVersion.tls13, .tls12] : [.tls12, .tls13] {
            let left = TargetDeadline.remaining(atMost: end - .now)
            guard left > .zero, !Task.isCancelled else { return nil }
            let offer = HelloOffer(
                minimumVersion: .tls10,
                maximumVersion: version,
                suites: everySuite,
                groups: HelloOffer.commonGroups + rareGroups,
                signatureSchemes: HelloOffer.commonSignatureSchemes + rareSchemes,
                serverName: IPAddress(serverName) == nil ? serverName : nil
            )
            let (outcome, _) = await prober.probe(offer, addresses: addresses, connectTimeout: left, timeout: left)
            switch outcome {
            case .negotiated(let observation): return observation
            case .alert, .protocolError: continue
            case .connection: return nil
            }
        }
        return nil
    }

    private static let everySuite: [CipherSuite] = {
        let known = OSProfile.all.flatMap {
            $0.systemSuites + $0.facts.forwardSecretSuites.value + $0.facts.rsaSuites.value
        }
        let rare: [CipherSuite] = [
            .dheRSAWithAES256GCMSHA384, .dheRSAWithAES128GCMSHA256, .dheRSAWithAES256CBCSHA256,
            .dheRSAWithAES128CBCSHA256,
            .dheRSAWithAES256CBCSHA, .dheRSAWithAES128CBCSHA,
        ]
        var seen: Set<CipherSuite> = []
        return (known + rare).filter { seen.insert($0).inserted }
    }()

    /// secp192r1, secp224r1, secp256k1, the brainpool curves and X448: RFC 8422, RFC 7027, RFC 7748.
    ///
    /// The post-quantum group has no share in this hello, which stays small: a server that insists on it asks for one.
    private static let rareGroups: [NamedGroup] =
        [19, 21, 22, 26, 27, 28, 30].map { NamedGroup(rawValue: $0) } + [.x25519MLKEM768]

    /// Ed25519, Ed448, RSASSA-PSS keys, and ECDSA and RSA with SHA-224: RFC 8446 section 4.2.3, RFC 5246 section 7.4.1.4.1.
    private static let rareSchemes: [SignatureScheme] = [0x0807, 0x0808, 0x0809, 0x080A, 0x080B, 0x0303, 0x0301]
        .map { SignatureScheme(rawValue: $0) }
}

extension HandshakeObservation {
    /// The server's own certificate; nil if it cannot be read.
    var leaf: CertificateFacts? { certificates.first.flatMap { try? CertificateFacts(decoding: $0) } }
}
