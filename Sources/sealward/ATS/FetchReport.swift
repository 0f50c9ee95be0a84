// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
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
            "error": report.error.map(ExplainReport.json) ?? .null,
            "because": .array(report.because.map(ExplainReport.json)),
            "remedies": .array(report.remedies.map(json)),
            "headers": .array(
                report.headerFields.map { ["name": .string($0.name.rawName), "value": .string($0.value)] }
            ),
            "bodyBytes": .integer(report.bodyLength),
            "connection": report.connection.map(json) ?? .null,
        ]
    }

    static func json(_ remedy: Remedy) -> JSONValue {
        [
            "keyPath": .string(remedy.keyPath), "value": .string(remedy.value),
            "asksReview": .bool(remedy.asksReview), "needsDelegate": .bool(remedy.needsDelegate),
        ]
    }

    private static func json(_ facts: ConnectionFacts) -> JSONValue {
        [
            "version": .string(facts.handshake.version.description),
            "cipherSuite": .string(facts.handshake.suite.description),
            "group": .optional(facts.handshake.group?.description),
            "subject": .optional(facts.chain.presented.first?.subject),
            "anchor": .optional(facts.chain.anchor?.certificate.subject),
            "anchorKind": .optional(facts.chain.anchor?.kind.rawValue),
        ]
    }

    /// Status line and header fields, as `--include` prints them.
    static func head(_ response: ATSResponse) -> String {
        var text = "HTTP \(response.status.code)\r\n"
        for field in response.head.headerFields { text += "\(field.name.rawName): \(field.value)\r\n" }
        return text + "\r\n"
    }

    /// Why nothing was loaded, for people.
    static func refusal(_ report: LoadReport) -> [String] {
        var lines = ["\(report.result == .refused ? "refused" : "no answer"): \(clean(report.url))"]
        for hop in report.hops.dropLast() {
            lines.append("  redirected from \(clean(hop.url)) (\(hop.status.map(String.init) ?? "-"))")
        }
        for cause in report.because { lines.append("  \(cause.code): \(clean(cause.message))") }
        if let error = report.error {
            let stream = error.streamCode.map { ", stream code \($0)" } ?? ""
            lines.append("  an app gets \(error.domain) \(error.code)\(stream): \(clean(error.message))")
        }
        for remedy in report.remedies { lines.append("  \(clean(remedy.description))") }
        return lines
    }

    /// Text from servers without control characters, so that it cannot drive a terminal.
    static func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) ? "?" : $0 }
            )
        )
    }
}
