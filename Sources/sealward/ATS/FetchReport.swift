// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import ATSDiagnostics
import AppTransportSecurity
import Findings
import Foundation
import HTTPTypes
import TLSFacts

/// Renders a load as `sealward.ats-fetch/1` and as text.
enum FetchReport {
    static func json(_ report: LoadReport) -> JSONValue {
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
            "error": report.error?.json ?? .null,
            "because": .array(report.because.map(\.json)),
            "remedies": .array(report.remedies.map(\.json)),
            "headers": .array(
                report.headerFields.map { ["name": .string($0.name.rawName), "value": .string($0.value)] }
            ),
            "bodyBytes": .integer(report.bodyLength),
            "connection": report.connection?.json(ofWiderHello: false, at: Date()) ?? .null,
        ]
    }

    /// Status line and header fields, as `--include` prints them.
    static func head(_ response: ATSResponse) -> String {
        var text = "HTTP \(response.status.code)\r\n"
        for field in response.head.headerFields {
            text += "\(field.name.rawName): \(field.value.terminalSafe)\r\n"
        }
        return text + "\r\n"
    }

    /// Why nothing was loaded, for people.
    static func refusal(_ report: LoadReport) -> [String] {
        var lines = ["\(report.result == .refused ? "refused" : "no answer"): \(report.url.terminalSafe)"]
        for hop in report.hops.dropLast() {
            lines.append("  redirected from \(hop.url.terminalSafe) (\(hop.status.map(String.init) ?? "-"))")
        }
        for cause in report.because { lines.append("  \(cause.code): \(cause.message.terminalSafe)") }
        if let error = report.error {
            let stream = error.streamCode.map { ", stream code \($0)" } ?? ""
            lines.append("  an app gets \(error.domain) \(error.code)\(stream): \(error.message.terminalSafe)")
        }
        for remedy in report.remedies { lines.append("  \(remedy.description.terminalSafe)") }
        return lines
    }
}
