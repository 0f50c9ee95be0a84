// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Formats
import Vocabulary

struct MinimizeCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "minimize",
        abstract: "The smallest ATS dictionary that lets every target load, with the proof.",
        discussion: """
            Example:
              sealward ats minimize example.com old.example.com --info-plist Info.plist --format plist

            With --info-plist it also names the dead exceptions of the app: every target loads without them. Exit status: 0 a dictionary \
            lets all targets load, 1 no dictionary helps a target, 2 a target could not be reached, 64 usage.
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, plist, json }

    @Argument(help: "Hosts, host:port or URLs.")
    var targets: [String] = []

    @OptionGroup var network: CheckOptions

    @Option(help: .value("The app's Info.plist, to find dead exceptions.", "PATH"))
    var infoPlist: String?

    @OptionGroup var values: BuildValueOptions

    @Option(help: .value("Output format: text, plist or json.", "FORMAT"))
    var format: Format = .text

    @OptionGroup var shared: SharedOptions

    func validate() throws {
        try network.requireTargets(targets, of: "sealward ats minimize")
        try values.requireList(infoPlist)
    }

    func outcome() async throws -> Outcome {
        let app = try infoPlist.map { try PropertyListFile.app(infoPlist: $0, values) }
        let profile = try network.system.profile(app: app)
        let list = try network.targets(targets).all()
        let session = try network.session(profile, app: app)
        let progress = ProgressLine(of: list.count, quiet: shared.quiet)
        let result = await session.minimize(list, concurrency: network.width) { _ in progress?.advance() }
        let text =
            switch format {
            case .json: result.json(os: profile.id, sdk: profile.sdk).rendered() + "\n"
            case .plist: result.propertyList()
            case .text: result.text(os: profile.shownID).fitted
            }
        try CommandIO.write(text, to: shared.output)
        if format == .plist {
            for target in result.impossible {
                let what = target.isUndetermined ? "what it needs is unknown" : "no dictionary helps"
                CommandIO.say("sealward: \(target.target): \(what): \(target.message)")
            }
            for target in result.withCode {
                CommandIO.say("sealward: \(target.target): \(target.message)")
            }
        }
        return Outcome(
            fails: !result.withCode.isEmpty || result.impossible.contains { !$0.isUndetermined },
            isUndetermined: !result.impossible.isEmpty)
    }
}
