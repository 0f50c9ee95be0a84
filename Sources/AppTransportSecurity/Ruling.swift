// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

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

    var tlsRequired: Bool {
        switch self {
        case .entry(let match): !match.entry.allowsInsecureHTTPLoads
        case .arbitraryLoadsIgnored, .nothingPermits, .nothingSaid: true
        case .arbitraryLoads, .local, .media, .webContent: false
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
        }
    }

    var cause: Cause {
        Cause(code, message, citation: .security("SecProtocolConfiguration.m, tls_required"), kind: .rule)
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
        }
    }
}
