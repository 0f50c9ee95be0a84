// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import HTTPService
import Vocabulary

/// One report as a page of metrics. Names that blackbox_exporter has too mean the same here.
enum ProbeText {
    /// - Parameter elapsed: from the scrape to the verdict.
    static func text(_ report: TargetReport, after elapsed: Duration) -> String {
        let registry = PrometheusRegistry()
        let summary = TargetSummary(report)
        registry.set(.probeSuccess, summary.verdict == .pass ? 1 : 0)
        registry.set(.probeDuration, elapsed / .seconds(1))
        if let status = report.status { registry.set(.probeStatus, Double(status)) }
        if let notAfter = summary.notAfter { registry.set(.probeCertificateExpiry, Double(notAfter)) }
        for verdict in [TargetSummary.Verdict.pass, .fail, .undetermined] {
            registry.set(
                .checkVerdict, verdict == summary.verdict ? 1 : 0, [("verdict", verdict.rawValue.lowercased())]
            )
        }
        let causes = report.decisive?.because ?? []
        for cause in causes { registry.set(.checkCause, 1, [("code", cause.code.rawValue)]) }
        registry.set(.checkLargeHello, causes.contains { $0.code == .tlsLargeHello } ? 1 : 0)
        if let group = summary.group { registry.set(.checkGroup, 1, [("group", group)]) }
        registry.set(.checkHellos, Double(report.handshakes))
        return registry.render()
    }
}
