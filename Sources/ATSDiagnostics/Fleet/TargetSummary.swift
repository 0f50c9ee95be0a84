// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
import FoundationEssentials
import TLSModel
import Vocabulary

/// What is compared between two checks of one target: the decisive verdict and why, the leaf certificate, when the chain ends, the group.
package struct TargetSummary: Sendable, Equatable {
    package typealias Verdict = ConfigurationResult.Result

    package let verdict: Verdict
    /// The first cause; nil if the target passes.
    package let cause: String?
    /// The leaf's serial number and the first half of the SHA-256 of its key, so that a renewal with the same key shows too; nil without one.
    package let certificate: String?
    /// When the first certificate of the path expires, in seconds since 1970.
    package let notAfter: Int64?
    /// The group of the key exchange, for example `X25519MLKEM768`.
    package let group: String?

    package init(verdict: Verdict, cause: String?, certificate: String?, notAfter: Int64?, group: String?) {
        self.verdict = verdict
        self.cause = cause
        self.certificate = certificate
        self.notAfter = notAfter
        self.group = group
    }

    package init(_ report: TargetReport) {
        let decisive = report.decisive
        let judged = report.facts?.chain.judged ?? []
        self.init(
            verdict: decisive?.result ?? .undetermined,
            cause: decisive?.because.first?.code.rawValue,
            certificate: judged.first.map { leaf in
                "\(leaf.serialNumber.terminalSafe(limit: 64)) \(leaf.publicKey.sha256.prefix(16).hexadecimal())"
            },
            notAfter: judged.map(\.notAfter).min().flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) },
            group: report.facts?.handshake.group?.description
        )
    }

    /// The verdict of all systems that were asked for: a FAIL on one is a FAIL, and all must pass.
    package static func verdict(_ report: TargetReport) -> Verdict {
        verdict(report.systems.isEmpty ? [report.decisive?.result] : report.systems.map { $0.decisive?.result })
    }

    /// Of several verdicts the worst: FAIL beats undetermined.
    package static func verdict(_ all: [Verdict?]) -> Verdict {
        if all.contains(.fail) { return .fail }
        return all.allSatisfy { $0 == .pass } ? .pass : .undetermined
    }

    package var json: JSONValue {
        [
            "verdict": .string(verdict.rawValue), "cause": .optional(cause), "certificate": .optional(certificate),
            "notAfter": .optional(notAfter.flatMap(Int.init)), "group": .optional(group),
        ]
    }

    /// Nil for a document that ``json`` did not make.
    package init?(json: JSONValue?) {
        guard let json, let verdict = json.member("verdict")?.text.flatMap(Verdict.init) else { return nil }
        self.init(
            verdict: verdict, cause: json.member("cause")?.text, certificate: json.member("certificate")?.text,
            notAfter: json.member("notAfter")?.integer.map(Int64.init), group: json.member("group")?.text)
    }
}
