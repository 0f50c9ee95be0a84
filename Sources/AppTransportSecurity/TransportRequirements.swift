// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import TLSModel
import Vocabulary

/// What one connection to one host must meet: the output of the policy and the input of ``evaluate(_:_:host:at:logs:)``.
public struct TransportRequirements: Sendable {
    package enum SuitePolicy: String, Sendable {
        /// The forward-secret suites of ATS.
        case ats
        /// Those and the RSA key exchange.
        case atsPlusRSA = "ats+rsa"
        /// Whatever the system offers.
        case system
    }

    /// Which rules certificates are judged by.
    public enum ServerTrust: String, Sendable {
        /// Trust evaluation with the additional rules of ATS.
        case ats
        /// Plain trust evaluation.
        case `default`
    }

    /// The minimum that ATS sets; nil if it sets none.
    package let minimumTLS: TLSVersion?
    package let suitePolicy: SuitePolicy
    /// Which rules certificates are judged by.
    public let serverTrust: ServerTrust
    /// Whether app code may accept a certificate that trust evaluation refused.
    package let delegateMayAccept: Bool
    /// Whether key sizes are judged even if the rules name sizes: off where forward secrecy is off on old systems.
    package let judgesKeySize: Bool
    /// What `NSPinnedDomains` asks of this host; nil if no entry covers it.
    package let pins: PinSet?
    /// NIAP hardening: fewer suites, no SHA-1 signatures, extended master secret required.
    public let isHardened: Bool
    /// Whether signed certificate timestamps are required of this host by an entry of the dictionary.
    package private(set) var entryRequiresTransparency: Bool
    package let isToAddress: Bool
    package let profile: OSProfile

    package init(
        minimumTLS: TLSVersion?, suitePolicy: SuitePolicy, serverTrust: ServerTrust, delegateMayAccept: Bool,
        judgesKeySize: Bool = true, pins: PinSet? = nil, isHardened: Bool = false,
        entryRequiresTransparency: Bool = false, isToAddress: Bool = false, profile: OSProfile
    ) {
        self.minimumTLS = minimumTLS
        self.suitePolicy = suitePolicy
        self.serverTrust = serverTrust
        self.delegateMayAccept = delegateMayAccept
        self.judgesKeySize = judgesKeySize
        self.pins = pins
        self.isHardened = isHardened
        self.entryRequiresTransparency = entryRequiresTransparency
        self.isToAddress = isToAddress
        self.profile = profile
    }

    /// Where sources contradict each other about a requirement of the dictionary: what they are; else empty.
    package var disputedSources: [String] {
        let key = profile.facts.readsTransparencyKey
        guard entryRequiresTransparency, key.basis == .unknown else { return [] }
        return [key.citation.source, Citation.security("SecProtocolConfiguration.m").source]
    }

    /// The same without Certificate Transparency, for whoever cannot see all timestamps.
    package var withoutTransparency: TransportRequirements {
        var requirements = self
        requirements.entryRequiresTransparency = false
        return requirements
    }

    /// The oldest version that may be negotiated: ATS's minimum, or that of the system's network stack, whichever is newer.
    public var effectiveMinimum: TLSVersion { max(policyMinimum, profile.stackMinimum.value) }

    /// What the dictionary alone would let be negotiated.
    package var policyMinimum: TLSVersion { minimumTLS ?? .tls10 }

    package var maximum: TLSVersion { profile.maximumVersion }

    /// What a hello offers in the order of the system's client, TLS 1.3 suites first; suites that no allowed version can use are left out.
    public var suites: [CipherSuite] {
        guard effectiveMinimum < .tls13 else { return profile.tls13Suites }
        return profile.facts.suites(suitePolicy, isHardened: isHardened)
    }

    package var groups: [NamedGroup] { profile.groups }

    package var keyShareGroups: [NamedGroup] { profile.facts.hello.value.keyShareGroups }

    package var helloLayout: HelloLayout {
        var layout = profile.facts.hello.value.layout
        layout.sendsAddresses = isToAddress && profile.facts.sendsAddressNames.value
        return layout
    }

    /// What the system's client offers as signature_algorithms.
    package var signatureSchemes: [SignatureScheme] {
        isHardened
            ? profile.signatureSchemes.filter { $0 != .rsaPKCS1SHA1 && $0 != .ecdsaSHA1 } : profile.signatureSchemes
    }

    package var certificateRules: Cited<CertificateRules> {
        serverTrust == .ats ? profile.facts.transportSecurityRules : profile.facts.plainRules
    }
}
