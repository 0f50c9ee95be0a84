// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import ConnectionAdmission
import FoundationEssentials
import HTTPService
import Logging
import ServiceLifecycle
import TLSProbe
import TrustService
import Vocabulary

struct ExporterCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "exporter",
        abstract: "Serve checks to Prometheus, like its blackbox exporter.",
        discussion: """
            /probe?target=URL&os=ID is one check as metrics: probe_success, sealward_ats_verdict, sealward_ats_cause by code, \
            probe_ssl_earliest_cert_expiry, sealward_ats_large_hello_failure, sealward_ats_group. /metrics counts the checks. Anyone who reaches the \
            port chooses where checks connect, so an address beyond loopback needs --allow for each target, or --allow-any. Targets in private \
            networks and on this machine need --allow in any case.

            Example: sealward ats exporter --listen 127.0.0.1:9886 --os ios26

            Exit status: 0 stopped by a signal, 2 it cannot listen or a file cannot be used, 64 usage.
            """
    )

    @Option(help: .value("Where to listen; port 0 picks a free port.", "HOST:PORT"))
    var listen = ListenAddress(host: "127.0.0.1", port: 9886)

    @OptionGroup var system: SystemOptions

    @Option(
        help: .value(
            "A target that may be requested, at ports 443 and 80 or at this one; may be repeated.", "HOST[:PORT]"))
    var allow: [String] = []

    @Flag(help: "Let anyone who reaches the port request any target, also beyond loopback.")
    var allowAny = false

    @OptionGroup var names: HostNames

    @OptionGroup var secure: ListenerOptions

    @Option(help: .value("How many checks may run at once; more are answered with 503.", "N"))
    var concurrency = 16

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup var logging: LogOptions

    func validate() throws {
        // Prometheus gives up after its own timeout, a minute at most unless that is raised.
        guard connection.timeout <= 50 else { throw ValidationError("--timeout must be at most 50 seconds.") }
        guard (1...1024).contains(concurrency) else { throw ValidationError("--concurrency must be from 1 to 1024.") }
        guard allow.isEmpty || !allowAny else { throw ValidationError("Give --allow or --allow-any, not both.") }
        guard listen.isLoopback || allowAny || !allow.isEmpty else {
            throw ValidationError(
                "\(listen) can be reached from other machines: name the targets with --allow HOST[:PORT], or use --allow-any."
            )
        }
    }

    func outcome() async throws -> Outcome {
        let registry = PrometheusRegistry()
        let output = logging.output(registry)
        defer { output.finish(within: CommandIO.lastWords) }
        var log = output.logger
        log.logLevel = logging.level
        let observer = RequestObserver(registry: registry, log: log)
        let profile = try system.profile()
        var asked = try connection.settings(profile, sdk: system.sdk)
        let allowed = try allow.map { text in
            try CommandIO.argument("--allow") { () throws(MalformedInput) in try AllowedTarget(text) }
        }
        asked.limits = { AllowedTarget.scope(of: $0, $1, among: allowed) }
        let identity = try await LiveIdentity(secure)
        var listening = Listener.Place(setting: "--listen", host: listen.host, port: listen.port)
        listening.identity = identity?.current
        let place = listening
        let sessions = MinuteSessions(asked)
        // Files that cannot be used are said now, not with the first scrape.
        _ = try CheckSession(asked)
        // Each check needs a connection besides that of its scrape.
        let most = min(concurrency, DescriptorLimit.current().connections(taking: 2))
        let responder = ExporterResponder(
            allowed: allowed, loadsHTTP: asked.loadsHTTP, concurrency: most, timeout: .seconds(connection.timeout),
            system: system, sessions: sessions, checks: SharedChecks(limit: most, observer: observer),
            observer: observer, browsers: BrowserGate(listener: place.host, names: names.host))
        responder.begin()
        let say: @Sendable (String) -> Void = { output.write(CommandIO.lines($0)) }
        let listener = Listener(
            place, admission: observer.admission(DescriptorLimit.current().limits(), to: "public"), observer: observer,
            log: log, announce: { say("listening on \(place.url(port: $0))") }, answer: responder.answer)
        do {
            let services: [any Service] = [listener] + LiveIdentity.services(identity, say: say)
            try await ServiceGroup.run(services, stopping: .seconds(5), log: log)
        } catch let fault as ListenFault {
            throw CommandFault("\(fault.reason).")
        }
        return .clean
    }
}
