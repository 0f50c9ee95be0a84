// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import CoreMetrics
import HTTPService
import Vocabulary

/// One report as a page of metrics. Names that blackbox_exporter has too mean the same here.
enum ProbeText {
    /// - Parameter elapsed: from the scrape to the verdict.
    static func text(_ report: TargetReport, after elapsed: Duration) -> String {
        let registry = PrometheusRegistry()
        func set(_ label: String, _ value: Double, _ dimensions: [(String, String)] = []) {
            Meter(label: label, dimensions: dimensions, factory: registry).set(value)
        }
        let summary = TargetSummary(report)
        set("probe.success", summary.verdict == .pass ? 1 : 0)
        set("probe.duration.seconds", elapsed / .seconds(1))
        if let status = report.status { set("probe.http.status.code", Double(status)) }
        if let notAfter = summary.notAfter { set("probe.ssl.earliest.cert.expiry", Double(notAfter)) }
        for verdict in [TargetSummary.Verdict.pass, .fail, .undetermined] {
            set(
                "sealward.ats.verdict", verdict == summary.verdict ? 1 : 0, [("verdict", verdict.rawValue.lowercased())]
            )
        }
        let causes = report.decisive?.because ?? []
        for cause in causes { set("sealward.ats.cause", 1, [("code", cause.code.rawValue)]) }
        set("sealward.ats.large.hello.failure", causes.contains { $0.code == .tlsLargeHello } ? 1 : 0)
        if let group = summary.group { set("sealward.ats.group", 1, [("group", group)]) }
        set("sealward.ats.hellos", Double(report.handshakes))
        return registry.render()
    }
}
