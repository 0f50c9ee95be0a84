// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Vocabulary

/// Which API loads a URL. ATS covers CFNetwork and what is built on it, and nothing below.
public enum Loader: String, Sendable, CaseIterable {
    /// URLSession and everything built on it.
    case urlsession
    /// WKWebView and the older web views.
    case web
    /// AVFoundation.
    case media
    /// Network.framework, sockets, and libraries with TLS of their own.
    case lowLevel = "low-level"
    /// .NET's managed SocketsHttpHandler, which ATS does not see.
    case dotnetManaged = "dotnet-managed"
    /// .NET's CFNetworkHandler.
    case dotnetCFNetwork = "dotnet-cfnetwork"
    /// .NET's NSUrlSessionHandler.
    case dotnetNSURLSession = "dotnet-nsurlsession"

    /// Whether ATS applies to loads by this API.
    package var isCovered: Bool { self != .lowLevel && self != .dotnetManaged }
}

/// The rule of the dictionary that decided about a host.
public struct DecidingRule: Sendable, Equatable {
    /// Where the rule stands.
    public enum Source: String, Sendable {
        /// The defaults of the system.
        case `default`
        /// A global key.
        case global
        /// An entry of NSExceptionDomains.
        case exception
        /// An entry that the system registers itself.
        case builtIn = "built-in"
        /// The host is local.
        case local
        /// ATS does not apply.
        case notCovered = "not-covered"
    }

    /// Where the rule stands.
    public let source: Source
    /// The key path below NSAppTransportSecurity, where a key decided.
    public let key: String?

    package init(_ source: Source, key: String? = nil) {
        self.source = source
        self.key = key
    }
}

/// What a dictionary says about one URL on one system.
public struct URLDecision: Sendable {
    /// What is known before any connection.
    public enum Verdict: String, Sendable {
        /// The load may go ahead, whatever the server does.
        case allowed
        /// The load is refused before any connection.
        case blocked
        /// TLS is used, and whether it is good enough is for the server to show.
        case dependsOnServer = "depends-on-server"
    }

    /// What was asked for.
    public let url: LoadURL
    /// Whether the host counts as local on this system.
    public let isLocal: Bool
    /// Whether ATS applies at all.
    public let applies: Bool
    /// Which rule decided.
    public var rule: DecidingRule { ruling.rule }
    /// Whether plain `http://` is refused for this host.
    public let tlsRequired: Bool
    /// What the connection has to meet.
    public let requirements: TransportRequirements
    /// What is known before any connection.
    public let verdict: Verdict
    /// Set where the load is blocked.
    public let error: URLLoadError?
    /// What decided, before it is put into words.
    let ruling: Ruling
    /// Who was asked.
    package let policy: ATSPolicy
    /// What loads.
    let loader: Loader
    /// The sources that contradict each other about keys of the dictionary that would change the decision; empty if none do.
    package internal(set) var legacyDoubts: [String] = []
    /// Every pair of sources that leaves the end of the load open; empty if none does.
    package var disputedSources: [String] {
        legacyDoubts + (verdict == .dependsOnServer ? requirements.disputedSources : [])
    }
    /// What blocks the load; empty if nothing does.
    package let failures: [Cause]
    /// Notes on entries that almost decided; empty unless ``NearMisses`` explained the decision.
    var nearMisses: [Cause] = []
    /// What is worth knowing and decides nothing.
    package var notes: [Cause] { policy.notes(on: self) + nearMisses }
    /// Those of them on what the dictionary says in vain: what is never read as it stands is a mistake for sure, an entry that almost matches is
    /// probably one, and an unknown key may be the reason of a load that fails.
    package func unread(isFailing: Bool) -> [Cause] {
        let notes = notes
        return URLDecision.unreadCodes.filter { isFailing || $0 != .dictionaryUnknownKey }
            .flatMap { code in notes.filter { $0.code == code } }
    }

    /// The codes of such notes.
    package static let unreadCodes: [Code] = [
        .dictionaryWrongType, .dictionaryNested, .dictionaryBadValue, .noteEntryAlmostMatches, .dictionaryUnknownKey,
    ]
    /// The reasons, first cause first; notes last.
    public var because: [Cause] { failures + [ruling.cause] + notes }
}
