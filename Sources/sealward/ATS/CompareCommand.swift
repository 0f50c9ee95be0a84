// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

struct CompareCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Check the URL of a recorded nscurl transcript, and print the rows that differ.",
        discussion: """
            TRANSCRIPT is the output of `nscurl --ats-diagnostics --verbose URL` on a Mac; `Scripts/record-on-mac` of this project records \
            many. Name the Mac's system with --os. Exit status: 0 every row agrees, 1 rows differ, 2 the transcript \
            cannot be read, or rows differ only because the server could not be asked now. Rows for a NIAP package, which nscurl \
            prints from 26.4 on, are named and not compared.

            Example: sealward ats compare transcript.txt --os macos15
            """
    )

    @Argument(help: .value("The transcript; - is standard input.", "TRANSCRIPT"))
    var transcript: String

    @OptionGroup var network: CheckOptions

    @OptionGroup var form: ResultForm

    func validate() throws {
        guard network.targetsFrom == nil else { throw ValidationError("The transcript names the target.") }
    }

    func result() async throws -> CommandResult {
        let (recorded, target) = try CommandIO.value(of: transcript, limit: 4 << 20) { bytes throws(MalformedInput) in
            let recorded = try NSCurlTranscript(bytes)
            return (recorded, try CheckTarget(nscurl: recorded.url))
        }
        let profile = try network.system.profile()
        let report = try await network.session(profile).check(target)
        let comparison = TranscriptComparison(recorded, report)
        // What could not be determined now contradicts no transcript.
        let isUndetermined = comparison.differences.allSatisfy(\.isUndetermined)
        return CommandResult(
            [
                "schema": "sealward.ats-compare/1", "os": .string(profile.id), "sdk": profile.sdk.json,
                "url": .string(recorded.url), "differences": .integer(comparison.differences.count),
                "rows": comparison.json,
            ], text: "\(recorded.url.terminalSafe) on \(profile.shownID)\n\(comparison.text)",
            comparison.differences.isEmpty ? .clean : isUndetermined ? .undetermined : .findings)
    }
}
