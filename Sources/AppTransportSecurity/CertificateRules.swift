// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import TLSModel

/// What trust evaluation asks of certificates, as data: one value for ATS, one for plain trust, in each OS profile.
package struct CertificateRules: Sendable {
    /// A ceiling on the validity of the leaf.
    package struct Ceiling: Sendable {
        package let anchors: Set<AnchorKind>
        /// Leaves whose notBefore is at or after this instant.
        package let issuedFrom: Date
        /// The most days from notBefore to notAfter.
        package let days: Int
        /// Seconds that a certificate may be longer.
        package let slack: TimeInterval
    }

    /// When a leaf must have the serverAuth purpose.
    package struct PurposeRule: Sendable {
        package let anchors: Set<AnchorKind>
        /// Leaves whose notBefore is at or after this instant.
        package let issuedFrom: Date
    }

    /// Nil if the size is not judged.
    package let minimumRSABits: Int?
    /// The least size of an elliptic curve key, in bits; nil if it is not judged.
    package let minimumCurveBits: Int?
    /// Hashes that no signature below the anchor may use.
    package let forbiddenHashes: Set<SignatureFacts.Hash>
    /// Whether the name must stand in subjectAltName; otherwise a common name will do if there is none.
    package let requiresAlternativeName: Bool
    /// When the leaf must be for serverAuth.
    package let purposeRules: [PurposeRule]
    /// The anchors below which the extended key usage of an intermediate must name servers, if it has one. Apple's trust evaluation on macOS
    /// 11 took an intermediate for emailProtection below a root that a user had installed.
    package let limitsAuthorities: Set<AnchorKind>
    /// The most that a leaf may be valid, for each kind of anchor and date of issue.
    package let ceilings: [Ceiling]
    /// Whether no ceiling holds for a leaf that the user trusts itself.
    package let exemptsTrustedLeaves: Bool
}

extension CertificateRules {
    /// The most days of a leaf that is issued today; nil if there is no limit.
    package func mostDays(below kind: AnchorKind) -> Int? {
        ceilings.filter { $0.anchors.contains(kind) }.map(\.days).min()
    }

    /// Systems before iOS 13 and macOS 10.15, outside ATS: path, dates and name, and nothing about strength.
    static let plainUntil2019 = CertificateRules(
        minimumRSABits: nil, minimumCurveBits: nil, forbiddenHashes: [.md2, .md4], requiresAlternativeName: false,
        purposeRules: [], limitsAuthorities: [.system], ceilings: [], exemptsTrustedLeaves: false)

    /// ATS on those systems. Source: SecPolicy.c, SecPolicyCreateAppleAppTransportSecurity.
    static let transportSecurityUntil2019 = CertificateRules(
        minimumRSABits: 2048, minimumCurveBits: 256, forbiddenHashes: [.md2, .md4, .md5, .sha1, .sha224],
        requiresAlternativeName: false, purposeRules: [], limitsAuthorities: [.system], ceilings: [],
        exemptsTrustedLeaves: false)

    /// Systems from iOS 13 and macOS 10.15 on, outside ATS. Source: SecPolicy.c, SecPolicyCreateSSL; HT210176, HT211025.
    static let plainSince2019 = CertificateRules(
        minimumRSABits: 2048, minimumCurveBits: 256, forbiddenHashes: [.md2, .md4, .md5, .sha1],
        requiresAlternativeName: true, purposeRules: modernPurposes,
        limitsAuthorities: [.system], ceilings: modernCeilings, exemptsTrustedLeaves: true)

    /// ATS on those systems: SHA-224 is refused too.
    static let transportSecuritySince2019 = CertificateRules(
        minimumRSABits: 2048, minimumCurveBits: 256, forbiddenHashes: [.md2, .md4, .md5, .sha1, .sha224],
        requiresAlternativeName: true, purposeRules: modernPurposes,
        limitsAuthorities: [.system], ceilings: modernCeilings, exemptsTrustedLeaves: true)

    /// The rules as the documents state them today, for every anchor.
    static let documented = CertificateRules(
        minimumRSABits: 2048, minimumCurveBits: 256, forbiddenHashes: [.md2, .md4, .md5, .sha1, .sha224],
        requiresAlternativeName: true,
        purposeRules: [PurposeRule(anchors: [.system, .installed, .app], issuedFrom: july2019)],
        limitsAuthorities: [.system, .installed, .app], ceilings: modernCeilings, exemptsTrustedLeaves: false)

    /// Roots that a user or an administrator installed are exempt, anchors of the app are not. Source: SecPolicyServer.c; SSLPolicyTests.
    private static let modernPurposes = [
        PurposeRule(anchors: [.system], issuedFrom: .distantPast), PurposeRule(anchors: [.app], issuedFrom: july2019),
    ]

    /// 825 days for all, 398 for the roots that come with the system. Source: HT210176, HT211025, SecPolicyServer.c.
    private static let modernCeilings = [
        Ceiling(anchors: [.system], issuedFrom: september2020, days: 398, slack: 0),
        Ceiling(anchors: [.system], issuedFrom: march2018, days: 825, slack: 3600),
        Ceiling(anchors: [.installed, .app], issuedFrom: july2019, days: 825, slack: 3600),
    ]

    /// 2018-03-01, 2019-07-01 and 2020-09-01 at 00:00 UTC.
    private static let march2018 = Date(timeIntervalSince1970: 1_519_862_400)
    private static let july2019 = Date(timeIntervalSince1970: 1_561_939_200)
    private static let september2020 = Date(timeIntervalSince1970: 1_598_918_400)
}
