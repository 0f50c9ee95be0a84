// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import ATSClient
package import AppTransportSecurity
package import Formats
package import FoundationEssentials
import HTTPTypes
import TLSModel
import Vocabulary

/// Renders a load as `sealward.ats-fetch/1` and as text.
package enum FetchReport {
    package static func json(_ report: LoadReport, under policy: ATSPolicy, at instant: Date) -> JSONValue {
        [
            "schema": "sealward.ats-fetch/1",
            "result": .string(report.result.rawValue),
            "status": .optional(report.status),
            "url": .string(report.url),
            "hops": .array(
                report.hops.map { hop in
                    ["url": .string(hop.url), "status": .optional(hop.status), "location": .optional(hop.location)]
                }
            ),
            "error": report.error?.json(on: policy.profile, host: host(report), causes: report.because)
                ?? .null,
            "because": .array(report.because.map(\.json)),
            "remedies": .array(report.remedies.map(\.json)),
            "notes": .array(unread(report, policy).map(\.json)),
            "headers": .array(
                report.headerFields.map { ["name": .string($0.name.rawName), "value": .string($0.value)] }),
            "bodyBytes": .integer(report.bodyLength),
            "connection": report.connection?.json(of: AnsweredHello(), at: instant) ?? .null,
        ]
    }

    /// Status line and header fields, as `--include` prints them.
    package static func head(_ response: ATSResponse) -> String {
        var text = "HTTP \(response.status.code)\r\n"
        for field in response.head.headerFields {
            text += "\(field.name.rawName): \(field.value.terminalSafe)\r\n"
        }
        return text + "\r\n"
    }

    /// What the dictionary says in vain for a load that did not succeed.
    private static func unread(_ report: LoadReport, _ policy: ATSPolicy) -> [Cause] {
        guard report.result != .loaded, let url = try? LoadURL(report.url) else { return [] }
        return NearMisses(policy).explaining(policy.decide(url)).unread(isFailing: true)
            .filter { note in !report.because.contains { $0.message.hasSameBytes(as: note.message) } }
    }

    private static func host(_ report: LoadReport) -> String { (try? LoadURL(report.url))?.host ?? "" }

    /// Why nothing was loaded, for people.
    package static func refusal(_ report: LoadReport, under policy: ATSPolicy) -> [String] {
        var lines = ["\(report.result == .refused ? "refused" : "no answer"): \(report.url.terminalSafe)"]
        for hop in report.hops.dropLast() {
            lines.append("  redirected from \(hop.url.terminalSafe) (\(hop.status.map(String.init) ?? "-"))")
        }
        for cause in report.because { lines.append("  \(cause.code): \(cause.message.terminalSafe)") }
        if let error = report.error {
            lines.append("  an app gets \(error.summary.terminalSafe)")
            let console = ConsoleLine.lines(for: error, causes: report.because, host: host(report), on: policy.profile)
            for line in console { lines.append("  its console shows: \(line.text.terminalSafe)") }
        }
        if !report.remedies.isEmpty {
            lines.append("  \(Remedy.sentence(report.remedies, after: report.because).terminalSafe)")
        }
        for note in unread(report, policy) { lines.append("  note: \(note.message.terminalSafe)") }
        return lines
    }
}
