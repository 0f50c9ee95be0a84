// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import NIOCore
package import TLSModel
package import TLSProbe

/// A hello that offers more than any system does: what a server that refuses every other one answers to it tells why.
///
/// `check`, the client and the proxy all ask it here, so that they name one reason.
package enum WidestHello {
    /// What a system offers, as far as the answer depends on it.
    package struct Baseline: Hashable, Sendable {
        let maximum: TLSVersion
        let groups: [NamedGroup]

        /// - Parameters:
        ///   - maximum: the newest version of the system that was refused.
        ///   - groups: those of its hello.
        package init(maximum: TLSVersion, groups: [NamedGroup]) {
            self.maximum = maximum
            self.groups = groups
        }

        /// What to ask, in this order. The system's own groups come first: a server that prefers another one would hide the true reason.
        /// A server whose only group the system lacks answers the second, before TLS 1.2 lets it do without one; one with a key that
        /// TLS 1.3 does not know, or that speaks nothing but TLS 1.3 to an old system, answers the third.
        fileprivate var hellos: [(version: TLSVersion, groups: [NamedGroup])] {
            let (newest, other) = maximum >= .tls13 ? (TLSVersion.tls13, TLSVersion.tls12) : (.tls12, .tls13)
            let every = groups + NamedGroup.registered.filter { !groups.contains($0) }
            return [(newest, groups), (newest, every), (other, every)]
        }
    }

    /// At most three hellos, with every suite, group and signature scheme that has a name here.
    ///
    /// - Parameter timeout: for all together.
    package static func ask(
        _ prober: Prober, _ addresses: [SocketAddress], serverName: String, beyond baseline: Baseline, timeout: Duration
    ) async -> HandshakeObservation? {
        let end = ContinuousClock.now + timeout
        for hello in baseline.hellos {
            let left = TargetDeadline.remaining(atMost: end - .now)
            guard left > .zero, !Task.isCancelled else { return nil }
            var offer = HelloOffer(
                minimumVersion: .tls10, maximumVersion: hello.version, suites: everySuite, groups: hello.groups,
                signatureSchemes: HelloOffer.commonSignatureSchemes + rareSchemes,
                serverName: IPAddress(serverName) == nil ? serverName : nil)
            // The post-quantum groups have no share in this hello, which stays small: a server that insists on one asks for it.
            offer.learnsForeignGroups = true
            let end = await prober.attempt(offer, addresses: addresses, connectTimeout: left, timeout: left)
            switch end.outcome {
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

    /// EdDSA, RSASSA-PSS keys, brainpool curves in TLS 1.3, ML-DSA, and ECDSA and RSA with SHA-224: RFC 8446 section 4.2.3, RFC 8734,
    /// RFC 5246 section 7.4.1.4.1.
    private static let rareSchemes: [SignatureScheme] =
        [.ed25519, .ed448] + SignatureScheme.rsaPSSKeys + SignatureScheme.brainpoolTLS13 + SignatureScheme.mlDSA
        + SignatureScheme.sha224
}

extension HandshakeObservation {
    /// The server's own certificate; nil if it cannot be read.
    var leaf: CertificateFacts? { certificates.first.flatMap { try? CertificateFacts(decoding: $0) } }
}
