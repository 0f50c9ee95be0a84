// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import ArgumentParser
import FoundationEssentials
import Glibc
import HTTPService
import Logging
import ServiceLifecycle
import TrustService
import TrustStores
import UnixSignals
import Vocabulary

struct ServeCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "The trust service over HTTP.",
        discussion: """
            Every setting can also be an environment variable: challenges.ttlSeconds is SEALWARD_CHALLENGES_TTL_SECONDS.

            Exit status: 0 stopped by a signal, or the configuration is complete; 2 the configuration, the store or the address cannot be used; \
            64 usage; 75 PostgreSQL did not answer within --store-timeout.

            Example: sealward serve --config sealward.json
            """
    )

    @Option(help: .value("The configuration, as JSON.", "FILE"))
    var config: String?

    @Flag(help: "Validate the configuration and every file it references, then exit.")
    var checkConfig = false

    @Option(help: .value("How long to wait at startup for a PostgreSQL server that does not answer.", "SECONDS"))
    var storeTimeout = 60

    @OptionGroup var logging: LogOptions

    func outcome() async throws -> Outcome {
        guard 0...86_400 ~= storeTimeout else {
            throw CommandFault("--store-timeout must be from 0 to 86400 seconds.")
        }
        let hangUps = await UnixSignalsSequence(trapping: .sighup)
        let secrets = SecretFiles()
        guard let settings = try read(secrets) else { return .undetermined }
        if checkConfig {
            await StoreOpening.nameChanges(settings.store)
            CommandIO.say("The configuration is complete.")
            if let folder = StoreOpening.missingFolder(settings.store) {
                CommandIO.say(
                    "The folder of the store is not here: make \(folder.terminalSafe) before the service starts.")
            }
            return .clean
        }
        return try await serve(settings, secrets, hangUps)
    }

    /// The configuration, or nil after everything that is wrong with it has been printed.
    private func read(_ secrets: SecretFiles) throws -> Configuration? {
        let file = config.map(CommandIO.name(of:))
        switch try ServeCommand.outcome(config, secrets) {
        case .issues(let issues):
            for issue in issues.prefix(ServeCommand.mostIssues) { CommandIO.say(issue.sentence(file: file)) }
            if issues.count > ServeCommand.mostIssues {
                CommandIO.say(
                    "\(file ?? "configuration"): \(issues.count - ServeCommand.mostIssues) more settings are wrong")
            }
            return nil
        case .configuration(let settings):
            if let problem = StoreOpening.problem(with: settings.store) {
                CommandIO.say("store: \(problem)")
                return nil
            }
            if let config { secrets.note(configuration: config, store: settings.store) }
            return settings
        }
    }

    /// Reads the configuration and every file that it names.
    private static func outcome(_ config: String?, _ secrets: SecretFiles) throws -> ConfigurationReader.Outcome {
        let file = try config.map { try CommandIO.readText($0, limit: 4 << 20) }
        if let config, let writers = FileRights.writers(of: config) { throw CommandFault("\(config): \(writers).") }
        let outcome = ConfigurationReader.read(
            file: file,
            environment: ProcessInfo.processInfo.environment, readFile: secrets.read)
        guard case .configuration(let settings) = outcome else { return outcome }
        let issues = settings.listenerKeyFiles.filter { secrets.readable.contains($0.file) }.map { setting, file in
            ConfigurationIssue(
                path: setting,
                reason: "\(file): others may read it; give it the mode 0600, or 0640 with root as its owner")
        }
        return issues.isEmpty ? outcome : .issues(issues)
    }

    /// No configuration of people has more faults; a file of another kind may have millions.
    private static let mostIssues = 100

    private func serve(
        _ settings: Configuration, _ secrets: SecretFiles, _ hangUps: UnixSignalsSequence
    ) async throws -> Outcome {
        let registry = PrometheusRegistry()
        let output = logging.output(registry)
        defer { output.finish(within: CommandIO.lastWords) }
        var log = output.logger
        log.logLevel = logging.level
        let level = ProcessInfo.processInfo.environment[ConfigurationReader.logLevel]
        if let level = level.flatMap({ Logger.Level(rawValue: $0) }) { log.logLevel = level }
        if settings.trustSimulator != nil {
            output.write(
                CommandIO.lines(
                    "WARNING: simulated devices are trusted. Their tokens carry another issuer and \"sim\": true."))
        }
        if settings.appCheck?.simulated == .allow {
            output.write(
                CommandIO.lines(
                    "WARNING: simulated devices get App Check tokens, signed with a key that /v1/jwks publishes, with \"sim\": true."
                ))
        }
        for warning in settings.warnings { log.warning("\(warning)") }
        for (place, owner) in secrets.foreign.sorted(by: { $0.key < $1.key }) {
            log.warning(
                "Another user of this machine can change what the service believes; give it to root or to the user of the service.",
                metadata: ["place": "\(place)", "owner": "\(owner)"])
        }
        for path in secrets.readable {
            log.warning(
                "Other users of this machine may read a secret; give the file the mode 0600, or 0640 with the group of the service and root as its owner.",
                metadata: ["file": "\(path)"])
        }
        if settings.apps.isEmpty { log.warning("No app is configured.") }
        if settings.receipts.refresh, settings.apple == nil {
            log.warning("Receipts are not refreshed: no Apple account is configured.")
        }
        let server: TrustServer
        let opening = StoreOpening(
            location: settings.store, patience: .seconds(storeTimeout),
            observer: StoreObserver(registry: registry, log: log, uptime: SystemSources.live.uptime), log: log)
        do {
            let store = try await opening.open()
            server = try await TrustServer(
                configuration: settings, store: store, transport: LiveAppleTransport(), registry: registry, log: log,
                announce: { output.write(CommandIO.lines($0)) })
        } catch let fault as StoreFault where fault.code == .storeUnavailable && opening.isServer {
            output.write(
                CommandIO.lines("sealward: the store did not answer within \(storeTimeout) seconds: \(fault.reason)."))
            throw ExitCode(StoreOpening.unavailableStatus)
        } catch let fault as StoreFault {
            throw CommandFault("the store: \(fault.reason).")
        } catch let fault as AppleAuthorizationFault {
            throw CommandFault("apple: \(fault.reason).")
        }
        var group = ServiceGroupConfiguration(
            services: [
                .init(service: server, successTerminationBehavior: .gracefullyShutdownGroup),
                .init(
                    service: Rereading(hangUps: hangUps) { [config] in
                        await server.reload { ServeCommand.again(config) }
                    }),
                .init(
                    service: LastMoment { [log] in
                        log.warning("Ended with work undone: the store has not answered in time.")
                        output.finish(within: .milliseconds(300))
                    }
                ),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: log
        )
        group.maximumGracefulShutdownDuration = .seconds(10)
        do {
            try await ServiceGroup(configuration: group).run()
        } catch let fault as ListenFault {
            throw CommandFault("\(fault.reason).")
        } catch {
            throw CommandFault("the service ended: \(error).")
        }
        return .clean
    }

    /// The configuration read again, for SIGHUP. What standard input said is over.
    private static func again(_ config: String?) -> ConfigurationReader.Outcome {
        guard config != "-" else {
            return .issues([ConfigurationIssue(path: "", reason: "standard input cannot be read twice")])
        }
        do {
            return try outcome(config, SecretFiles())
        } catch {
            return .issues([ConfigurationIssue(path: "", reason: "\(error)")])
        }
    }
}

/// Ends the process if it is still there when the time for a stop is over. A store that does not answer holds what waits for it, and no task can
/// give that up. No accepted work is lost: the service answers after the commit.
private struct LastMoment: Service {
    /// From the signal on: what is left of the ten seconds is for the last line of the log.
    static let limit = Duration.seconds(9.5)

    let finish: @Sendable () -> Void

    func run() async throws {
        try await gracefulShutdown()
        // A separate thread, because all others may be blocked.
        SystemThread.start {
            SystemThread.sleep(LastMoment.limit)
            finish()
            _exit(0)
        }
    }
}
