// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PropertyLists
package import TLSModel
package import Vocabulary

/// The known logs, as the JSON that browsers publish (`log_list.json`, version 3) lists them.
public struct CTLogList: Sendable {
    /// One log, and what became of it.
    struct Log: Sendable {
        /// `usable`, `qualified`, `readonly`, `retired`, `pending` or `rejected`.
        let state: String
        /// When the state began; nil if the list does not say so.
        let since: Date?
        let name: String
        let operatorName: String
        /// DER SubjectPublicKeyInfo; nil if the list has none.
        let key: [UInt8]?
        /// The certificates that the log takes, by the day on which they expire; nil for a log that takes all.
        let interval: Range<Date>?

        /// Whether timestamps of the log count at an instant whenever they were made. Before it was retired a log was usable.
        func isCurrent(at instant: Date) -> Bool {
            switch state {
            case "usable", "qualified", "readonly": true
            case "retired": since.map { instant < $0 } ?? false
            default: false
            }
        }

        /// Whether a timestamp that was made at a time counts as one of a log that was approved once.
        func wasApproved(at made: Date) -> Bool {
            switch state {
            case "usable", "qualified", "readonly": true
            case "retired": since.map { made < $0 } ?? true
            default: false
            }
        }
    }

    let logs: [[UInt8]: Log]
    /// When the list was made (`log_list_timestamp`); nil if it does not say so.
    let made: Date?
    let verifier: any TimestampVerifying

    package var count: Int { logs.count }

    /// Reads a log list.
    ///
    /// - Parameter verifier: checks signatures with the keys of the list: `TimestampVerifier` of TLSProbe.
    /// - Throws: `MalformedInput` with code `malformed.ct-log-list` if there are no operators with logs in it.
    package init(json bytes: [UInt8], verifier: any TimestampVerifying) throws(MalformedInput) {
        let document = try PropertyListValue(json: bytes)
        guard case .array(let operators)? = document.members?["operators"] else {
            throw MalformedInput(code: .malformedCTLogList, reason: "the log list has no member 'operators'")
        }
        var logs: [[UInt8]: Log] = [:]
        for entry in operators {
            let operatorName = entry.text("name") ?? "unnamed"
            for key in ["logs", "tiled_logs"] {
                guard case .array(let list)? = entry.members?[key] else { continue }
                for log in list {
                    guard let identifier = log.text("log_id").flatMap({ Base64.decode($0) }) else { continue }
                    let states = log.members?["state"]?.members ?? [:]
                    let state = CTLogList.states.first { states[$0] != nil } ?? ""
                    logs[identifier] = Log(
                        state: state, since: states[state]?.text("timestamp").flatMap(CTLogList.date),
                        name: log.text("description") ?? "unnamed", operatorName: operatorName,
                        key: log.text("key").flatMap { Base64.decode($0) }, interval: try CTLogList.interval(of: log))
                }
            }
        }
        guard !logs.isEmpty else {
            throw MalformedInput(code: .malformedCTLogList, reason: "the log list contains no logs")
        }
        self.logs = logs
        made = document.text("log_list_timestamp").flatMap(CTLogList.date)
        self.verifier = verifier
    }

    /// The states of the list's schema; of several the one that counts least comes first.
    private static let states = ["rejected", "pending", "retired", "readonly", "qualified", "usable"]

    /// `temporal_interval` of the list's schema.
    private static func interval(of log: PropertyListValue) throws(MalformedInput) -> Range<Date>? {
        guard let interval = log.members?["temporal_interval"] else { return nil }
        guard let start = interval.text("start_inclusive").flatMap(date),
            let end = interval.text("end_exclusive").flatMap(date), start < end
        else {
            let name = (log.text("description") ?? "unnamed").terminalSafe(limit: 80)
            throw MalformedInput(
                code: .malformedCTLogList,
                reason: "the temporal_interval of the log '\(name)' does not start before it ends")
        }
        return start..<end
    }

    private static func date(_ text: String) -> Date? { RFC3339.date(text.utf8) }
}

extension PropertyListValue {
    fileprivate func text(_ name: String) -> String? {
        if case .string(let text)? = members?[name] { text } else { nil }
    }
}

/// The rule of Certificate Transparency. Source: Security 61901, CertificateTransparency.m, and for operators Apple's Certificate
/// Transparency policy, which a comment there repeats.
enum TransparencyEvaluation {
    static func judge(
        _ requirements: TransportRequirements, _ facts: PresentedTrust, isConnection: Bool, at instant: Date,
        logs: CTLogList?
    ) -> (causes: [Cause], notes: [Cause]) {
        guard let leaf = facts.chain.judged.first else { return ([], []) }
        let isRequired =
            requirements.entryRequiresTransparency
            || (requirements.profile.facts.requiresTransparency.value && facts.chain.anchor?.kind == .system
                && facts.chain.anchor?.isApples != true && leaf.notBefore >= october2018 && instant <= leaf.notAfter)
        guard isRequired else { return ([], []) }
        let lists: [(SignedTimestamp.Source, [SignedTimestamp])] = [
            (.certificate, leaf.embeddedTimestamps), (.tlsExtension, facts.timestamps),
            (.stapledResponse, facts.stapledTimestamps),
        ].map { source, bytes in (source, bytes.flatMap { SignedTimestamp.list(decoding: $0) } ?? []) }
        // Other clients count a broken list as none, and nobody sees why.
        func fault(_ bytes: [UInt8]?) -> String {
            SignedTimestamp.fault(ofList: bytes).map { " (its list is \($0))" } ?? ""
        }
        let counted =
            "\(lists[0].1.count) signed certificate timestamps in the certificate\(fault(leaf.embeddedTimestamps)), \(lists[1].1.count) in the "
            + "handshake, \(lists[2].1.count) in the OCSP response\(fault(facts.stapledTimestamps))"
        let key = requirements.profile.facts.readsTransparencyKey
        let citation =
            requirements.entryRequiresTransparency
            ? key.citation : requirements.profile.facts.requiresTransparency.citation
        // Without a single timestamp there is nothing that a list of logs could change.
        if requirements.entryRequiresTransparency, lists.allSatisfy({ $0.1.isEmpty }) {
            let isDisputed = !requirements.disputedSources.isEmpty
            let dispute =
                isDisputed
                ? " NSRequiresCertificateTransparency counted when macOS 11 was measured; Apple's published evaluator does not read it."
                : ""
            return (
                [
                    Cause(
                        .ctMissing, "The entry requires Certificate Transparency: \(counted).\(dispute)",
                        citation: citation, situation: isDisputed ? Remediation.Situation.disputed.rawValue : nil)
                ],
                []
            )
        }
        guard let logs else {
            // A chain alone does not show what comes in the handshake.
            if isConnection, lists.allSatisfy({ $0.1.isEmpty }) {
                let sentence =
                    "Below a root of the system a certificate that was issued since 2018-10-16 needs Certificate Transparency: \(counted)."
                return ([Cause(.ctMissing, sentence, citation: citation)], [])
            }
            let sentence =
                lists.allSatisfy { $0.1.isEmpty }
                ? "Certificate Transparency is required here, and the chain brings no timestamp: \(counted). The load fails (\(Code.ctMissing)) unless "
                    + "the server sends timestamps in the handshake."
                : "Certificate Transparency is required here: \(counted). Without --ct-log-list nothing is judged."
            return ([], [Cause(.noteCTNotJudged, sentence, citation: citation, kind: .note)])
        }
        let judged = JudgedTimestamps(lists, facts.chain, at: instant, logs)
        let need = Need(leaf)
        let refused = judged.refusals.map {
            Cause(.noteCTTimestampRefused, $0, citation: timestampRules, kind: .note)
        }
        let age = age(of: logs, at: instant).map { [$0] } ?? []
        if need.isMet(by: judged) { return ([], refused + age) }
        let sentences = ["\(need.shortfall(of: judged)) (\(counted))."] + judged.refusals
        return ([Cause(.ctMissing, sentences.joined(separator: " "), citation: citation)], age)
    }

    /// What follows if a system's own list were as old as the one that is judged by. The verdict does not follow it: systems update theirs.
    private static func age(of logs: CTLogList, at instant: Date) -> Cause? {
        guard let made = logs.made, instant.timeIntervalSince(made) >= 60 * 86400 else { return nil }
        return Cause(
            .noteCTListOld,
            "The list of logs is of \(CivilDate.text(of: made)), 60 days or more before the time of judgement: newer logs are missing from it. Apple's "
                + "systems require no timestamps while their own list is so old.",
            citation: .security("CertificateTransparency.m"), kind: .note)
    }

    /// How many timestamps a certificate needs, by the day of its issue and its lifetime.
    private struct Need {
        /// In the certificate itself.
        let embedded: Int
        /// The most of one operator that count; nil if operators do not matter.
        let ofOneOperator: Int?

        init(_ leaf: CertificateFacts) {
            let days = leaf.notAfter.timeIntervalSince(leaf.notBefore) / 86400
            if leaf.notBefore < april2021 {
                ofOneOperator = nil
                switch days {
                case ..<456: embedded = 2
                case ...822: embedded = 3
                case ...1187: embedded = 4
                default: embedded = 5
                }
            } else {
                switch days {
                case ...180: (embedded, ofOneOperator) = (2, 1)
                case ...825: (embedded, ofOneOperator) = (3, 2)
                default: (embedded, ofOneOperator) = (4, 2)
                }
            }
        }

        /// By the certificate alone, or with what came beside it.
        func isMet(by timestamps: JudgedTimestamps) -> Bool {
            let inside = timestamps.valid.filter { $0.source == .certificate }
            if inside.contains(where: \.isCurrent), counting(inside, ofOneOperator) >= embedded { return true }
            let current = timestamps.valid.filter(\.isCurrent)
            return current.contains { $0.source != .certificate }
                && counting(current, ofOneOperator.map { _ in 1 }) >= 2
        }

        /// Logs, each once, and of one operator no more than count.
        private func counting(_ timestamps: [JudgedTimestamps.Valid], _ most: Int?) -> Int {
            let logs = Dictionary(timestamps.map { ($0.logIdentifier, $0.operatorName) }) { first, _ in first }
            guard let most else { return logs.count }
            return Dictionary(logs.values.map { (UTF8Key($0), 1) }, uniquingKeysWith: +).values
                .reduce(0) { $0 + min($1, most) }
        }

        func shortfall(of timestamps: JudgedTimestamps) -> String {
            let isBeside = timestamps.valid.contains { $0.source != .certificate }
            let seen = isBeside ? timestamps.valid.filter(\.isCurrent) : timestamps.valid
            let logs = Set(seen.map(\.logIdentifier)).count
            let operators = Set(seen.map { UTF8Key($0.operatorName) }).count
            let needed = isBeside ? 2 : embedded
            let most = isBeside ? ofOneOperator.map { _ in 1 } : ofOneOperator
            var sentence =
                "Too few timestamps from known logs: \(logs) valid of \(needed) needed, from \(operators) operator\(operators == 1 ? "" : "s")"
            if logs >= needed, let most, counting(seen, most) < needed {
                sentence += ", each of which counts for at most \(most)"
            }
            if !isBeside, logs > 0, !seen.contains(where: \.isCurrent) {
                sentence += ", and none is from a log that is approved today"
            }
            return sentence
        }
    }

    /// 2018-10-16 and 2021-04-21 at 00:00 UTC.
    private static let october2018 = Date(timeIntervalSince1970: 1_539_648_000)
    private static let april2021 = Date(timeIntervalSince1970: 1_618_963_200)
    private static let timestampRules = Citation(source: "RFC 6962 sections 3.2 and 5.2", read: "2026-11-22")
}

extension AnchorFacts {
    /// Whether the root is one of Apple's own: organizationName (2.5.4.10) is Apple Inc.
    fileprivate var isApples: Bool {
        let name = Array("Apple Inc.".utf8)
        // UTF8String and PrintableString.
        return [0x0C, 0x13].contains { (tag: UInt8) in
            certificate.subjectDER.contains([0x06, 0x03, 0x55, 0x04, 0x0A, tag, 0x0A] + name)
        }
    }
}

/// The timestamps of one connection, each looked at once.
private struct JudgedTimestamps {
    struct Valid {
        let source: SignedTimestamp.Source
        let logIdentifier: [UInt8]
        let operatorName: String
        /// Whether its log is approved at the time of judgement.
        let isCurrent: Bool
    }

    private(set) var valid: [Valid] = []
    /// Why others do not count, as sentences; at most five.
    private(set) var refusals: [String] = []

    init(
        _ lists: [(SignedTimestamp.Source, [SignedTimestamp])], _ chain: ChainFacts, at instant: Date, _ logs: CTLogList
    ) {
        guard let leaf = chain.judged.first else { return }
        let issuer = chain.judged.dropFirst().first ?? chain.anchor?.certificate
        var checks = 0
        var omitted = 0
        for (source, timestamps) in lists {
            for timestamp in timestamps {
                var reason: String?
                let log = logs.logs[timestamp.logIdentifier]
                if let log, checks < JudgedTimestamps.maximumChecks {
                    checks += 1
                    reason = JudgedTimestamps.fault(timestamp, source, log, leaf, issuer, instant, logs.verifier)
                } else {
                    reason = log == nil ? "its log is not in the list" : "there are too many"
                }
                guard let reason else {
                    valid.append(
                        Valid(
                            source: source, logIdentifier: timestamp.logIdentifier,
                            operatorName: log?.operatorName ?? "", isCurrent: log?.isCurrent(at: instant) ?? false))
                    continue
                }
                if refusals.count < 5 {
                    refusals.append(
                        "The timestamp \(JudgedTimestamps.place(source)) of \(JudgedTimestamps.name(timestamp, log)) does not count: \(reason)."
                    )
                } else {
                    omitted += 1
                }
            }
        }
        if omitted > 0 { refusals.append("\(omitted) more do not count.") }
    }

    /// Why a timestamp does not count; nil if it does.
    private static func fault(
        _ timestamp: SignedTimestamp, _ source: SignedTimestamp.Source, _ log: CTLogList.Log, _ leaf: CertificateFacts,
        _ issuer: CertificateFacts?, _ instant: Date, _ verifier: any TimestampVerifying
    ) -> String? {
        guard log.wasApproved(at: timestamp.issued) else {
            guard log.state == "retired", let since = log.since else {
                return "the log is \(log.state.isEmpty ? "in no state" : log.state)"
            }
            return "it was made after the log was retired on \(CivilDate.text(of: since))"
        }
        if let interval = log.interval, !interval.contains(leaf.notAfter) {
            let (start, end) = (CivilDate.text(of: interval.lowerBound), CivilDate.text(of: interval.upperBound))
            return
                "the certificate expires on \(CivilDate.text(of: leaf.notAfter)), and the log accepts those that expire "
                + "from \(start) to before \(end)"
        }
        // RFC 6962 section 5.2.
        if timestamp.issued > instant { return "it is from the future" }
        guard let key = log.key else { return "the list contains no key of the log" }
        switch verifier.verdict(on: timestamp, from: source, leaf: leaf, issuer: issuer, logKey: key) {
        case .valid: return nil
        case .invalid: return "it is forged, because its signature does not verify with the log's key"
        case .unverifiable(let reason): return "its signature cannot be checked, because \(reason)"
        }
    }

    private static func place(_ source: SignedTimestamp.Source) -> String {
        switch source {
        case .certificate: "in the certificate"
        case .tlsExtension: "in the handshake"
        case .stapledResponse: "in the OCSP response"
        }
    }

    private static func name(_ timestamp: SignedTimestamp, _ log: CTLogList.Log?) -> String {
        if let log { return "the log '\(log.name.terminalSafe(limit: 80))'" }
        return "the log \(Base64.encode(timestamp.logIdentifier))"
    }

    /// Real servers deliver two to eight.
    private static let maximumChecks = 64
}
