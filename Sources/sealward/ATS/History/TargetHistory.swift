// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import Formats
import FoundationEssentials
import Vocabulary

/// What became of one target from run to run.
struct TargetHistory: Sendable {
    /// What is compared between two runs.
    enum Field: String, Sendable, CaseIterable { case verdict, cause, certificate, expiry, group }

    /// One difference between a run and the one before it that has the target and asked the same.
    struct Change: Sendable, Equatable {
        /// The time that the later run judged at, in seconds since 1970.
        let at: Int64
        let field: Field
        let before: String?
        let after: String?
    }

    let target: String
    /// Oldest first.
    let observations: [HistoryFile.Observation]
    /// Oldest first.
    let changes: [Change]

    /// - Parameter since: changes of earlier runs are left out, in seconds since 1970.
    init(_ target: String, _ observations: [HistoryFile.Observation], since: Int64? = nil) {
        self.target = target
        self.observations = observations
        var previous: [UTF8Key: HistoryFile.Observation] = [:]
        changes = observations.flatMap { after -> [Change] in
            // Another system or dictionary may judge otherwise: that is no change of the server.
            guard let before = previous.updateValue(after, forKey: UTF8Key(after.asked)) else { return [] }
            if let since, after.at < since { return [] }
            return Field.allCases.compactMap { field in
                let (old, new) = (field.value(before.summary), field.value(after.summary))
                return old == new ? nil : Change(at: after.at, field: field, before: old, after: new)
            }
        }
    }

    /// The last observation; nil if every run that had the target was forgotten.
    var last: HistoryFile.Observation? { observations.last }

    /// Those that asked the same as the last one, oldest first: they can be compared.
    var comparable: [HistoryFile.Observation] {
        guard let last else { return [] }
        return observations.filter { $0.asked.hasSameBytes(as: last.asked) }
    }

    var json: JSONValue {
        func at(_ seconds: Int64) -> JSONValue.Member { .init("at", .string(TargetHistory.time(seconds))) }
        let last = last.map { JSONValue.object([at($0.at)] + ($0.summary.json.members ?? [])) }
        let changes = changes.map { change in
            JSONValue.object([
                at(change.at), .init("field", .string(change.field.rawValue)),
                .init("before", .optional(change.before)), .init("after", .optional(change.after)),
            ])
        }
        return [
            "target": .string(target), "runs": .integer(observations.count), "last": last ?? .null,
            "changes": .array(changes),
        ]
    }

    /// For a terminal: the target, and a line for each change; empty if nothing changed.
    var text: String {
        if changes.isEmpty { return "" }
        var text = "\(target.terminalSafe)\n"
        for change in changes {
            text +=
                "  \(TargetHistory.time(change.at))  \(change.field.rawValue)  \(TargetHistory.shown(change.before)) -> "
            text += "\(TargetHistory.shown(change.after))\n"
        }
        return text
    }

    /// A value of a field, safe to show.
    static func shown(_ value: String?) -> String { value.map { $0.terminalSafe(limit: 120) } ?? "none" }

    /// RFC 3339 in UTC.
    static func time(_ seconds: Int64) -> String {
        RFC3339.text(Date(timeIntervalSince1970: Double(seconds)))
    }
}

extension TargetHistory.Field {
    fileprivate func value(_ summary: TargetSummary) -> String? {
        switch self {
        case .verdict: summary.verdict.rawValue
        case .cause: summary.cause
        case .certificate: summary.certificate
        case .expiry: summary.notAfter.map(TargetHistory.time)
        case .group: summary.group
        }
    }
}
