// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import ArgumentParser
import Findings
import Foundation
import StrictJSON

struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Read what a device or Mac logged, and say for each host why its loads failed.",
        discussion: """
            Console's text, `log show` (--style default, syslog, json, ndjson), Xcode's console, the text of a sysdiagnose and the errors of \
            nscurl, of any size. If a number has several causes, all are named: a log does not say which; `ats check` does. Lines that say \
            nothing known are counted. Exit status: 0 nothing blocks a load, 1 something does, 2 a file cannot be read and nothing blocks a load in the others.

            Example: log show --last 1h --style syslog | sealward ats log -
            """
    )

    @Argument(help: ArgumentHelp("Logs; - is standard input.", valueName: "FILE"))
    var files: [String]

    @Option(help: ArgumentHelp("Output format: text or json.", valueName: "FORMAT"))
    var format: TextOrJSON = .text

    @OptionGroup var shared: SharedOptions

    func run() async throws {
        try await CommandIO.run {
            var log = DeviceLog()
            var missing = 0
            for path in files {
                do throws(InputFault) {
                    let file = path == "-" ? try InputFile.standardInput() : try InputFile.open(path)
                    var isFirst = true
                    while true {
                        let part = try file.next(1 << 18)
                        if part.isEmpty { break }
                        if isFirst, TextFileEncoding.isUTF16(part) { throw TextFileEncoding.utf16 }
                        isFirst = false
                        log.read(part)
                    }
                } catch {
                    CommandIO.say("sealward: \(CommandIO.name(of: path).terminalSafe): \(error.reason).")
                    missing += 1
                }
                log.endFile()
            }
            if missing == files.count { return .undetermined }
            let report = log.report()
            try CommandIO.write(format == .json ? report.json.rendered() + "\n" : report.text.fitted, to: shared.output)
            if report.hasFindings { return .findings }
            return missing == 0 ? .clean : .undetermined
        }
    }
}
