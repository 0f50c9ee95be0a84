// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import ArgumentParser
import Findings
import Foundation
import Logging
import ServiceLifecycle
import TrustService
import TrustStores
import TrustStoresSQLite
import UnixSignals

#if Postgres
    import TrustStoresPostgres
#endif

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "The trust service over HTTP.",
        discussion: """
            Every setting may also stand in the environment: challenges.ttlSeconds is SEALWARD_CHALLENGES_TTL_SECONDS.

            Example: sealward serve --config sealward.json
            """
    )

    @Option(name: .long, help: ArgumentHelp("The configuration, as JSON.", valueName: "FILE"))
    var config: String?

    @Flag(name: .long, help: "Check the configuration and everything that it names, then end.")
    var checkConfig = false

    @Flag(name: .long, help: "Never use colour.")
    var noColor = false

    @Flag(name: .long, help: "Log errors alone.")
    var quiet = false

    func run() async throws {
        try await CommandIO.run {
            guard let settings = try read() else { return .undetermined }
            if checkConfig {
                CommandIO.say("The configuration is complete.")
                return .clean
            }
            return try await serve(settings)
        }
    }

    /// The configuration, or nil after everything that is wrong with it has been printed.
    private func read() throws -> Configuration? {
        let bytes = try config.map { try CommandIO.read($0, limit: 4 << 20) }
        let file = config.map(CommandIO.name(of:))
        let outcome = ConfigurationReader.read(
            file: bytes,
            environment: ProcessInfo.processInfo.environment,
            readFile: ServeCommand.readFile
        )
        switch outcome {
        case .issues(let issues):
            for issue in issues.prefix(ServeCommand.mostIssues) { CommandIO.say(issue.sentence(file: file)) }
            if issues.count > ServeCommand.mostIssues {
                CommandIO.say(
                    "\(file ?? "configuration"): \(issues.count - ServeCommand.mostIssues) more settings are wrong"
                )
            }
            return nil
        case .configuration(let settings):
            #if !Postgres
                if case .postgres = settings.store {
                    CommandIO.say("store: this build has no PostgreSQL; build it with the trait Postgres")
                    return nil
                }
            #endif
            return settings
        }
    }

    /// No configuration of people has more faults; a file of another kind may have millions.
    private static let mostIssues = 100

    /// Reads a file that a configuration names: tokens, keys and roots, none of which comes near the limit.
    static func readFile(_ path: String) throws(UnreadableFile) -> [UInt8] {
        do {
            return try CommandIO.read(path, limit: 1 << 20)
        } catch {
            throw UnreadableFile(reason: error.reason)
        }
    }

    private func serve(_ settings: Configuration) async throws -> Outcome {
        // A peer that goes away while it is written to is no reason to end.
        signal(SIGPIPE, SIG_IGN)
        var log = Logger(label: "sealward") { StreamLogHandler.standardError(label: $0) }
        log.logLevel = quiet ? .error : .info
        if let level = ProcessInfo.processInfo.environment["SEALWARD_LOG_LEVEL"].flatMap({ Logger.Level(rawValue: $0) })
        {
            log.logLevel = level
        }
        if settings.trustSimulator != nil {
            CommandIO.say(
                "WARNING: simulated devices are trusted. Their tokens carry another issuer and \"sim\": true."
            )
        }
        if settings.apps.isEmpty { log.warning("No app is configured.") }
        if settings.receipts.refresh, settings.apple == nil {
            log.warning("Receipts are not refreshed: no Apple account is configured.")
        }
        let server: TrustServer
        do {
            let store = try await open(settings.store)
            server = try await TrustServer(
                configuration: settings,
                store: store,
                transport: LiveAppleTransport(),
                log: log,
                announce: { CommandIO.say($0) }
            )
        } catch let fault as StoreFault {
            throw CommandFault("the store: \(fault.reason).")
        } catch let fault as AppleAuthorizationFault {
            throw CommandFault("apple: \(fault.reason).")
        }
        var group = ServiceGroupConfiguration(
            services: [.init(service: server, successTerminationBehavior: .gracefullyShutdownGroup)],
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

    private func open(_ location: StoreLocation) async throws -> any TrustStore {
        switch location {
        case .sqlite(let path): return try SQLTrustStore.sqlite(at: path)
        case .postgres(let url):
            #if Postgres
                return try await SQLTrustStore.postgres(url)
            #else
                throw StoreFault.unavailable("this build has no PostgreSQL (\(url.prefix(8))...)")
            #endif
        }
    }
}
