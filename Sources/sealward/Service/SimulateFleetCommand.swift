// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Formats
import FoundationEssentials
import HTTPService
import SimulatedFleet
import Vocabulary

struct SimulateFleetCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Run hundreds to thousands of simulated devices against a service.",
        discussion: """
            Personas: honest, reinstaller, unsupported, tamperer, resigned (a re-signed app), replayer, broker (one device that serves many \
            users). Exit status 0: every persona behaved as expected; 1: an attack was accepted or an honest device refused.

            Example: sealward simulate fleet --service http://127.0.0.1:8080 --apple http://127.0.0.1:8900 --app shop \
            --app-id SIMTEAM001.com.example.shop
            """
    )

    @Option(help: .value("The address of the service.", "URL"))
    var service: String

    @Option(help: .value("The address of simulated Apple.", "URL"))
    var apple: String

    @OptionGroup var connection: ReachOptions

    @Option(help: .value("The id of the app in the service's configuration.", "ID"))
    var app: String

    @Option(help: .value("The App ID that the phones attest.", "PREFIX.BUNDLE"))
    var appId: String

    @Option(help: .value("production or development.", "ENVIRONMENT"))
    var environment: AttestationEnvironment = .production

    @Option(help: .value("How many devices.", "N"))
    var devices = 200

    @Option(help: .value("Weights of personas; a persona that is not named has weight 0.", "NAME=N,..."))
    var mix = PersonaMix.usual

    @Option(help: .value("How many users a broker device serves.", "N"))
    var usersPerBroker = 25

    @Option(help: .value("How many assertions each honest device sends.", "N"))
    var assertions = 2

    @Option(help: .value("How many devices run at a time.", "N"))
    var concurrency = 32

    @Option(
        help: .value(
            "The number that personas, systems and keys are derived from; without it each run has new keys.", "N"))
    var seed: UInt64?

    @Option(help: .value("Seconds to watch brokers until they are noticed.", "S"))
    var watch = 0

    @Option(help: .value("Seconds to wait at the start until both addresses answer.", "S"))
    var wait = 10

    @Option(help: .value("The service's server token, to bind users to challenges.", "FILE"))
    var serverTokenFile: String?

    @Option(help: .value("The service's admin token, to see alerts.", "FILE"))
    var adminTokenFile: String?

    @OptionGroup var form: ResultForm

    mutating func validate() throws {
        for (option, url) in [("--service", service), ("--apple", apple)] where URL(string: url)?.host == nil {
            throw ValidationError(
                "\(option): '\(url.terminalSafe)' is not a URL; write http://HOST:PORT or https://HOST.")
        }
        guard (1...1_000_000).contains(devices) else { throw ValidationError("--devices must be 1 to 1000000.") }
        guard (1...4096).contains(concurrency) else { throw ValidationError("--concurrency must be 1 to 4096.") }
        guard usersPerBroker >= 1, assertions >= 0, watch >= 0, 0...86_400 ~= wait else {
            throw ValidationError(
                "--users-per-broker must be 1 or more, --assertions and --watch 0 or more, --wait 0 to 86400.")
        }
    }

    func result() async throws -> CommandResult {
        let tally = FleetTally()
        let transport = try connection.transport(
            to: [service, apple], timeout: .seconds(60), connectionsPerHost: 64)
        let calls = FleetCalls(
            send: { try await transport.send($0, $1, $2, body: $3) },
            service: SimulateFleetCommand.trimmed(service), apple: SimulateFleetCommand.trimmed(apple), app: app,
            serverToken: try serverTokenFile.map { try CommandIO.token($0, kind: "server token") },
            adminToken: try adminTokenFile.map { try CommandIO.token($0, kind: "admin token") }, tally: tally)
        var plan = Fleet.Plan(appId: appId)
        plan.environment = environment.rawValue
        plan.devices = devices
        plan.mix = mix
        plan.usersPerBroker = usersPerBroker
        plan.assertionsPerDevice = assertions
        plan.concurrency = concurrency
        // The simulated Apple makes a device's keys from its name. One that was started again makes the same keys again, which the service
        // knows already.
        if let seed { plan.seed = seed } else { plan.prefix += "-\(UInt32.random(in: .min ... .max))" }
        plan.watch = .seconds(watch)
        var start = ContinuousClock.now
        do {
            try await transport.closing { _ in
                try await calls.waitForAnswers(upTo: .seconds(wait))
                start = .now
                let progress = ProgressLine(of: plan.devices, quiet: form.shared.quiet)
                defer { progress?.clear() }
                try await Fleet(plan: plan, calls: calls).run { progress?.advance() }
            }
        } catch let fault as FleetFault {
            throw CommandFault("\(fault.description).")
        } catch let fault as HTTPTransport.Fault {
            throw CommandFault("\(fault.reason).")
        }
        let elapsed = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        let (json, text) = await (
            tally.json(elapsed: elapsed, service: service), tally.text(elapsed: elapsed, service: service)
        )
        return CommandResult(json, text: text, await tally.isAsExpected ? .clean : .findings)
    }

    private static func trimmed(_ url: String) -> String { String(url.reversed().drop { $0 == "/" }.reversed()) }
}

extension PersonaMix: ExpressibleByArgument {
    init?(argument: String) {
        var weights: [Persona: Int] = [:]
        for part in argument.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, let persona = Persona(rawValue: String(pair[0])), let weight = UInt16(pair[1]) else {
                return nil
            }
            weights[persona] = Int(weight)
        }
        guard weights.values.contains(where: { $0 > 0 }) else { return nil }
        self.init(weights: weights)
    }

    var defaultValueDescription: String {
        Persona.allCases.compactMap { persona in weights[persona].map { "\(persona.rawValue)=\($0)" } }
            .joined(separator: ",")
    }
}
