// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// What decides whether a host needs TLS. The words are made only for whoever asks for them: a fleet asks forty times a target and reads one.
///
/// Source: Security 61901, SecProtocolConfiguration.m, `tls_required`.
enum Ruling {
    /// An entry of NSExceptionDomains, the app's or the system's own.
    case entry(ExceptionLookup.Match)
    case arbitraryLoads
    /// NSAllowsArbitraryLoads is YES, and the presence of another key cancels it.
    case arbitraryLoadsIgnored(because: String)
    /// The host is local; whether NSAllowsLocalNetworking says so too.
    case local(isStated: Bool)
    case media
    case webContent
    /// The keys that are there do not cover the host.
    case nothingPermits
    /// No key is there.
    case nothingSaid
    /// ATS does not cover what loads.
    case notCovered(Loader)
    /// The system, or the SDK that the app is linked on, is older than ATS.
    case noTransportSecurity(OSProfile)

    var tlsRequired: Bool {
        switch self {
        case .entry(let match): !match.entry.allowsInsecureHTTPLoads
        case .arbitraryLoadsIgnored, .nothingPermits, .nothingSaid: true
        case .arbitraryLoads, .local, .media, .webContent, .notCovered, .noTransportSecurity: false
        }
    }

    var rule: DecidingRule {
        switch self {
        case .entry(let match): DecidingRule(match.isBuiltIn ? .builtIn : .exception, key: match.path)
        case .arbitraryLoads: DecidingRule(.global, key: ATSKey.arbitraryLoads)
        case .arbitraryLoadsIgnored(let sibling): DecidingRule(.global, key: sibling)
        case .local(let isStated): DecidingRule(.local, key: isStated ? ATSKey.localNetworking : nil)
        case .media: DecidingRule(.global, key: ATSKey.arbitraryLoadsForMedia)
        case .webContent: DecidingRule(.global, key: ATSKey.arbitraryLoadsInWebContent)
        case .nothingPermits, .nothingSaid: DecidingRule(.default)
        case .notCovered, .noTransportSecurity: DecidingRule(.notCovered)
        }
    }

    var cause: Cause {
        Cause(code, message, citation: citation, kind: .rule)
    }

    private var citation: Citation {
        switch self {
        case .notCovered: .apple("Preventing Insecure Network Connections", read: "2026-11-21")
        case .noTransportSecurity(let profile): profile.absenceCitation
        default: .security("SecProtocolConfiguration.m, tls_required")
        }
    }

    private var code: Code {
        switch self {
        case .entry(let match): match.isBuiltIn ? .ruleBuiltIn : .ruleException
        case .arbitraryLoads: .ruleArbitraryLoads
        case .arbitraryLoadsIgnored: .ruleArbitraryLoadsIgnored
        case .local: .ruleLocal
        case .media: .ruleMedia
        case .webContent: .ruleWebContent
        case .nothingPermits, .nothingSaid: .ruleDefault
        case .notCovered: .ruleNotCovered
        case .noTransportSecurity: .ruleNoTransportSecurity
        }
    }

    private var message: String {
        switch self {
        case .entry(let match):
            (match.isBuiltIn ? "The system's own entry for \(match.key)" : "The entry \(match.path) decides and")
                + (tlsRequired ? " requires TLS" : " permits insecure loads")
                + "; global keys do not count for this host."
        case .arbitraryLoads: "NSAllowsArbitraryLoads is YES."
        case .arbitraryLoadsIgnored(let sibling):
            "NSAllowsArbitraryLoads is YES but does not count, because \(sibling) is present, whatever its value."
        case .local: "The host is local, and local hosts need no TLS."
        case .media:
            "NSAllowsArbitraryLoadsForMedia is YES, and AVFoundation loads this URL. A report of 2016 found no effect in Apple's Simulator."
        case .webContent: "NSAllowsArbitraryLoadsInWebContent is YES, and a web view loads this URL."
        case .nothingPermits: "No key permits this host: TLS is required."
        case .nothingSaid: "No key says otherwise: TLS is required."
        case .notCovered(let loader):
            "Loads by \(loader.rawValue) bypass CFNetwork, so ATS does not apply; the app is responsible for its own security."
        case .noTransportSecurity(let profile): profile.absence + "."
        }
    }
}
