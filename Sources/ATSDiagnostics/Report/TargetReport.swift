// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import FoundationEssentials
public import TLSModel
public import Vocabulary

/// Everything that a check found out about one target.
public struct TargetReport: Sendable {
    /// The URL with its port.
    public let target: String
    /// Without a port and without brackets.
    public let host: String
    /// The port that was connected to.
    public let port: Int
    /// The address that answered; nil if none was reached.
    public let address: String?
    /// nscurl's configurations in its order, and the app's dictionary at the end where one was given.
    public let results: [ConfigurationResult]
    /// For an `http` target how the same host would load over https by default; nil for any other.
    public let secure: ConfigurationResult?
    /// The least exposing dictionary that lets the target load.
    public let smallestException: SmallestException
    /// What would let the target load that does not load under the dictionary that decides; nil if it loads, and if nothing helps.
    package let proposal: DictionaryProposal?
    /// What fails if the app's own code accepts the certificate that trust evaluation refuses; nil if nothing does.
    package let causeBehindCertificate: Cause?
    /// What was negotiated and presented: of the default configuration where it got that far, else of the widest hello, else of a smaller
    /// one.
    public let facts: ConnectionFacts?
    /// Which hello the facts are from.
    package let hello: AnsweredHello
    /// The HTTP status that the load ended with; nil if none was made or none came.
    public let status: Int?
    /// Hellos of the plan.
    package var handshakes: Int
    /// From the first lookup to the verdict.
    package var elapsed: Duration
    /// What is worth knowing and changes no verdict.
    public let notes: [Cause]
    /// The verdicts for each of several systems, in the order in which they were asked for; empty if there is one system alone.
    public package(set) var systems: [SystemVerdict] = []
    /// The time of judgement.
    public let instant: Date

    /// The result that the exit status follows: the app's dictionary where one was given, else the default configuration.
    package var decisive: ConfigurationResult? {
        results.decisive
    }

    /// The line to change on the server for the first cause, in the words of each kind of server; empty but for ``CheckSession`` of managed
    /// loads.
    package var serverLines: [(software: ServerSoftware, line: String)] {
        guard let decisive, decisive.configuration == .managed, let cause = decisive.because.first else { return [] }
        guard let setting = Remediation(for: cause)?.setting else { return [] }
        return ServerSoftware.allCases.map { ($0, setting.line(in: $0)) }
    }

    /// What the dictionary must say for the app's own code to accept a certificate that trust evaluation refuses, and for the target to load then; nil
    /// if that is not what helps.
    public var exceptionWithDelegate: ATSDictionary? { proposal.flatMap { $0.kind == .withDelegate ? $0.after : nil } }

    /// Whether the decisive verdict is not the same on all systems.
    package var changesBetweenSystems: Bool {
        Set(systems.map { $0.decisive?.result }).count > 1
    }

    /// What every form says whatever else it shows: intermediates that were fetched, because other clients do not fetch them, and what
    /// the verdict or the proposal rests on that was inferred and not measured; certificates that expire soon, which
    /// somebody asked for; what apps may trip over though the load passes; and what the dictionary says in vain where it fails.
    public var warnings: [Cause] {
        let noted = notes + (decisive?.notes ?? []) + (secure?.notes ?? [])
        var seen = Set((decisive?.because ?? []).map { UTF8Key($0.message) })
        // The note is about servers that go on without one.
        let isDemanded = decisive?.because.contains { $0.code == .tlsClientCertificateRequired && $0.situation == nil }
        let unread = decisive?.result == .pass ? [] : URLDecision.unreadCodes
        return noted.filter {
            (isDemanded != true || $0.code != .noteClientCertificateRequested)
                && ([
                    .noteIntermediateFetched, .noteSDKInferred, .noteExpiresSoon, .noteClientCertificateRequested,
                    .notePurposeExempt, .noteAppAnchor, .noteValidityExempt, .noteWildcardBelowTop, .notePinnedKeys,
                ] + unread).contains($0.code)
                && seen.insert(UTF8Key($0.message)).inserted
        }
    }

    /// Whether a result is the least of nscurl's configurations that lets the target load: everything open comes last.
    package func isLeastPassing(_ result: ConfigurationResult) -> Bool {
        let passing = results.filter { $0.result == .pass }
        let least = passing.first { $0.configuration.name != DiagnosticConfiguration.allowAllName } ?? passing.first
        return least?.configuration == result.configuration
    }
}

/// A change of the dictionary that was judged, and helps.
package struct DictionaryProposal: Sendable, Equatable {
    package enum Kind: Sendable {
        /// Keys beside those that are there.
        case edit
        /// The same, and the app's own code must accept the certificate.
        case withDelegate
    }

    /// The app's dictionary, or the empty one.
    package let before: ATSDictionary
    package let after: ATSDictionary
    package let kind: Kind
    /// What leaves the end of the load open; nil if it is known.
    package let doubt: Cause?
    /// Why the certificate is refused, where what decides comes before it: a block of the policy.
    package var refusal: Cause?

    /// The keys to write in one line: `NSExceptionDomains.host.NSExceptionMinimumTLSVersion = TLSv1.0`; empty if nothing is to be written.
    package var keys: String {
        Remedy.keys(Remedy.changes(from: before, to: after))
    }

    /// What to do, as far as it is about the dictionary and the app.
    ///
    /// - Parameter causes: why the load fails.
    package func sentence(after causes: [Cause]) -> String {
        switch kind {
        case .edit: keys + (doubt.map { ". Whether it loads then is not known: \($0.message)" } ?? "")
        case .withDelegate:
            AppTrust.sentence(keys: keys.isEmpty ? nil : keys, after: causes)
                + (refusal.map { " Without that code the load fails all the same (\($0))." } ?? "")
                + (doubt.map { " Whether it loads then is not known: \($0.message)" } ?? "")
        }
    }
}

/// The hello that the facts of a report are from.
package struct AnsweredHello: Sendable, Equatable {
    /// What it offers beside the default configuration.
    package enum Kind: String, Sendable {
        /// The same.
        case `default`
        /// More: older versions, more suites.
        case wider
        /// No post-quantum groups, so that it fits into one TCP segment.
        case smaller
    }

    package var kind = Kind.default
    /// The bytes of its record; nil if it was not written here.
    package var length: Int?
    /// Whether a hello without post-quantum groups got an answer where the others got none; nil if none was sent.
    package var smallerGotFurther: Bool?
}

/// What one system makes of the observations about a target.
public struct SystemVerdict: Sendable {
    /// The system, with the SDK of nscurl's rows.
    public let profile: OSProfile
    /// As ``TargetReport/results``.
    public let results: [ConfigurationResult]
    /// As ``TargetReport/secure``.
    public let secure: ConfigurationResult?
    /// As ``TargetReport/smallestException``.
    public let smallestException: SmallestException
    /// As ``TargetReport/proposal``.
    package let proposal: DictionaryProposal?
    /// As ``TargetReport/causeBehindCertificate``.
    package let causeBehindCertificate: Cause?

    init(_ profile: OSProfile, _ report: TargetReport) {
        self.profile = profile
        results = report.results
        secure = report.secure
        smallestException = report.smallestException
        proposal = report.proposal
        causeBehindCertificate = report.causeBehindCertificate
    }

    /// The result of the app's dictionary if there is one, else of the default configuration.
    package var decisive: ConfigurationResult? { results.decisive }
}

extension [ConfigurationResult] {
    /// The result that the exit status follows.
    var decisive: ConfigurationResult? { last { $0.configuration.isAppDictionary } ?? first }
}
