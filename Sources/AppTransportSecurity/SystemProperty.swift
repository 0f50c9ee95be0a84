// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TLSModel
import Vocabulary

/// A property of an ``OSProfile``, for tables and pages. Its name is that in JSON, its raw value the
/// title on pages.
package enum SystemProperty: String, Sendable, CaseIterable {
    case stackMinimum = "Oldest TLS version of the network stack, for apps linked on the release's own SDK"
    case stackMinimumOfOlderApps = "The same for apps that are linked on SDK 18 or earlier"
    case newestVersion = "Newest TLS version"
    case tls13Minimum = "Loads succeed with a minimum of TLSv1.3"
    case globalKeys = "Global keys that count"
    case localHosts = "Hosts that count as local, for apps linked on the release's own SDK"
    case localHostsOfOlderApps = "The same for apps that are linked on SDK 16 or earlier"
    case addressKeys = "Addresses and ranges as keys of NSExceptionDomains"
    case forwardSecretSuites = "Suites of ATS up to TLS 1.2"
    case rsaSuites = "Suites that NSExceptionRequiresForwardSecrecy = NO adds"
    case unrestrictedSuites = "Suites up to TLS 1.2 if ATS restricts nothing"
    case hello = "The rest of the ClientHello"
    case addressNames = "server_name with the address if the host is an address"
    case transportSecurityRules = "Certificates under ATS"
    case plainRules = "Certificates outside ATS"
    case keySizeWithoutForwardSecrecy = "Key sizes are judged without forward secrecy too"
    case legacyKeys = "Keys of 2015 (NSThirdPartyException..., NSTemporaryException...)"
    case pins
    case hardening
    case ownProcesses = "FCP_v2.1 in the system's own processes (MDM, enrollment, app installation, software update)"
    case transparencyKey = "NSRequiresCertificateTransparency of an entry"
    case transparency = "Certificate Transparency for roots of the system"
    case builtInExceptions = "Entries that the system registers itself"
    case installedRoots = "A root that a user installs"
    case cutHandshake = "A reset or close during the handshake, as the app gets it"
    case clientCertificateRequest = "Status 403 of a server that only asks for a client certificate"
    case timestampList = "A list of timestamps in the handshake that is empty or malformed"
    case topLevelWildcard = "A wildcard below a top-level name beside the right name"

    package var title: String {
        switch self {
        case .pins: ATSKey.pinnedDomains
        case .hardening: ATSKey.requiresNIAP
        default: rawValue
        }
    }

    /// What holds on a system, in a few words, with source and basis as the table has them.
    func fact(_ profile: OSProfile) -> (words: String, citation: Citation, basis: Basis) {
        func say<Value>(_ cited: Cited<Value>, _ words: (Value) -> String) -> (String, Citation, Basis) {
            (words(cited.value), cited.citation, cited.basis)
        }
        func older(than number: Int) -> OSProfile {
            LinkedSDK(number: number).map { sdk in profile.sdk.map { min($0, sdk) } ?? sdk }.map(profile.linked)
                ?? profile
        }
        func yes(_ flag: Bool) -> String { flag ? "yes" : "no" }
        func obeyed(_ flag: Bool) -> String { flag ? "obeyed" : "not read" }
        return switch self {
        case .stackMinimum: say(profile.stackMinimum, \.description)
        case .stackMinimumOfOlderApps: say(older(than: 18).stackMinimum, \.description)
        case .newestVersion: say(profile.facts.supportsTLS13) { _ in profile.maximumVersion.description }
        case .tls13Minimum:
            say(profile.facts.supportsTLS13Minimum) { value in
                profile.facts.supportsTLS13.value ? yes(value) : "the minimum stays TLSv1.2"
            }
        case .globalKeys:
            say(profile.facts.obeysOnlyArbitraryLoads) { $0 ? "NSAllowsArbitraryLoads alone" : "all four" }
        case .localHosts: say(profile.localRule, \.words)
        case .localHostsOfOlderApps: say(older(than: 16).localRule, \.words)
        case .addressKeys: say(profile.readsAddressKeys, obeyed)
        case .forwardSecretSuites: say(profile.facts.forwardSecretSuites) { "\($0.count)" }
        case .rsaSuites: say(profile.facts.rsaSuites) { "\($0.count)" }
        case .unrestrictedSuites: say(profile.facts.unrestrictedSuites) { "\($0.count)" }
        case .hello: say(profile.facts.hello, \.words)
        case .addressNames: say(profile.facts.sendsAddressNames) { $0 ? "sent" : "not sent" }
        case .transportSecurityRules: say(profile.facts.transportSecurityRules, \.words)
        case .plainRules: say(profile.facts.plainRules, \.words)
        case .keySizeWithoutForwardSecrecy: say(profile.facts.forwardSecrecyOffDropsKeySize) { yes(!$0) }
        case .legacyKeys:
            profile.legacyKeySources.isEmpty
                ? say(profile.facts.readsLegacyKeys, obeyed)
                : (
                    "obeyed or not read",
                    .report(profile.legacyKeySources.joined(separator: ", against ")), .unknown
                )
        case .pins: say(profile.facts.readsPins, obeyed)
        case .hardening: say(profile.facts.readsHardening, obeyed)
        case .ownProcesses: say(profile.facts.hardensOwnProcesses) { $0 ? "required" : "not required" }
        case .transparencyKey: say(profile.facts.readsTransparencyKey, obeyed)
        case .transparency: say(profile.facts.requiresTransparency) { $0 ? "required" : "not required" }
        case .builtInExceptions: say(profile.facts.builtInExceptions) { $0.isEmpty ? "none" : "\($0.count)" }
        case .installedRoots: (Self.installedRoots(profile), .apple("HT204477", read: "2026-11-26"), .appleText)
        case .cutHandshake: (URLLoadError.connection(.reset).number, .cutHandshake, .inferred)
        case .clientCertificateRequest:
            (URLLoadError.clientCertificateRequired(host: "").number, .certificateRequest, .inferred)
        case .timestampList: ("the handshake ends", .timestampList, .inferred)
        case .topLevelWildcard: ("one report of a refusal, which is a note and no verdict", .wildcard, .inferred)
        }
    }
}

extension SystemProperty {
    private static func installedRoots(_ profile: OSProfile) -> String {
        switch profile.id {
        case _ where profile.isMac: "trusted if the keychain says so"
        case "ios9": "trusted as soon as it is installed"
        case "ios10": "since 10.3 trusted only when it is switched on in the settings"
        default: "trusted only when it is switched on in the settings"
        }
    }
}

extension SystemFacts.LocalRule {
    fileprivate var words: String {
        switch self {
        case .nothing: "none"
        case .namesAndAddresses: "unqualified names, .local, every address"
        case .namesAndDirectAddresses: "unqualified names, .local, addresses of the local network (not 100.64.0.0/10)"
        }
    }
}

extension CertificateRules {
    fileprivate var words: String {
        var parts: [String] = []
        if let minimumRSABits { parts.append("RSA \(minimumRSABits)") }
        if let minimumCurveBits { parts.append("EC \(minimumCurveBits)") }
        parts.append("no " + forbiddenHashes.map(\.rawValue).sorted().joined(separator: ", "))
        if requiresAlternativeName { parts.append("subjectAltName") }
        parts += ceilings.map { "at most \($0.days) days (\(Self.words($0.anchors, $0.issuedFrom)))" }
        if exemptsTrustedLeaves { parts.append("any number of days for a leaf that the user trusts itself") }
        parts += purposeRules.map { "serverAuth (\(Self.words($0.anchors, $0.issuedFrom)))" }
        if !limitsAuthorities.isEmpty {
            parts.append("no intermediates for other purposes alone (\(Self.words(limitsAuthorities, .distantPast)))")
        }
        return parts.joined(separator: "; ")
    }

    /// For which roots a rule holds, and from which day of issue.
    private static func words(_ anchors: Set<AnchorKind>, _ issuedFrom: Date) -> String {
        let names = [
            (AnchorKind.system, "roots of the system"), (.installed, "installed roots"), (.app, "anchors of the app"),
        ]
        .filter { anchors.contains($0.0) }.map(\.1).joined(separator: " and ")
        return issuedFrom == .distantPast ? names : "\(names), issued since \(CivilDate.text(of: issuedFrom))"
    }
}
