// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Formats
import FoundationEssentials
import PropertyLists
import TLSProbe
import Vocabulary

struct CheckCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Test real servers with the configurations of nscurl --ats-diagnostics, and say why each fails.",
        discussion: """
            Example:
              sealward ats check example.com api.example.com:8443 --os ios17 --format json

            Exit status: 0 the default configuration passes (or the app's dictionary, with --info-plist), 1 it fails for a target, \
            2 it could not be determined, 64 usage.
            """
    )

    @Argument(help: "Hosts, host:port or URLs; with --for managed also mail addresses and mdm:DOMAIN.")
    var targets: [String] = []

    @OptionGroup var network: CheckOptions

    @Option(help: .value("The app's Info.plist; its dictionary is one more configuration.", "PATH"))
    var infoPlist: String?

    @OptionGroup var values: BuildValueOptions

    @Option(
        help: .value("Several systems, judged from the same observations, for example ios18,ios26.", "ID,ID"),
        transform: SystemList.init)
    var systems: SystemList?

    @Flag(help: "With --systems: show only targets whose verdict is not the same on all of them.")
    var changes = false

    @Option(
        name: .customLong("for"),
        help: .value(
            "managed: load as OS 27's own processes do (MDM, enrollment, updates; Apple exempts SCEP and content caching): ATS and FCP_v2.1.",
            "PURPOSE"))
    var purpose: CheckPurpose?

    @Option(help: .value("Add a note for certificates that expire within this many days.", "DAYS"))
    var expiresWithin: Int?

    @Option(help: .value("Output format: text, nscurl, json, jsonl, junit, markdown or html.", "FORMAT"))
    var format: CheckFormat = .text

    @Flag(help: "Show every configuration with its dictionary and error.")
    var verbose = false

    @Flag(help: "Report each address of a name as a separate target.")
    var allAddresses = false

    @OptionGroup var fleet: FleetOptions

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        try network.requireTargets(targets, of: "sealward ats check")
        try values.requireList(infoPlist)
        if changes, systems == nil {
            throw ValidationError("--changes compares systems: name them with --systems ID,ID.")
        }
        if changes, fleet.shard != nil {
            throw ValidationError("--changes leaves out targets that 'ats merge' would miss: use --shard without it.")
        }
        if systems != nil, format == .nscurl {
            throw ValidationError("--systems works with every --format but nscurl, which is of one system.")
        }
        if systems != nil, network.system.os != nil {
            throw ValidationError("--systems names the systems: leave out --os.")
        }
        if purpose != nil, infoPlist != nil || systems != nil || format == .nscurl {
            throw ValidationError(
                "--for managed has its own dictionary and system: leave out --info-plist, --systems and nscurl.")
        }
        if fleet.state != nil, format == .html {
            throw ValidationError("--format html writes one page at the end: use --state with json or jsonl.")
        }
        if let expiresWithin, !(0...100_000).contains(expiresWithin) {
            throw ValidationError("--expires-within takes days, from 0 to 100000.")
        }
    }

    func outcome() async throws -> Outcome {
        let app = try infoPlist.map { try PropertyListFile.app(infoPlist: $0, values) }
        let system =
            try purpose == nil ? network.system.os ?? .standard : CheckPurpose.managedSystem(network.system.os)
        let asked = systems?.profiles ?? [system]
        let profiles = try asked.map { try network.system.profile(on: $0) }
        guard let profile = profiles.first else { throw ValidationError("--systems names no system.") }
        let named = try purpose == nil ? network.targets(targets, asNSCurl: format == .nscurl) : TargetList()
        let managed = try purpose == nil ? [] : network.managedTargets(targets)
        var overrides: [AddressOverride] = []
        let session = try network.session(profile, app: app) {
            overrides = $0.overrides
            $0.systems = systems == nil ? [] : profiles
            $0.expiryDays = expiresWithin
            $0.isManaged = purpose != nil
        }
        var missesServers = false
        var list =
            try await purpose == nil
            ? named
            : TargetList(
                session.discovering(managed, concurrency: network.width) { place, fault in
                    CommandIO.say(
                        "sealward: \(place.url.text.terminalSafe): \(fault.reason.terminalSafe); only this server is checked."
                    )
                    if fault.isUndetermined { missesServers = true }
                }
            )
        if allAddresses { list = try await list.expanded(concurrency: network.width, session.addresses) }
        let places = fleet.places(of: list)
        let journal = try fleet.state.map { path in
            let conditions = try conditions(list, profiles, app, overrides)
            return try CommandIO.named(path) { () throws(InputFault) in
                try CheckJournal(path, of: list, conditions: conditions)
            }
        }
        let instant = network.at?.date ?? Date()
        let history = try fleet.history.map { path in
            try CheckHistoryRun(
                path, at: instant, asked: question(profiles, app), token: journal?.run)
        }
        let stream = try ResultStream(path: shared.output, sparing: files)
        if let days = fleet.keep { try history?.forget(days, quiet: shared.quiet) }
        var output = try CheckOutput(
            of: self, on: profiles, targets: list, places: places, journal: journal, history: history, stream: stream)
        try output.begin()
        let order = fleet.order(of: places, concurrency: network.concurrency, quiet: shared.quiet)
        let known = try output.replay()
        if !known.isEmpty, !shared.quiet {
            CommandIO.say(
                "sealward: \(known.count) of \(places.count) targets were checked before, \(output.kept.times).")
        }
        let isComplete: Bool
        do {
            isComplete = try await Interruption.run { try await output.run(session, order, except: known) }
        } catch let fault as CommandFault {
            // What is known stays readable: a document without an end is of no use.
            try? output.end(at: instant)
            throw fault
        }
        try output.end(at: instant)
        if !isComplete {
            CommandIO.say("sealward: interrupted; \(output.finished) of \(places.count) targets are checked.")
            return output.outcome == .findings ? .findings : .undetermined
        }
        if missesServers || history?.isIncomplete == true, output.outcome == .clean { return .undetermined }
        return output.outcome
    }

    private var files: [String] {
        let connection = network.connection
        let read = [
            network.targetsFrom, connection.reach.resolveFrom, infoPlist, connection.trust.roots,
            connection.trust.ctLogList,
        ]
        let named = (read.compactMap(\.self) + connection.trust.caFile).map(CommandIO.place)
        return named + [fleet.state].compactMap(\.self) + (fleet.history.map(HistoryFile.files) ?? [])
    }

    /// What a run asks of every target, as far as its results depend on it: in a history only runs that asked the same are compared.
    private func question(_ profiles: [OSProfile], _ app: AppDictionary?) -> String {
        var words = profiles.map(\.shownID).joined(separator: ",")
        if let sdk = network.system.sdk { words += " sdk \(sdk)" }
        if let app { words += " dictionary \(FleetOptions.digest(of: CheckCommand.text(of: app)))" }
        return purpose == nil ? words : words + " managed"
    }

    private static func text(of app: AppDictionary) -> String {
        "\(app.dictionary.propertyListValue.json.rendered()) \(app.sdk?.description ?? "")"
    }

    /// What a run that is taken up again must have in common with the one that was stopped.
    private func conditions(
        _ list: TargetList, _ profiles: [OSProfile], _ app: AppDictionary?, _ overrides: [AddressOverride]
    ) throws -> [CheckJournal.Condition] {
        let shown = "\(format) \(verbose) \(changes) \(expiresWithin ?? -1) \(systems != nil)"
        let connection = network.connection
        let asked =
            "\(network.exhaustive) \(connection.noHTTP) \(connection.noAIA) \(connection.allowPrivate) \(purpose?.rawValue ?? "") "
            + "\(network.at.map { RFC3339.text($0.date) } ?? "") \(connection.reach.connectTimeout) \(connection.timeout)"
        let files = [connection.trust.roots, connection.trust.ctLogList] + connection.trust.caFile
        // By their content: the file of a name may be another one by the next time.
        let trust = try files.map { try $0.map { FleetOptions.digest(of: try CommandIO.read($0)) } ?? "" }
        let places = overrides.map { "\($0.host) \($0.port) \($0.addresses.joined(separator: ","))" }
        return [
            ("the targets", FleetOptions.digest(of: list)),
            ("--shard", fleet.shard.map { "\($0.number)/\($0.count)" } ?? "1/1"),
            ("the systems", profiles.map { "\($0.id) \($0.sdk?.description ?? "")" }.joined(separator: ",")),
            ("the app's dictionary", FleetOptions.digest(of: app.map(CheckCommand.text) ?? "")),
            ("the output format", shown), ("the options of the check", asked),
            ("--resolve", FleetOptions.digest(of: places.joined(separator: "\n"))),
            ("the roots and logs", FleetOptions.digest(of: trust.joined(separator: "\n"))),
        ]
    }
}
