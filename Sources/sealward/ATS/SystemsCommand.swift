// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import ArgumentParser
import Formats
import Vocabulary

struct SystemsCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "systems",
        abstract: "What is known about each system, how it is known, and from where.",
        discussion: """
            Example:
              sealward ats systems macos26

            A release that came out after this program: SEALWARD_SYSTEMS names a file that adds it, for every command. It is JSON:
            {"releases": [{"id": "ios28", "after": "ios27", "source": "...", "read": "2027-09-20", "minimumVersion": "TLSv1.2"}]}
            "after" is the release that it behaves like; what differs is any of minimumVersion, supportsTLS13Minimum, readsHardening, \
            readsPins, readsTransparencyKey and requiresTransparency.

            Exit status: 0 done, 64 usage.
            """
    )

    @Argument(
        help: .value("A system, for example ios17. Without it all are listed.", "ID"), transform: SystemOptions.system)
    var id: OSProfile?

    @Option(help: .value("Output format: text, json or markdown (all systems as a page).", "FORMAT"))
    var format: TextJSONOrPage = .text

    @OptionGroup var shared: SharedOptions

    func outcome() async throws -> Outcome {
        if let id, !id.hasTransportSecurity { throw ValidationError("\(id.absence).") }
        let systems = id.map { [$0] } ?? OSProfile.all
        try format.write(
            FidelityPage.json(systems), text: systems.map(FidelityPage.text).joined(separator: "\n"),
            page: { FidelityPage.markdown() }, to: shared)
        return .clean
    }
}
