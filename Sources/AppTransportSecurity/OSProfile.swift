// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel
package import Vocabulary

/// How something about a system is known, the surest first.
package enum Basis: String, Sendable, CaseIterable {
    /// Apple's documentation, release notes or published source of that release say so.
    case appleText = "Apple's text"
    /// A ClientHello of that release was captured.
    case captured
    /// A load on that release was measured against a server whose configuration is known.
    case measured
    /// It follows from what is known of another release.
    case inferred
    /// Sources contradict each other, or none says anything.
    case unknown
}

/// A value with the source that it was read from.
package struct Cited<Value: Sendable>: Sendable {
    package let value: Value
    package let citation: Citation
    package let basis: Basis

    package init(_ value: Value, _ citation: Citation, _ basis: Basis = .appleText) {
        self.value = value
        self.citation = citation
        self.basis = basis
    }
}

/// What sources say of one release, each fact with its source.
///
/// They are many, and judging hands systems on all the time, so a profile holds them by reference.
@dynamicMemberLookup
package final class SystemFacts: Sendable {
    /// Which hosts need no TLS because they are local.
    package enum LocalRule: String, Sendable {
        /// Nothing is local: iOS 9 and OS X 10.11.
        case nothing
        /// Unqualified names, `.local`, and every address: iOS 10 to 16.
        case namesAndAddresses
        /// Unqualified names, `.local`, and addresses of the local network: since iOS 17 and macOS 14.
        case namesAndDirectAddresses
    }

    /// The facts as values, of which each release changes some.
    package struct Table: Sendable {
        /// Whether NSAllowsArbitraryLoads is the only global key that is obeyed.
        package var obeysOnlyArbitraryLoads: Cited<Bool>
        /// The default minimum version of the system's network stack, for apps linked on the SDK of the release or a later one.
        package var releaseMinimum: Cited<TLSVersion>
        /// Which hosts count as local, for the same apps.
        package var releaseLocalRule: Cited<LocalRule>
        /// Whether exception keys may be addresses and CIDR ranges, for the same apps.
        package var releaseReadsAddressKeys: Cited<Bool>
        /// Whether loads succeed at all with a minimum of TLS 1.3, and whether sources agree on it.
        package var supportsTLS13Minimum: Cited<Bool>
        /// Whether the system's client offers TLS 1.3.
        package var supportsTLS13: Cited<Bool>
        /// TLS 1.2 suites of ATS, most wanted first.
        package var forwardSecretSuites: Cited<[CipherSuite]>
        /// What NSExceptionRequiresForwardSecrecy = NO adds.
        package var rsaSuites: Cited<[CipherSuite]>
        /// What the system offers where ATS restricts nothing, TLS 1.3 apart, in the order of the hello. The suites of ATS are among them.
        package var unrestrictedSuites: Cited<[CipherSuite]>
        /// Everything else of the hello.
        package var hello: Cited<SystemHello>
        /// Whether the hello to an address names the address as the server.
        package var sendsAddressNames: Cited<Bool>
        /// What ATS asks of certificates.
        package var transportSecurityRules: Cited<CertificateRules>
        /// What plain trust evaluation asks of certificates.
        package var plainRules: Cited<CertificateRules>
        /// Whether switching forward secrecy off also drops the key-size check.
        package var forwardSecrecyOffDropsKeySize: Cited<Bool>
        /// Whether the keys of 2015 (`NSThirdPartyException...`, `NSTemporaryException...`) are obeyed.
        package var readsLegacyKeys: Cited<Bool>
        /// Whether `NSPinnedDomains` has an effect.
        package var readsPins: Cited<Bool>
        /// Whether the hardening key has an effect.
        package var readsHardening: Cited<Bool>
        /// Whether the system's own processes (MDM, enrollment, app installation, software update) load with FCP_v2.1, which no key changes.
        package var hardensOwnProcesses: Cited<Bool>
        /// Whether NSRequiresCertificateTransparency of an entry is obeyed.
        package var readsTransparencyKey: Cited<Bool>
        /// Whether Certificate Transparency is required of every chain to a system root.
        package var requiresTransparency: Cited<Bool>
        /// Entries that the system registers itself; an app's own entry for the same key replaces one.
        package var builtInExceptions: Cited<[String: ExceptionEntry]>
    }

    package let table: Table
    /// What hellos offer under each policy, TLS 1.3 first, made once: every judgement of a target asks for it.
    private let offers: [TransportRequirements.SuitePolicy: [CipherSuite]]

    init(_ table: Table) {
        self.table = table
        let (secret, rsa) = (table.forwardSecretSuites.value, table.rsaSuites.value)
        let all = table.unrestrictedSuites.value
        offers = [
            .ats: all.filter(secret.contains), .atsPlusRSA: all.filter { secret.contains($0) || rsa.contains($0) },
            .system: all,
        ].mapValues { table.hello.value.tls13Suites + $0 }
    }

    /// The suites of the hello, in its order.
    func suites(_ policy: TransportRequirements.SuitePolicy, isHardened: Bool) -> [CipherSuite] {
        let suites = offers[policy] ?? []
        return isHardened ? suites.filter { $0.keyExchange == .tls13 || SuiteLists.hardened.contains($0) } : suites
    }

    package subscript<Fact>(dynamicMember fact: KeyPath<Table, Fact>) -> Fact { table[keyPath: fact] }
}

/// What one release of an operating system does with ATS, for an app that is linked on one SDK: data, so that a difference between systems
/// is a value in a table.
public struct OSProfile: Sendable, Identifiable {
    /// As on the command line, for example `ios12.2`, `macos26`, `published`.
    public var id: String
    /// For people: `macOS 26`.
    public var name: String
    /// The SDK that the app is linked on, the release's own unless ``linked(on:)`` says another; nil for `published`, which has none.
    public internal(set) var sdk: LinkedSDK?
    /// Whether the release is older than App Transport Security.
    package internal(set) var isBeforeTransportSecurity = false
    package var isMac: Bool { id.hasPrefix("macos") }
    /// Everything else that sources say of it.
    package let facts: SystemFacts

    /// Whether the system has App Transport Security for the app at all; where it has not, the dictionary is ignored and nothing else here counts.
    package var hasTransportSecurity: Bool { !isBeforeTransportSecurity && sdk?.isBeforeTransportSecurity != true }

    /// Everything that TLS may negotiate where ATS restricts nothing, TLS 1.3 first.
    package var systemSuites: [CipherSuite] { tls13Suites + facts.unrestrictedSuites.value }

    /// The TLS 1.3 suites; empty on systems without TLS 1.3.
    package var tls13Suites: [CipherSuite] { facts.hello.value.tls13Suites }

    package var localRule: Cited<SystemFacts.LocalRule> {
        isLinked(before: .addressRule) && facts.releaseLocalRule.value == .namesAndDirectAddresses
            ? Cited(.namesAndAddresses, facts.releaseLocalRule.citation, .inferred) : facts.releaseLocalRule
    }

    /// Whether exception keys may be addresses and CIDR ranges.
    package var readsAddressKeys: Cited<Bool> {
        isLinked(before: .addressRule) && facts.releaseReadsAddressKeys.value
            ? Cited(false, facts.releaseReadsAddressKeys.citation, .inferred) : facts.releaseReadsAddressKeys
    }

    /// What decides whether exception keys may be addresses, for people: the release, or the SDK where a release that reads them does not for
    /// this app.
    var addressKeysDecider: String {
        guard facts.releaseReadsAddressKeys.value, !readsAddressKeys.value, let sdk else { return name }
        return "an app linked on SDK \(sdk)"
    }

    /// The oldest version that the system's network stack speaks for the app, whatever its dictionary says.
    ///
    /// TLS 1.2 if both the system and the SDK are 26 or later. Code of the app can lower it again
    /// (`URLSessionConfiguration.tlsMinimumSupportedProtocolVersion`), a dictionary cannot.
    package var stackMinimum: Cited<TLSVersion> {
        isLinked(before: .stackMinimum) && facts.releaseMinimum.value > .tls10
            ? Cited(.tls10, facts.releaseMinimum.citation, .inferred) : facts.releaseMinimum
    }

    /// The same system with an app that is linked on another SDK. A profile without an SDK stays as it is.
    public func linked(on sdk: LinkedSDK) -> OSProfile {
        var profile = self
        if profile.sdk != nil { profile.sdk = sdk }
        return profile
    }

    /// The id for people, with the SDK if it is not the release's own.
    package var shownID: String {
        guard let sdk, let own = OSProfile.named(id)?.sdk, sdk != own else { return id }
        return "\(id), linked on \(sdk)"
    }

    /// The name for people, with the SDK if it is not the release's own.
    package var shownName: String { name + shownID.dropFirst(id.count) }

    private func isLinked(before first: LinkedSDK?) -> Bool {
        guard let sdk, let first else { return false }
        return sdk < first
    }

    /// What is known of a minimum of TLS 1.3 if the system speaks it and no load with that minimum succeeds.
    var disputedMinimum: String {
        "With NSExceptionMinimumTLSVersion = TLSv1.3 loads failed on \(name), as measured there; another report says that the key has no "
            + "effect. It works since macOS 11.0.1 and iOS 14."
    }

    package var maximumVersion: TLSVersion { facts.supportsTLS13.value ? .tls13 : .tls12 }

    /// Groups for the key exchange, in the order of the client's preference.
    package var groups: [NamedGroup] { facts.hello.value.groups }

    /// What the system's client puts into signature_algorithms, in its order.
    package var signatureSchemes: [SignatureScheme] { facts.hello.value.signatureSchemes }
}

extension OSProfile {
    /// The default of every command.
    public static let standard = named("macos26") ?? ProfileTable.published

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

extension LinkedSDK {
    /// Whether App Transport Security is off in the apps of this SDK: it is on from that of iOS 9 and OS X 10.11.
    package var isBeforeTransportSecurity: Bool { number < 9 }
    /// The first SDK whose apps do not speak TLS 1.0 and 1.1 on the systems of its year and later: iOS and macOS 26 release notes, 135996267.
    package static let stackMinimum = LinkedSDK(number: 26)
    /// The first SDK whose apps have addresses judged like names: iOS 17 release notes, 101967030.
    package static let addressRule = LinkedSDK(number: 17)

    init?(family: String, _ release: ReleaseNumber) {
        self.init(family == "macos" ? .macOS : .iOS, major: release.major, minor: release.minor)
    }
}
