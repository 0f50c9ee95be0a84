// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings
public import TLSFacts

/// A value with the source that it was read from.
public struct Cited<Value: Sendable>: Sendable {
    /// What holds.
    public let value: Value
    /// Where that is written.
    public let citation: Citation

    /// A value with its source.
    public init(_ value: Value, _ citation: Citation) {
        self.value = value
        self.citation = citation
    }
}

/// What one release of an operating system does with ATS: data, so that a difference between systems is a value in a table.
public struct OSProfile: Sendable, Identifiable {
    /// Which hosts need no TLS because they are local.
    public enum LocalRule: String, Sendable {
        /// Nothing is local: iOS 9 and OS X 10.11.
        case nothing
        /// Unqualified names, `.local`, and every address: iOS 10 to 16.
        case namesAndAddresses
        /// Unqualified names, `.local`, and addresses of the local network: since iOS 17 and macOS 14.
        case namesAndDirectAddresses
    }

    /// As on the command line, for example `ios12.2`, `macos26`, `published`.
    public var id: String
    /// For people: `macOS 26`.
    public var name: String
    /// Whether NSAllowsArbitraryLoads is the only global key that is obeyed.
    public var obeysOnlyArbitraryLoads: Cited<Bool>
    /// Which hosts count as local.
    public var localRule: Cited<LocalRule>
    /// Whether exception keys may be addresses and CIDR ranges.
    public var readsAddressKeys: Cited<Bool>
    /// Whether the system's client offers TLS 1.3.
    public var supportsTLS13: Cited<Bool>
    /// TLS 1.2 suites of ATS, most wanted first.
    public var forwardSecretSuites: Cited<[CipherSuite]>
    /// What NSExceptionRequiresForwardSecrecy = NO adds.
    public var rsaSuites: Cited<[CipherSuite]>
    /// What the system offers where ATS restricts nothing, TLS 1.3 apart.
    public var unrestrictedSuites: Cited<[CipherSuite]>
    /// What ATS asks of certificates.
    public var transportSecurityRules: Cited<CertificateRules>
    /// What plain trust evaluation asks of certificates.
    public var plainRules: Cited<CertificateRules>
    /// Whether switching forward secrecy off also drops the key-size check.
    public var forwardSecrecyOffDropsKeySize: Cited<Bool>
    /// Whether `NSPinnedDomains` has an effect.
    public var readsPins: Cited<Bool>
    /// Whether the hardening key has an effect.
    public var readsHardening: Cited<Bool>
    /// Whether NSRequiresCertificateTransparency of an entry is obeyed.
    public var readsTransparencyKey: Cited<Bool>
    /// Whether Certificate Transparency is required of every chain to a system root.
    public var requiresTransparency: Cited<Bool>
    /// Entries that the system registers itself; an app's own entry for the same key replaces one.
    public var builtInExceptions: Cited<[String: ExceptionEntry]>
    /// Where sources disagree about this system, and what was done.
    public var disagreements: [Cause]

    /// Everything that TLS may negotiate where ATS restricts nothing, TLS 1.3 first.
    public var systemSuites: [CipherSuite] { tls13Suites + unrestrictedSuites.value }

    /// The TLS 1.3 suites; empty on systems without TLS 1.3.
    public var tls13Suites: [CipherSuite] {
        supportsTLS13.value ? [.aes128GCMSHA256, .aes256GCMSHA384, .chacha20Poly1305SHA256] : []
    }

    /// The newest version that the system speaks.
    public var maximumVersion: TLSVersion { supportsTLS13.value ? .tls13 : .tls12 }

    /// Groups for the key exchange, in the order of the client's preference.
    public var groups: [NamedGroup] { [.x25519, .secp256r1, .secp384r1, .secp521r1] }

    /// What the system's client puts into signature_algorithms, in its order.
    public var signatureSchemes: [SignatureScheme] {
        [
            .ecdsaSECP256R1SHA256, .rsaPSSSHA256, .rsaPKCS1SHA256, .ecdsaSECP384R1SHA384, .rsaPSSSHA384,
            .rsaPKCS1SHA384,
            .ecdsaSECP521R1SHA512, .rsaPSSSHA512, .rsaPKCS1SHA512, .ecdsaSHA1, .rsaPKCS1SHA1,
        ]
    }
}

extension OSProfile {
    /// The default of every command.
    public static let standard = named("macos26") ?? all[0]

    /// Every profile, oldest first, iOS before macOS, `published` last.
    public static let all: [OSProfile] =
        ProfileTable.releases(of: "ios", "iOS", ProfileTable.iOS)
        + ProfileTable.releases(of: "macos", "macOS", ProfileTable.macOS)
        + [ProfileTable.published]

    /// The profile with this id. A minor release between two listed ones is the last one listed before it: `ios17.4` is iOS 17.
    public static func named(_ id: String) -> OSProfile? {
        let id = id.lowercased()
        if let exact = all.first(where: { $0.id == id }) { return exact }
        for (family, releases) in [("ios", ProfileTable.iOS), ("macos", ProfileTable.macOS)] where id.hasPrefix(family)
        {
            guard let wanted = ReleaseNumber(id.dropFirst(family.count)) else { return nil }
            let isKnown = releases.contains { $0.number.sameRelease(as: wanted, family: family) }
            guard isKnown, let match = releases.last(where: { $0.number <= wanted }) else { return nil }
            var profile = all.first { $0.id == family + match.number.text }
            profile?.id = id
            profile?.name = (family == "ios" ? "iOS " : "macOS ") + wanted.text
            return profile
        }
        return nil
    }
}

/// The number of a release: `12.2`, `10.15`, `26`.
struct ReleaseNumber: Comparable, Sendable {
    let major: Int
    let minor: Int
    let text: String

    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count), parts.allSatisfy({ (1...3).contains($0.utf8.count) }),
            let major = parts.first.flatMap({ Int($0) }), major >= 0
        else { return nil }
        let minor = parts.count > 1 ? Int(parts[1]) : 0
        guard let minor, minor >= 0 else { return nil }
        self.major = major
        self.minor = minor
        self.text = String(text)
    }

    static func < (left: ReleaseNumber, right: ReleaseNumber) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }

    static func == (left: ReleaseNumber, right: ReleaseNumber) -> Bool {
        (left.major, left.minor) == (right.major, right.minor)
    }

    /// Whether both belong to one yearly release: the major number, and for macOS 10 the second number.
    func sameRelease(as other: ReleaseNumber, family: String) -> Bool {
        major == other.major && (family != "macos" || major != 10 || minor == other.minor)
    }
}
