// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings

/// Which API loads a URL. ATS covers CFNetwork and what is built on it, and nothing below.
public enum Loader: String, Sendable, CaseIterable {
    case urlsession
    /// WKWebView and the older web views.
    case web
    /// AVFoundation.
    case media
    /// Network.framework, sockets, and libraries with TLS of their own.
    case lowLevel = "low-level"
    case dotnetManaged = "dotnet-managed"
    case dotnetCFNetwork = "dotnet-cfnetwork"
    case dotnetNSURLSession = "dotnet-nsurlsession"

    /// Whether ATS applies to loads by this API.
    public var isCovered: Bool { self != .lowLevel && self != .dotnetManaged }
}

/// The rule of the dictionary that decided about a host.
public struct DecidingRule: Sendable, Equatable {
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

    public let source: Source
    /// The key path below NSAppTransportSecurity, where a key decided.
    public let key: String?

    public init(_ source: Source, key: String? = nil) {
        self.source = source
        self.key = key
    }
}

/// What a dictionary says about one URL on one system.
public struct URLDecision: Sendable {
    public enum Verdict: String, Sendable {
        case allowed
        case blocked
        /// TLS is used, and whether it is good enough is for the server to show.
        case dependsOnServer = "depends-on-server"
    }

    public let url: LoadURL
    /// Whether the host counts as local on this system.
    public let isLocal: Bool
    /// Whether ATS applies at all.
    public let applies: Bool
    public let rule: DecidingRule
    /// Whether plain `http://` is refused for this host.
    public let tlsRequired: Bool
    public let requirements: TransportRequirements
    public let verdict: Verdict
    /// Set where the load is blocked.
    public let error: URLLoadError?
    /// The reasons, first cause first; notes last.
    public let because: [Cause]
}
