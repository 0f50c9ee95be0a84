// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
package import TLSProbe
public import Vocabulary

/// Why a load ended without an answer: the NSURLError that an app would see, every cause, and what would change the outcome.
///
/// Match on ``code``; show the rest to people. Equality is on ``outcome``, ``code`` and the error numbers, because sentences may improve.
public struct ATSLoadError: Error, Sendable, CustomStringConvertible {
    /// Whether the load was refused, or no complete answer came.
    public enum Outcome: String, Sendable {
        /// The policy, the server's TLS or its certificate did not allow the load.
        case refused
        /// Nothing speaks against the server; there was no complete answer (connection, DNS, time, broken HTTP).
        case noAnswer = "no-answer"
    }

    /// Whether the policy refused or nothing answered.
    public let outcome: Outcome
    /// The NSURLError: domain, code, stream code and sentence.
    public let error: URLLoadError
    /// Every reason, first cause first; never empty.
    public let causes: [Cause]
    /// Which Info.plist keys would change the outcome, all of them together; empty if none would.
    public internal(set) var remedies: [Remedy] = []
    /// The URL that was being loaded when it ended: the target of the last redirect.
    public internal(set) var url: String
    /// The redirects that led there.
    public internal(set) var hops: [Hop] = []

    /// The first cause, for example `ats.cleartext.blocked`.
    public var code: Code { causes.first?.code ?? .httpNoAnswer }

    /// One line for logs and terminals.
    public var description: String {
        let stream = error.streamCode.map { ", stream code \($0)" } ?? ""
        let reasons = causes.map(\.description).joined(separator: "; ")
        let fixes = Remedy.sentence(remedies, after: causes)
        return "\(url): \(error.domain) \(error.code)\(stream): \(reasons)" + (fixes.isEmpty ? "" : ". \(fixes)")
    }
}

extension ATSLoadError: Equatable {
    public static func == (left: ATSLoadError, right: ATSLoadError) -> Bool {
        left.outcome == right.outcome && left.code == right.code && left.error.code == right.error.code
    }
}

/// One redirect that was followed, or the last request of a load.
public struct Hop: Sendable, Equatable {
    /// What was asked for.
    public let url: String
    /// The HTTP status of the answer; nil if none came.
    public let status: Int?
    /// The Location field, as it was sent.
    public let location: String?
    /// What the servers up to this one may lead to.
    package let leads: FetchScope

    package init(url: String, status: Int?, location: String? = nil, leads: FetchScope = .publicAddresses) {
        self.url = url
        self.status = status
        self.location = location
        self.leads = leads
    }
}
