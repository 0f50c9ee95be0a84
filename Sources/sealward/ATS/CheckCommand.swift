// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Findings
import Foundation

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "The nscurl --ats-diagnostics configurations against real servers, and why each fails.",
        discussion: """
            Example:
              sealward ats check example.com api.example.com:8443 --os ios17 --format json

            Exit status: 0 the default configuration passes (or the app's dictionary, with --info-plist), 1 it fails for a target,
            2 it could not be determined, 64 usage.
            """
    )

    @Argument(help: "Hosts, host:port or URLs; with --for managed also mail addresses and mdm:DOMAIN.")
    var targets: [String] = []

    @OptionGroup var network: CheckOptions

    @Option(help: ArgumentHelp("The app's Info.plist: its dictionary is one more configuration.", valueName: "PATH"))
    var infoPlist: String?

    @Option(
        help: ArgumentHelp(
            "Several systems, judged from the same observations, for example ios18,ios26.",
            valueName: "ID,ID"
        )
    )
    var systems: SystemList?

    @Flag(help: "With --systems: only targets whose verdict is not the same on all of them.")
    var changes = false

    @Option(
        name: .customLong("for"),
        help: "managed: as the system's own processes of OS 27 load (MDM, enrolment, updates): ATS and FCP_v2.1."
    )
    var purpose: CheckPurpose?

    @Option(help: ArgumentHelp("Note certificates that expire within so many days.", valueName: "DAYS"))
    var expiresWithin: Int?

    @Option(help: "The form of the result: text, nscurl, json, jsonl, junit, markdown or html.")
    var format: CheckFormat = .text

    @Flag(help: "Every configuration with its dictionary and error.")
    var verbose = false

    @Flag(help: "A target object for each address that a name has.")
    var allAddresses = false

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        try network.requireTargets(targets, of: "sealward ats check")
        if changes, systems == nil {
            throw ValidationError("--changes compares systems: name them with --systems ID,ID.")
        }
        if systems != nil, ![.text, .json, .jsonl].contains(format) {
            throw ValidationError("--systems goes with --format text, json and jsonl.")
        }
        if purpose != nil, infoPlist != nil || systems != nil || format == .nscurl {
            throw ValidationError(
                "--for managed has a dictionary and a system of its own: leave out --info-plist, --systems and nscurl."
            )
        }
        if let expiresWithin, !(0...100_000).contains(expiresWithin) {
            throw ValidationError("--expires-within takes days, from 0 to 100000.")
        }
    }

    func run() async throws {
        HeapGrowth.step(16 << 20)
        try await CommandIO.run {
            let app = try infoPlist.map(PropertyListFile.app)
            let system =
                try purpose == nil ? network.system.os ?? .standard : CheckPurpose.managedSystem(network.system.os)
            let asked = systems?.profiles ?? [system]
            let profiles = try asked.map { try network.system.profile(on: $0) }
            guard let profile = profiles.first else { throw ValidationError("--systems names no system.") }
            var list =
                try await purpose == nil
                ? network.targets(targets, asNSCurl: format == .nscurl)
                : EnrolmentDiscovery(network, on: profile).targets(targets)
            let session = try network.session(profile, app: app) {
                $0.systems = systems == nil ? [] : profiles
                $0.expiryDays = expiresWithin
                $0.isManaged = purpose != nil
            }
            if allAddresses { list = await session.expandingAddresses(list) }
            let stream = try ResultStream(path: shared.output)
            let options = CheckOutput.Options(
                format: format,
                profiles: profiles,
                comparesSystems: systems != nil,
                showsChangesOnly: changes,
                verbose: verbose,
                colored: CommandIO.mayColor(disabled: shared.noColor || shared.output != nil),
                showsProgress: !shared.quiet && isatty(STDERR_FILENO) == 1 && list.count > 1,
                instant: network.at?.date ?? Date()
            )
            var output = CheckOutput(options: options, targets: list, stream: stream)
            try output.begin()
            let isComplete = try await Interruption.run {
                try await session.run(list, concurrency: network.concurrency) { try output.add($1, at: $0) }
            }
            try output.end()
            if !isComplete {
                CommandIO.say("sealward: interrupted; \(output.finished) of \(list.count) targets are checked.")
                return output.outcome == .findings ? .findings : .undetermined
            }
            return output.outcome
        }
    }
}
