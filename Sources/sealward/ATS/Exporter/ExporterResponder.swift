// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import FoundationEssentials
import HTTPService
import HTTPTypes
import Logging
import ServiceLifecycle
import TLSModel
import TLSProbe
import Vocabulary

/// The pages of an exporter, which judges servers for Prometheus, like its blackbox exporter: a scrape of `/probe?target=URL` is one check.
///
/// Scrapes of the same target at the same time share one check. Every check has a deadline, and only so many run at once: more are answered
/// with 503 at once, which Prometheus shows as a target that is down, and counted.
struct ExporterResponder: Sendable {
    /// The targets that may be asked for; empty allows every one.
    let allowed: [AllowedTarget]
    /// Whether checks load the URL. If not, targets that differ in path and query only have one result.
    let loadsHTTP: Bool
    /// The most checks at the same time. One client, or one server, gets half of them, and one client for one server a quarter.
    let concurrency: Int
    /// The most time for one check; a scrape that names a shorter one gets that, less ``SharedChecks/margin``.
    let timeout: Duration
    /// The system of a scrape that names none, and the SDK of every one.
    let system: SystemOptions
    let sessions: MinuteSessions
    let checks: SharedChecks
    let observer: RequestObserver
    let browsers: BrowserGate
    private let sampler = LineSampler(1, every: 60)

    /// Why a scrape gets no report.
    private enum Refusal: String, CaseIterable {
        case malformed
        case notAllowed = "not-allowed"
        case busy
        /// The client, or the server that is asked for, has its share of the checks.
        case share
        /// `Host` is no name of the exporter.
        case host
        /// A page of another site asks.
        case origin
        /// A file of roots cannot be read.
        case roots
    }

    /// Counts from zero: Prometheus sees no increase in a series that begins with its first event.
    func begin() { for reason in Refusal.allCases { count(reason, by: 0) } }

    func answer(_ request: IncomingRequest) async -> Answer {
        switch browsers.judge(request.head) {
        case .admitted: break
        case .otherHost:
            return refuse(
                .host, 421, "The exporter does not answer to the name in Host; --host NAME adds it.")
        case .otherOrigin:
            return refuse(.origin, 403, "A web page of another site may not ask this; use a program.")
        }
        let (path, query) = request.target
        guard request.head.method == .get || request.head.method == .head else {
            return ExporterResponder.text(
                405, "Only GET and HEAD are supported here.", [(.allow, "GET, HEAD")])
        }
        switch path {
        case "/probe": return await probe(request.head, query, from: CallerAddress.bucket(of: request.peer))
        case "/metrics": return ExporterResponder.metrics(observer.registry.render())
        case "/":
            return ExporterResponder.text(200, "/probe?target=URL[&os=ID] checks a server; /metrics counts the checks.")
        default: return ExporterResponder.text(404, "The pages are /probe?target=URL[&os=ID] and /metrics.")
        }
    }

    private func probe(_ request: HTTPRequest, _ query: String, from client: String) async -> Answer {
        let start = ContinuousClock.now
        let target: CheckTarget
        let profile: OSProfile
        do throws(MalformedInput) {
            (target, profile) = try asked(query)
        } catch {
            return refuse(.malformed, 400, "\(error.reason.terminalSafe).")
        }
        guard allowed.isEmpty || allowed.contains(where: { $0.allows(target) }) else {
            return refuse(.notAllowed, 403, "This target is not allowed by --allow.")
        }
        // Nothing that a check finds is in the head of an answer.
        if request.method == .head { return ExporterResponder.metrics("") }
        let session: CheckSession
        do throws(MalformedInput) {
            session = try sessions.session(for: profile)
        } catch {
            return withoutRoots(error)
        }
        let address = AddressKind.isLoopback(host: target.url.host) ? "127.0.0.1" : target.url.host
        let scope = AllowedTarget.scope(of: target.url.host, target.url.effectivePort, among: allowed)
        // A name may be at such an address too; then its check connects nowhere, and says so.
        guard IPAddress(address) == nil || scope.allows(address: address) else {
            return refuse(
                .notAllowed, 403,
                "This target is in a private network or on this machine; start the exporter with --allow for it.")
        }
        let limit = ExporterResponder.limit(of: request.headerFields, atMost: timeout)
        let server = "\(target.url.host) \(target.url.effectivePort)"
        let load = loadsHTTP ? target.url.text : "\(target.url.isSecure) \(server)"
        let name = UTF8Key("\(profile.id) \(profile.sdk?.description ?? "") \(load)")
        let answer = await checks.report(name, for: client, of: server, within: limit) {
            await TargetDeadline.within(limit) { await session.check(target) }
        }
        // Its check was given up: that says nothing about the target.
        if Task.isShuttingDownGracefully { return ExporterResponder.text(503, "The exporter is ending.") }
        let report: TargetReport
        switch answer {
        case .report(let made): report = made
        // A check without time connects nowhere, and its report says so.
        case .late: report = await TargetDeadline.within(.zero) { await session.check(target) }
        case .busy:
            return refuse(
                .busy, 503,
                "\(concurrency) checks are running; raise --concurrency or scrape less often.",
                [(.retryAfter, "1")])
        case .shareTaken:
            return refuse(
                .share, 503,
                "One client, or one server, gets half of the \(concurrency) checks at once, and one client for one server "
                    + "a quarter; raise --concurrency or scrape less often.", [(.retryAfter, "1")])
        }
        let summary = TargetSummary(report)
        observer.count(.exporterChecks, [("verdict", summary.verdict.rawValue.lowercased())])
        return ExporterResponder.metrics(ProbeText.text(report, after: ContinuousClock.now - start))
    }

    private func asked(_ text: String) throws(MalformedInput) -> (CheckTarget, OSProfile) {
        let query: StrictQuery
        do {
            query = try StrictQuery(text, known: ["target", "os"])
        } catch {
            throw MalformedInput(
                code: .requestMalformed, reason: "\(error.evidence); the parameters are target and os, each once")
        }
        guard let target = query["target"] else {
            throw MalformedInput(
                code: .requestMalformed, reason: "the query names no target; write /probe?target=https://example.com")
        }
        let profile = try query["os"].map { id throws(MalformedInput) in try OSProfile.asked(id) }
        return (try CheckTarget(target), try system.judged(on: profile))
    }

    /// The time for a check: what Prometheus says that it waits, less a margin, within the exporter's own limit.
    static func limit(of headers: HTTPFields, atMost most: Duration) -> Duration {
        guard let name = HTTPField.Name("X-Prometheus-Scrape-Timeout-Seconds"), let text = headers[name],
            text.utf8.count <= 16, let seconds = Double(text), seconds > 0, seconds <= 86_400
        else { return most }
        return min(most, max(SharedChecks.margin, .seconds(seconds) - SharedChecks.margin))
    }

    private func refuse(
        _ reason: Refusal, _ status: Int, _ sentence: String, _ headers: [(name: HTTPField.Name, value: String)] = []
    ) -> Answer {
        count(reason, by: 1)
        return ExporterResponder.text(status, sentence, headers)
    }

    private func count(_ reason: Refusal, by amount: Int) {
        observer.count(.exporterRefused, [("reason", reason.rawValue)], by: amount)
    }

    /// The scraper learns no path; the log names the file.
    private func withoutRoots(_ fault: MalformedInput) -> Answer {
        if sampler.note(Refusal.roots.rawValue, at: SystemSources.live.uptime()) != nil {
            observer.log.error(
                "Roots cannot be read, so no check is made; this is logged at most once a minute.",
                metadata: ["reason": "\(fault.description.terminalSafe)", "options": "--roots, --ca-file"])
        }
        return refuse(.roots, 503, "The exporter cannot read its roots; its log names the file.")
    }

    private static func metrics(_ text: String) -> Answer {
        answer(200, text, type: "text/plain; version=0.0.4; charset=utf-8", [])
    }

    private static func text(
        _ status: Int, _ sentence: String, _ headers: [(name: HTTPField.Name, value: String)] = []
    ) -> Answer {
        answer(status, sentence + "\n", type: "text/plain; charset=utf-8", headers)
    }

    private static func answer(
        _ status: Int, _ text: String, type: String, _ more: [(name: HTTPField.Name, value: String)]
    ) -> Answer {
        Answer(
            status: status, contentType: type, body: Array(text.utf8),
            headers: more + [(.xContentTypeOptions, "nosniff")])
    }
}

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
