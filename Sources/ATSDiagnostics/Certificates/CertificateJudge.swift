// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
package import Formats
public import FoundationEssentials
public import TLSModel
public import TLSProbe
public import Vocabulary

/// Judges a chain before a server has it, by the judge of `check` and `fetch` (`ats certificate`).
///
///     let judge = CertificateJudge(anchors: try .system())
///     let report = await judge.judge(.init(certificates: chain, host: "api.example.com"), at: Date())
///
/// Nothing is fetched, and nothing is said of versions, suites and key possession: there is no server.
public struct CertificateJudge: Sendable {
    /// A chain and what it is judged by.
    public struct Question: Sendable {
        package var certificates: [[UInt8]]
        package var host: String?
        package var profile: OSProfile
        package var serverTrust: TransportRequirements.ServerTrust
        package var response: [UInt8]?

        /// Makes one from its parts.
        ///
        /// - Parameters:
        ///   - certificates: DER, leaf first, the others in any order.
        ///   - host: the host as `LoadURL` has it; nil judges no name.
        ///   - profile: the system whose client will load.
        ///   - serverTrust: with the rules of ATS, or plain trust evaluation.
        ///   - response: an OCSP response as a server would staple it, DER.
        public init(
            certificates: [[UInt8]], host: String? = nil, profile: OSProfile = .standard,
            serverTrust: TransportRequirements.ServerTrust = .ats, response: [UInt8]? = nil
        ) {
            self.certificates = certificates
            self.host = host
            self.profile = profile
            self.serverTrust = serverTrust
            self.response = response
        }
    }

    package let anchors: TrustAnchors
    package let logs: CTLogList?

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - anchors: the roots that chains may lead to.
    ///   - logs: the CT logs by which timestamps are judged; nil only counts them.
    public init(anchors: TrustAnchors, logs: CTLogList? = nil) {
        self.anchors = anchors
        self.logs = logs
    }

    /// Judges one chain.
    ///
    /// What trust evaluation accepts but no CA may issue fails too, after every other cause (`ats.trust.issuance`). Rules for the names that
    /// public authorities write are notes below a root of one's own: only other clients may refuse such a chain.
    public func judge(_ question: Question, at instant: Date) async -> CertificateReport {
        let chain = await ChainBuilder(anchors: anchors).build(presented: question.certificates, at: instant)
        let facts = PresentedTrust(
            chain: chain, staple: question.response.map { chain.status(in: $0, at: instant) },
            stapledTimestamps: question.response.flatMap { StapledResponse.timestamps(in: $0) })
        let requirements = TransportRequirements(
            minimumTLS: nil, suitePolicy: .ats, serverTrust: question.serverTrust, delegateMayAccept: false,
            profile: question.profile)
        let verdict = evaluate(requirements, facts, host: question.host, at: instant, logs: logs)
        func causes(_ breaches: [String], _ kind: Cause.Kind) -> [Cause] {
            breaches.map { Cause(.trustIssuance, $0, citation: CertificateJudge.citation, kind: kind) }
        }
        let ofPublic = IssuanceRules.publicBreaches(chain, host: question.host)
        let isPrivate = chain.anchor.map { $0.kind != .system } ?? false
        return CertificateReport(
            facts: facts, hasResponse: question.response != nil,
            because: (verdict.causes + causes(IssuanceRules.breaches(chain), .failure)
                + causes(isPrivate ? [] : ofPublic, .failure)).agreedFirst,
            notes: verdict.notes + causes(isPrivate ? ofPublic : [], .note),
            instant: instant)
    }

    private static let citation = Citation(
        source: "RFC 5280 section 4; CA/Browser Forum Baseline Requirements (BR) section 7.1", read: "2026-11-22")
}

/// What became of one chain.
public struct CertificateReport: Sendable {
    /// The chain and what came beside it.
    public let facts: PresentedTrust
    let hasResponse: Bool
    /// Every failed requirement, first cause first; empty if all are met.
    public let because: [Cause]
    /// What is worth knowing and fails nothing.
    public let notes: [Cause]
    let instant: Date

    /// Whether an app can load from a server with this chain, as far as the chain decides.
    public var passed: Bool { because.isEmpty }

    /// Whether it depends on the versions that the server will speak.
    public var isOpen: Bool { !passed && because.allSatisfy(\.dependsOnVersion) }

    /// `facts` of `sealward.ats-certificate/1`.
    package var factsJSON: JSONValue {
        [
            "certificates": .array(facts.chain.judged.map { $0.json(at: instant) }),
            "presented": .integer(facts.chain.presented.count + facts.chain.unparsed),
            "anchor": facts.chain.anchor?.json(at: instant) ?? .null, "stapledOCSP": .bool(hasResponse),
            "ocspStatus": .optional(facts.staple?.word), "timestamps": facts.timestampsJSON,
        ]
    }
}
