// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings
import Foundation
import TLSFacts

/// The known logs, as the JSON that browsers publish (`log_list.json`, version 3) lists them.
public struct CTLogList: Sendable {
    /// A log by its id: whether it may be used now, and who runs it.
    struct Log: Sendable {
        let isCurrent: Bool
        let wasOnceQualified: Bool
        let operatorName: String
    }

    let logs: [[UInt8]: Log]

    /// How many logs the list holds.
    public var count: Int { logs.count }

    /// Reads a log list.
    ///
    /// - Throws: `MalformedInput` with code `malformed.ct-log-list` where there are no operators with logs in it.
    public init(json bytes: [UInt8]) throws(MalformedInput) {
        let document = try PropertyListValue(json: bytes)
        guard case .array(let operators)? = document.members?["operators"] else {
            throw MalformedInput(code: "malformed.ct-log-list", reason: "the log list has no member 'operators'")
        }
        var logs: [[UInt8]: Log] = [:]
        for entry in operators {
            let operatorName = if case .string(let name)? = entry.members?["name"] { name } else { "unnamed" }
            for key in ["logs", "tiled_logs"] {
                guard case .array(let list)? = entry.members?[key] else { continue }
                for log in list {
                    guard case .string(let text)? = log.members?["log_id"], let identifier = Data(base64Encoded: text)
                    else { continue }
                    let states = Set((log.members?["state"]?.members ?? [:]).keys)
                    logs[[UInt8](identifier)] = Log(
                        isCurrent: !states.isDisjoint(with: ["usable", "qualified", "readonly"]),
                        wasOnceQualified: states.isDisjoint(with: ["pending", "rejected"]),
                        operatorName: operatorName
                    )
                }
            }
        }
        guard !logs.isEmpty else {
            throw MalformedInput(code: "malformed.ct-log-list", reason: "the log list names no log")
        }
        self.logs = logs
    }
}

/// The rule of Certificate Transparency. Source: Security 61901, CertificateTransparency.m.
enum TransparencyEvaluation {
    static func judge(
        _ requirements: TransportRequirements,
        _ facts: PresentedTrust,
        at instant: Date,
        logs: CTLogList?
    ) -> (causes: [Cause], notes: [Cause]) {
        guard let leaf = facts.chain.judged.first else { return ([], []) }
        let isRequired =
            requirements.entryRequiresTransparency
            || (requirements.profile.requiresTransparency.value && facts.chain.anchor?.kind == .system
                && leaf.notBefore >= october2018 && instant <= leaf.notAfter)
        guard isRequired else { return ([], []) }
        let embedded = leaf.embeddedTimestamps.flatMap { SignedTimestamp.list(decoding: $0) } ?? []
        let extended = facts.timestamps.flatMap { SignedTimestamp.list(decoding: $0) } ?? []
        let stapled = facts.stapledTimestamps.flatMap { SignedTimestamp.list(decoding: $0) } ?? []
        let delivered = extended + stapled
        let counted =
            "\(embedded.count) signed certificate timestamps in the certificate, \(extended.count) in the handshake, "
            + "\(stapled.count) in the OCSP response"
        let key = requirements.profile.readsTransparencyKey
        let citation =
            requirements.entryRequiresTransparency ? key.citation : requirements.profile.requiresTransparency.citation
        // Without a single timestamp there is nothing that a list of logs could change.
        if requirements.entryRequiresTransparency, embedded.isEmpty, delivered.isEmpty {
            let dispute =
                key.basis == .unknown
                ? " NSRequiresCertificateTransparency counted when macOS 11 was measured; Apple's published evaluator does not read it."
                : ""
            return (
                [
                    Cause(
                        "ats.ct.missing",
                        "The entry asks for Certificate Transparency: \(counted).\(dispute)",
                        citation: citation
                    )
                ],
                []
            )
        }
        guard let logs else {
            let sentence =
                "Certificate Transparency is required here: \(counted). Without --ct-log-list nothing is judged."
            return ([], [Cause("ats.note.ct-not-judged", sentence, citation: citation, kind: .note)])
        }
        if complies(leaf, embedded: Set(embedded), delivered: Set(delivered), logs) { return ([], []) }
        return ([Cause("ats.ct.missing", "Too few timestamps of known logs: \(counted).", citation: citation)], [])
    }

    private static func complies(
        _ leaf: CertificateFacts,
        embedded: Set<SignedTimestamp>,
        delivered: Set<SignedTimestamp>,
        _ logs: CTLogList
    ) -> Bool {
        func current(_ timestamps: Set<SignedTimestamp>) -> Set<[UInt8]> {
            Set(timestamps.map(\.logIdentifier).filter { logs.logs[$0]?.isCurrent ?? false })
        }
        let once = Set(embedded.map(\.logIdentifier).filter { logs.logs[$0]?.wasOnceQualified ?? false })
        if !current(embedded).isEmpty, once.count >= embeddedNeeded(leaf) { return true }
        return !current(delivered).isEmpty && current(embedded.union(delivered)).count >= 2
    }

    /// How many embedded timestamps a certificate needs, by the day of its issue and its lifetime.
    private static func embeddedNeeded(_ leaf: CertificateFacts) -> Int {
        let days = leaf.notAfter.timeIntervalSince(leaf.notBefore) / 86400
        if leaf.notBefore < april2021 {
            switch days {
            case ..<456: return 2
            case ...822: return 3
            case ...1187: return 4
            default: return 5
            }
        }
        switch days {
        case ...180: return 2
        case ...825: return 3
        default: return 4
        }
    }

    /// 2018-10-16 and 2021-04-21 at 00:00 UTC.
    private static let october2018 = Date(timeIntervalSince1970: 1_539_648_000)
    private static let april2021 = Date(timeIntervalSince1970: 1_618_963_200)
}
