// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import Formats
import FoundationEssentials
import TLSModel
import Vocabulary

/// What became of one chain: a verdict, or why there is none.
struct CertificateAnswer {
    enum Verdict: String { case pass, fail, undetermined }

    let file: String?
    let host: String?
    let verdict: Verdict
    private let because: [Cause]
    private let report: CertificateReport?

    init(file: String, host: String?, _ report: CertificateReport) {
        self.file = file
        self.host = host
        self.report = report
        // A chain is judged before it is installed: doubt about the key of its root counts against it.
        verdict = report.passed ? .pass : .fail
        because = report.because
    }

    /// A chain that could not be judged.
    init(file: String?, host: String?, code: Code, reason: String) {
        self.file = file
        self.host = host
        report = nil
        verdict = .undetermined
        because = [Cause(code, reason)]
    }

    /// One certificate of `sealward.ats-certificate/1`.
    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("file", .optional(file)), .init("host", .optional(host)), .init("verdict", .string(verdict.rawValue)),
            .init("because", .array(because.map(\.json))), .init("facts", report?.factsJSON ?? .null),
        ]
        if let notes = report?.notes, !notes.isEmpty { members.append(.init("notes", .array(notes.map(\.json)))) }
        return .object(members)
    }

    /// One line for the chain, then what the leaf is, the causes and the fix.
    func text(colored: Bool) -> String {
        var lines = ["\(word(colored))  \((file ?? "-").terminalSafe)" + (host.map { "  \($0.terminalSafe)" } ?? "")]
        func detail(_ label: String, _ text: String) {
            lines.append("      \(label.padded(to: 7))\(text.terminalSafe)")
        }
        if let leaf = report?.facts.chain.judged.first {
            detail("leaf", "\(leaf.subject), until \(RFC3339.text(leaf.notAfter))")
        }
        if let anchor = report?.facts.chain.anchor {
            detail("root", "\(anchor.certificate.subject) (\(anchor.kind.rawValue), \(anchor.store))")
        }
        for cause in because { detail("cause", "\(cause.code): \(cause.message)") }
        if let cause = because.first, let fix = Remediation(for: cause) { detail("fix", fix.server) }
        for note in report?.notes ?? [] { detail("note", note.message) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func word(_ colored: Bool) -> String {
        let (word, color) =
            switch verdict {
            case .pass: ("PASS", 32)
            case .fail: ("FAIL", 31)
            case .undetermined: ("UNDETERMINED", 33)
            }
        return colored ? "\u{1B}[\(color)m\(word)\u{1B}[0m" : word
    }
}
