// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
package import Vocabulary

/// The releases, each as the changes that it made to the one before. Every value carries its citation.
enum ProfileTable {
    struct Release: Sendable {
        let number: ReleaseNumber
        let change: @Sendable (inout SystemFacts.Table) -> Void
    }

    static let iOS = releases([
        ("9", { _ in }), ("10", changes2016), ("11", { _ in }), ("12", { _ in }), ("12.2", tls13),
        ("13", certificateRules2019),
        ("14", release2020), ("14.5", suites2021), ("15", changes2021), ("16", { _ in }), ("17", addressRule),
        ("18", hello2024),
        ("26", stackMinimum), ("26.4", hardening), ("27", ownProcesses),
    ])

    static let macOS = releases([
        ("10.11", { _ in }), ("10.12", changes2016), ("10.13", hello2017), ("10.14", tls13),
        ("10.15", certificateRules2019),
        ("11", release2020), ("11.3", suites2021), ("12", changes2021), ("13", { _ in }), ("14", addressRule),
        ("15", hello2024),
        ("26", stackMinimum), ("26.4", hardening), ("27", ownProcesses),
    ])

    static func releases(of family: String, _ name: String, _ releases: [Release]) -> [OSProfile] {
        var facts = first
        return releases.map { release in
            release.change(&facts)
            let id = family + release.number.text
            return OSProfile(
                id: id, name: (id == "macos10.11" ? "OS X" : name) + " " + release.number.text,
                sdk: LinkedSDK(family: family, release.number), facts: SystemFacts(facts))
        }
    }

    private static func releases(_ list: [(String, @Sendable (inout SystemFacts.Table) -> Void)]) -> [Release] {
        list.compactMap { text, change in ReleaseNumber(text).map { Release(number: $0, change: change) } }
    }

    // MARK: - The first systems

    private static let first = SystemFacts.Table(
        obeysOnlyArbitraryLoads: Cited(true, .apple("NSAppTransportSecurity, versioning", read: "2026-11-21")),
        releaseMinimum: Cited(.tls10, .stackMinimum),
        releaseLocalRule: Cited(.nothing, .apple(ATSKey.localNetworking, read: "2026-11-21")),
        releaseReadsAddressKeys: Cited(false, .apple(ATSKey.exceptionDomains, read: "2026-11-21")),
        supportsTLS13Minimum: Cited(false, .apple(ATSKey.minimumTLSVersion, read: "2026-11-21")),
        supportsTLS13: Cited(false, .apple(ATSKey.minimumTLSVersion, read: "2026-11-21")),
        forwardSecretSuites: Cited(SuiteLists.first, .security("SecProtocolInternal.h, ATSv1")),
        rsaSuites: Cited(
            SuiteLists.rsaSix, .apple("Cocoa Keys: NSExceptionRequiresForwardSecrecy", read: "2026-11-21")),
        unrestrictedSuites: Cited(SuiteLists.offered2015, .capture("iOS 9 and OS X 10.11"), .inferred),
        hello: Cited(SystemHellos.of2015, .capture("iOS 9 and OS X 10.11"), .inferred),
        sendsAddressNames: Cited(
            true, .report("a maintainer of Apple's on 46899367; servers of rustls refuse it"), .inferred),
        transportSecurityRules: Cited(.transportSecurityUntil2019, .security("SecPolicy.c")),
        plainRules: Cited(
            .plainUntil2019, .apple("HT210176: what iOS 13 and macOS 10.15 began to ask", read: "2026-11-21")),
        forwardSecrecyOffDropsKeySize: Cited(true, .apple(ATSKey.forwardSecrecy, read: "2026-11-21")),
        readsLegacyKeys: Cited(
            true,
            .report(
                "Cocoa Keys until 2016-09-13 (NSThirdPartyException); facebook/react-native 8340 and 8358 on iOS 9 (NSTemporaryException)"
            )
        ),
        readsPins: Cited(false, .apple(ATSKey.pinnedDomains, read: "2026-11-21")),
        readsHardening: Cited(false, .apple(ATSKey.requiresNIAP, read: "2026-11-21")),
        hardensOwnProcesses: Cited(false, .ownProcesses),
        readsTransparencyKey: Cited(false, .apple(ATSKey.certificateTransparency, read: "2026-11-21")),
        requiresTransparency: Cited(false, .security("CertificateTransparency.m")),
        builtInExceptions: Cited([:], .security("SecProtocolConfiguration.m")))

    // MARK: - What each release changed

    private static let changes2016: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.unrestrictedSuites = Cited(SuiteLists.offered2016, .capture("iOS 10 and macOS 10.12"), .inferred)
        facts.hello = Cited(SystemHellos.of2016, .capture("iOS 10 and macOS 10.12"), .inferred)
        facts.readsLegacyKeys = Cited(
            false,
            .report(
                "Cocoa Keys until 2016-09-13 describes NSThirdPartyException keys without a last system, and iOS 9 obeyed NSTemporaryException keys (facebook/react-native 8340 and 8358)"
            ), .unknown)
        facts.obeysOnlyArbitraryLoads = Cited(false, .apple("NSAppTransportSecurity, versioning", read: "2026-11-21"))
        facts.releaseLocalRule = Cited(.namesAndAddresses, .apple(ATSKey.localNetworking, read: "2026-11-21"))
        facts.readsTransparencyKey = Cited(
            true, .apple("Cocoa Keys: NSRequiresCertificateTransparency", read: "2026-11-21"))
    }

    private static let hello2017: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.unrestrictedSuites = Cited(SuiteLists.offered2017, .capture("macOS 10.13.6"), .inferred)
        facts.hello = Cited(SystemHellos.of2017, .capture("macOS 10.13.6"), .inferred)
    }

    private static let tls13: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.unrestrictedSuites = Cited(SuiteLists.offered2018, .capture("iOS 12.2 and macOS 10.14.6"), .inferred)
        facts.hello = Cited(SystemHellos.of2018, .capture("iOS 12.2 and macOS 10.14.6"), .inferred)
        facts.supportsTLS13 = Cited(true, .apple("NSExceptionMinimumTLSVersion: TLSv1.3", read: "2026-11-21"))
        facts.supportsTLS13Minimum = Cited(
            false,
            .report(
                "rdar 50887327: blochberger, gist 8e98f768502283dccb245f7ca81a79f8; OWASP MASTG 0x06g, nscurl of macOS 10.14"
            ), .measured)
    }

    private static let certificateRules2019: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.transportSecurityRules = Cited(
            .transportSecuritySince2019, .apple("HT210176 and HT211025", read: "2026-11-21"))
        facts.plainRules = Cited(.plainSince2019, .apple("HT210176 and HT211025", read: "2026-11-21"))
        facts.sendsAddressNames = Cited(false, .report("a maintainer of Apple's on 46899367"), .inferred)
        facts.forwardSecrecyOffDropsKeySize = Cited(false, .security("SecPolicy.c, SecPolicyCreateSSL_internal"))
        facts.readsLegacyKeys = Cited(false, .security("SecProtocolConfiguration.m"))
        facts.requiresTransparency = Cited(true, .security("CertificateTransparency.m"))
        // Measured on macOS 11, where the key still counts; Apple's published evaluator does not read it.
        facts.readsTransparencyKey = Cited(
            true,
            .report(
                "blochberger/ats, tests/test_ats.py on macOS 11 (the key counts), against Apple's published evaluator (it does not)"
            ), .unknown)
        facts.forwardSecretSuites = Cited(SuiteLists.withChaCha, .security("60157.80.4: SecProtocolInternal.h"))
        facts.builtInExceptions = Cited(BuiltInExceptions.all, .security("SecProtocolConfiguration.m"))
    }

    private static let release2020: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.readsPins = Cited(true, .apple(ATSKey.pinnedDomains, read: "2026-11-21"))
        facts.supportsTLS13Minimum = Cited(true, .report("blochberger/ats, tests/test_ats.py on macOS 11"), .measured)
    }

    private static let changes2021: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.unrestrictedSuites = Cited(SuiteLists.offered2021, .capture("macOS 12.3.1"), .inferred)
        facts.hello = Cited(SystemHellos.of2021, .capture("macOS 12.3.1"), .inferred)
        facts.readsTransparencyKey = Cited(false, .apple(ATSKey.certificateTransparency, read: "2026-11-21"))
    }

    private static let hello2024: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.unrestrictedSuites = Cited(SuiteLists.offered2021, .capture("iOS 18.4 and macOS 15.4"), .inferred)
        facts.hello = Cited(SystemHellos.of2024, .capture("iOS 18.4 and macOS 15.4"), .inferred)
    }

    private static let stackMinimum: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.unrestrictedSuites = Cited(SuiteLists.offered2021, .capture("iOS 26.4 and macOS 26.4"), .inferred)
        facts.hello = Cited(
            SystemHellos.of2025,
            .report(
                "Safari's ClientHello of iOS 26.4 and macOS 26.4; support.apple.com/122756 on X25519MLKEM768 since 26"),
            .inferred)
        facts.releaseMinimum = Cited(.tls12, .stackMinimum)
    }

    private static let suites2021: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.forwardSecretSuites = Cited(SuiteLists.current, .security("SecProtocolInternal.h, ats group"))
        facts.rsaSuites = Cited(SuiteLists.rsaFour, .security("SecProtocolInternal.h, ats compatibility group"))
        facts.unrestrictedSuites = Cited(SuiteLists.offered2021, .security("SecProtocolInternal.h"), .inferred)
    }

    private static let addressRule: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.releaseLocalRule = Cited(
            .namesAndDirectAddresses, .apple("iOS 17 release notes, 101967030", read: "2026-11-21"))
        facts.releaseReadsAddressKeys = Cited(true, .apple(ATSKey.exceptionDomains, read: "2026-11-21"))
    }

    private static let hardening: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.readsHardening = Cited(true, .apple(ATSKey.requiresNIAP, read: "2026-11-21"))
    }

    private static let ownProcesses: @Sendable (inout SystemFacts.Table) -> Void = { facts in
        facts.hardensOwnProcesses = Cited(true, .ownProcesses)
    }

    /// The documents' suites and versions, with the certificate rules as documented today.
    static let published: OSProfile = {
        var facts = releases(of: "macos", "macOS", macOS).first { $0.id == "macos26" }?.facts.table ?? first
        // Documents say nothing of the network stack's own minimum.
        facts.releaseMinimum = Cited(.tls10, .apple(ATSKey.minimumTLSVersion, read: "2026-11-21"))
        facts.forwardSecretSuites = Cited(
            SuiteLists.published, .apple("Preventing Insecure Network Connections", read: "2026-11-21"))
        facts.rsaSuites = Cited(
            SuiteLists.rsaSix, .apple("Cocoa Keys: NSExceptionRequiresForwardSecrecy", read: "2026-11-21"))
        // No document lists what is offered if nothing is restricted.
        facts.unrestrictedSuites = Cited(SuiteLists.offered2018, .capture("iOS 12.2 and macOS 10.14.6"), .inferred)
        facts.transportSecurityRules = Cited(.documented, .apple("HT210176 and HT211025", read: "2026-11-21"))
        facts.plainRules = Cited(.documented, .apple("HT210176 and HT211025", read: "2026-11-21"))
        // The page of NSExceptionRequiresForwardSecrecy says that the check is dropped, HT210176 asks for the size in every certificate.
        facts.forwardSecrecyOffDropsKeySize = Cited(
            false, .apple("HT210176, against NSExceptionRequiresForwardSecrecy", read: "2026-11-21"))
        facts.readsHardening = Cited(true, .apple(ATSKey.requiresNIAP, read: "2026-11-21"))
        facts.hardensOwnProcesses = Cited(true, .ownProcesses)
        facts.builtInExceptions = Cited([:], .apple(ATSKey.exceptionDomains, read: "2026-11-21"))
        // Documents are linked on nothing.
        return OSProfile(id: "published", name: "the published documents", sdk: nil, facts: SystemFacts(facts))
    }()
}

extension Citation {
    /// The release notes on the default minimum version of URLSession and Network.
    package static let stackMinimum = apple(
        "iOS 26 and macOS 26 release notes, Security, 135996267", read: "2026-11-22")

    /// What Apple says of FCP_v2.1 in processes of the system.
    static let ownProcesses = Citation(
        source: "support.apple.com/126655; macOS 27 release notes, 176055825", read: "2026-11-22")

    /// A ClientHello of Safari that was captured and is published with its bytes.
    static func capture(_ systems: String) -> Citation {
        report("Safari's ClientHello of \(systems) (testssl.sh, etc/client-simulation.txt)")
    }

    /// A measurement or report of somebody else than Apple.
    static func report(_ source: String) -> Citation { Citation(source: source, read: "2026-11-22") }
}

/// The suite lists of the eras, in the client's order.
enum SuiteLists {
    /// Eleven: what the documents print.
    static let published = first.filter { $0 != .ecdheRSAWithAES256CBCSHA }

    /// Twelve: iOS 9 to 12. The documents leave ECDHE_RSA_WITH_AES_256_CBC_SHA out.
    static let first: [CipherSuite] = [
        .ecdheECDSAWithAES256GCMSHA384, .ecdheECDSAWithAES128GCMSHA256, .ecdheECDSAWithAES256CBCSHA384,
        .ecdheECDSAWithAES128CBCSHA256, .ecdheECDSAWithAES256CBCSHA, .ecdheECDSAWithAES128CBCSHA,
        .ecdheRSAWithAES256GCMSHA384, .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithAES256CBCSHA384,
        .ecdheRSAWithAES128CBCSHA256, .ecdheRSAWithAES256CBCSHA, .ecdheRSAWithAES128CBCSHA,
    ]

    /// The twelve and ChaCha20: the first published evaluator.
    static let withChaCha: [CipherSuite] = [
        .ecdheECDSAWithAES256GCMSHA384, .ecdheECDSAWithAES128GCMSHA256, .ecdheECDSAWithChaCha20Poly1305,
        .ecdheRSAWithAES256GCMSHA384, .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithChaCha20Poly1305,
        .ecdheECDSAWithAES256CBCSHA384, .ecdheECDSAWithAES128CBCSHA256, .ecdheECDSAWithAES256CBCSHA,
        .ecdheECDSAWithAES128CBCSHA,
        .ecdheRSAWithAES256CBCSHA384, .ecdheRSAWithAES128CBCSHA256, .ecdheRSAWithAES256CBCSHA,
        .ecdheRSAWithAES128CBCSHA,
    ]

    /// Ten: the CBC suites with SHA-256 and SHA-384 are gone.
    static let current: [CipherSuite] = [
        .ecdheECDSAWithAES256GCMSHA384, .ecdheECDSAWithAES128GCMSHA256, .ecdheECDSAWithChaCha20Poly1305,
        .ecdheRSAWithAES256GCMSHA384, .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithChaCha20Poly1305,
        .ecdheECDSAWithAES256CBCSHA, .ecdheECDSAWithAES128CBCSHA, .ecdheRSAWithAES256CBCSHA, .ecdheRSAWithAES128CBCSHA,
    ]

    static let rsaSix: [CipherSuite] = [
        .rsaWithAES256GCMSHA384, .rsaWithAES128GCMSHA256, .rsaWithAES256CBCSHA256, .rsaWithAES128CBCSHA256,
        .rsaWithAES256CBCSHA, .rsaWithAES128CBCSHA,
    ]

    static let rsaFour: [CipherSuite] = [
        .rsaWithAES256GCMSHA384, .rsaWithAES128GCMSHA256, .rsaWithAES256CBCSHA, .rsaWithAES128CBCSHA,
    ]

    static let tripleDES: [CipherSuite] = [.ecdheECDSAWith3DESCBCSHA, .ecdheRSAWith3DESCBCSHA, .rsaWith3DESCBCSHA]

    // What a hello offers if nothing restricts it, as captured.

    /// iOS 9: 3DES behind the AES suites of its kind, RC4 last.
    static let offered2015 =
        offered2016 + [
            .ecdheECDSAWithRC4128SHA, .ecdheRSAWithRC4128SHA, .rsaWithRC4128SHA, .rsaWithRC4128MD5,
        ]

    /// iOS 10: without RC4.
    static let offered2016: [CipherSuite] =
        [
            .ecdheECDSAWithAES256GCMSHA384, .ecdheECDSAWithAES128GCMSHA256, .ecdheECDSAWithAES256CBCSHA384,
            .ecdheECDSAWithAES128CBCSHA256, .ecdheECDSAWithAES256CBCSHA, .ecdheECDSAWithAES128CBCSHA,
            .ecdheECDSAWith3DESCBCSHA,
            .ecdheRSAWithAES256GCMSHA384, .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithAES256CBCSHA384,
            .ecdheRSAWithAES128CBCSHA256, .ecdheRSAWithAES256CBCSHA, .ecdheRSAWithAES128CBCSHA,
            .ecdheRSAWith3DESCBCSHA,
        ] + rsaSix + [.rsaWith3DESCBCSHA]

    /// macOS 10.13.6: with ChaCha20, and the only one without 3DES.
    static let offered2017: [CipherSuite] =
        [
            .ecdheECDSAWithAES256GCMSHA384, .ecdheECDSAWithAES128GCMSHA256, .ecdheECDSAWithAES256CBCSHA384,
            .ecdheECDSAWithAES128CBCSHA256, .ecdheECDSAWithAES256CBCSHA, .ecdheECDSAWithAES128CBCSHA,
            .ecdheECDSAWithChaCha20Poly1305,
            .ecdheRSAWithAES256GCMSHA384, .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithAES256CBCSHA384,
            .ecdheRSAWithAES128CBCSHA256, .ecdheRSAWithAES256CBCSHA, .ecdheRSAWithAES128CBCSHA,
            .ecdheRSAWithChaCha20Poly1305,
        ] + rsaSix

    /// iOS 12.2 and macOS 10.14.6.
    static let offered2018 = offered2017 + tripleDES

    /// macOS 12.3.1 and every capture since: without CBC with SHA-256 and SHA-384.
    static let offered2021 = current + rsaFour + tripleDES

    /// What hardening (FCP_v2.1) leaves of TLS 1.2: ECDHE with AES-GCM.
    static let hardened: Set<CipherSuite> = [
        .ecdheECDSAWithAES256GCMSHA384, .ecdheECDSAWithAES128GCMSHA256, .ecdheRSAWithAES256GCMSHA384,
        .ecdheRSAWithAES128GCMSHA256,
    ]
}

/// The entries that the system registers for Apple's own hosts.
enum BuiltInExceptions {
    static let all: [String: ExceptionEntry] = [
        "apple.com": entry(.tls12), "setup.icloud.com": entry(.tls12), "ls.apple.com": entry(.tls10),
        "gs.apple.com": entry(.tls10),
        "geo.apple.com": entry(.tls10), "is.autonavi.com": entry(.tls10), "apple-mapkit.com": entry(.tls10),
    ]

    private static func entry(_ version: TLSVersionName) -> ExceptionEntry {
        ExceptionEntry(
            includesSubdomains: true, allowsInsecureHTTPLoads: true, minimumTLSVersion: version,
            requiresForwardSecrecy: false)
    }
}
