// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import Formats
import Vocabulary

extension LintResult {
    package func json(attest: JSONValue? = nil) -> JSONValue {
        .omittingNone([
            "path": .string(subject.path),
            "bundle": .optional(subject.bundle),
            "minimumOS": .optional(subject.minimumOS?.text),
            "sdk": .optional(subject.sdk?.description),
            "role": .string(subject.role.rawValue),
            "findings": .array(findings.map { LintResult.json($0.finding) }),
            "reviewTriggers": .array(reviewTriggers.map(JSONValue.string)),
            "networkStack": subject.networkStack?.json ?? .null,
            "appAttest": attest,
        ])
    }

    private static func json(_ finding: Finding) -> JSONValue {
        [
            "rule": .string(finding.rule),
            "severity": .string(finding.severity.rawValue),
            "line": .optional(finding.location?.line),
            "column": .optional(finding.location?.column),
            "keyPath": .string(finding.keyPath.keyPathText),
            "keyPathComponents": .array(finding.keyPath.map(JSONValue.string)),
            "message": .string(finding.message),
            "fix": .optional(finding.fix),
            "citation": .optional(finding.citation.map { $0.url ?? $0.source }),
        ]
    }
}

extension DotNetStack {
    fileprivate var json: JSONValue {
        [
            "handler": .string(handler.rawValue), "atsApplies": .bool(atsApplies), "source": .string(source),
            "notFollowed": .array(notFollowed.map(JSONValue.string)),
        ]
    }
}

extension Rule {
    /// What the formats say about the rule.
    package var reportDescription: FindingsReport.RuleDescription {
        (id, severity, summary, reason, citation)
    }
}
