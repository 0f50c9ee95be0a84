// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import CheckExporter
import Findings
import Foundation
import Logging
import ServiceLifecycle
import TLSProbe
import TrustService
import UnixSignals

struct ExporterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exporter",
        abstract: "Checks for Prometheus, in the manner of its blackbox exporter.",
        discussion: """
            /probe?target=URL&os=ID is one check as metrics: probe_success, sealward_ats_verdict, sealward_ats_cause by code,
            probe_ssl_earliest_cert_expiry, sealward_ats_large_hello_failure, sealward_ats_group. /metrics counts the checks. Whoever reaches the
            port chooses where checks connect, so an address beyond loopback needs --allow for each target, or --allow-any.

            Example: sealward ats exporter --listen 127.0.0.1:9886 --os ios26

            Exit status: 0 stopped by a signal, 2 it cannot listen or a file cannot be used, 64 usage.
            """
    )

    @Option(help: ArgumentHelp("Where to listen; port 0 takes a free one.", valueName: "HOST:PORT"))
    var listen = SimulatorAddress(host: "127.0.0.1", port: 9886)

    @OptionGroup var system: SystemOptions

    @Option(
        help: ArgumentHelp(
            "A target that may be asked for, with any port or with this one; may be repeated.",
            valueName: "HOST[:PORT]"
        )
    )
    var allow: [String] = []

    @Flag(help: "Let whoever reaches the port ask for every target, also beyond loopback.")
    var allowAny = false

    @Option(help: ArgumentHelp("The most checks at the same time; more are answered with 503.", valueName: "N"))
    var concurrency = 16

    @Option(help: ArgumentHelp("Seconds for each connection.", valueName: "S"))
    var connectTimeout: Double = 10

    @Option(help: ArgumentHelp("Seconds for each check; less if Prometheus waits less.", valueName: "S"))
    var timeout: Double = 30

    @Flag(name: .customLong("no-http"), help: "Judge the handshakes only; do not load.")
    var noHTTP = false

    @Flag(name: .customLong("no-aia"), help: "Do not fetch a missing intermediate certificate.")
    var noAIA = false

    @Flag(help: "Let redirects and fetched intermediates lead to private addresses.")
    var allowPrivate = false

    @OptionGroup var trust: TrustOptions

    @OptionGroup var transparency: TransparencyOptions

    @OptionGroup var places: ResolveOptions

    @Flag(help: "Log errors only.")
    var quiet = false

    func validate() throws {
        guard connectTimeout > 0, connectTimeout <= 86_400, timeout > 0, timeout <= 50 else {
            throw ValidationError("--timeout is more than 0 and at most 50 seconds, --connect-timeout at most 86400.")
        }
        guard (1...1024).contains(concurrency) else { throw ValidationError("--concurrency is from 1 to 1024.") }
        guard allow.isEmpty || !allowAny else { throw ValidationError("Give --allow or --allow-any, not both.") }
        guard address.isLoopback || allowAny || !allow.isEmpty else {
            throw ValidationError(
                "\(listen) is reached from other machines: name the targets with --allow HOST[:PORT], or say --allow-any."
            )
        }
    }

    private var address: ListenAddress { ListenAddress(host: listen.host, port: listen.port) }

    func run() async throws {
        try await CommandIO.run {
            // A peer that goes away while it is written to is no reason to end.
            signal(SIGPIPE, SIG_IGN)
            let (system, settings) = (system, try settings())
            var configuration = CheckExporter.Configuration(
                listen: address,
                named: { id throws(MalformedInput) in
                    let asked = try OSProfile.asked(id)
                    let profile = system.sdk.map(asked.linked) ?? asked
                    guard profile.hasTransportSecurity else {
                        throw MalformedInput(code: .malformedSystem, reason: profile.absence)
                    }
                    return profile
                },
                session: { profile throws(MalformedInput) in
                    var settings = settings
                    settings.profile = profile
                    return try CheckSession(settings)
                }
            )
            configuration.profile = try system.profile()
            configuration.concurrency = concurrency
            configuration.timeout = .seconds(timeout)
            configuration.allowed = try allow.map { text in
                do {
                    return try AllowedTarget(text)
                } catch {
                    throw ValidationError("--allow: \(error).")
                }
            }
            // Files that cannot be used are said now, not with the first scrape.
            _ = try configuration.session(configuration.profile)
            try await serve(configuration)
            return .clean
        }
    }

    private func settings() throws -> CheckSession.Configuration {
        var settings = CheckSession.Configuration()
        settings.appSDK = system.sdk
        settings.loadsHTTP = !noHTTP
        settings.fetchesIntermediates = !noAIA
        settings.installedRoots = trust.caFile
        settings.systemRoots = trust.roots
        settings.overrides = try places.overrides()
        settings.connectTimeout = .seconds(connectTimeout)
        settings.targetTimeout = .seconds(timeout)
        settings.allowsPrivateRedirects = allowPrivate
        settings.logs = try transparency.logs()
        return settings
    }

    private func serve(_ configuration: CheckExporter.Configuration) async throws {
        var log = Logger(label: "sealward") { StreamLogHandler.standardError(label: $0) }
        log.logLevel = quiet ? .error : .info
        let exporter = CheckExporter(configuration, log: log) { CommandIO.say($0) }
        var group = ServiceGroupConfiguration(
            services: [exporter],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: log
        )
        group.maximumGracefulShutdownDuration = .seconds(5)
        do {
            try await ServiceGroup(configuration: group).run()
        } catch let fault as ListenFault {
            throw CommandFault("\(fault.reason).")
        }
    }
}
