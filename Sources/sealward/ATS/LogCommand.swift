// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import ArgumentParser
import Formats
import Vocabulary

struct LogCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Read what a device, a Mac or an app logged, and say for each failure why it failed and what to do.",
        discussion: """
            Console's text, `log show` (--style default, compact, syslog, json, ndjson), Xcode's console, idevicesyslog, the text of a sysdiagnose, \
            nscurl (--ats-diagnostics, --tls-diagnostics), and exceptions of React Native, Flutter, .NET, Unity and Electron, of any size and in \
            any language. Lines about one load are one failure. If a log does not decide between causes, all are named; `ats check` decides. What \
            is not App Transport Security is said to be something else. Lines that say nothing known are counted. Exit status: 0 nscurl shows a \
            load that passes, 1 a failure was found, 2 none is known, or a file cannot be read and the others have none.

            Example: log show --last 1h --style syslog | sealward ats log -
            """
    )

    @Argument(help: .value("Logs; - is standard input.", "FILE"))
    var files: [String]

    @OptionGroup var form: ResultForm

    /// Whether a path is that of an archive of logs, which only `log` of a Mac reads.
    static func isArchive(_ path: String) -> Bool { path.hasSuffix(".logarchive") || path.hasSuffix(".logarchive/") }
    static let archiveAdvice =
        "on a Mac `log show --archive NAME.logarchive --style compact > log.txt` makes text of it"

    func result() async throws -> CommandResult {
        var log = DeviceLog { SecretText.redacted($0, hidesUnnamed: false) }
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
                let isText = error == .missing && path.utf8.contains(0x20)
                let advice =
                    isText
                    ? "; give text to `sealward doctor TEXT`, or to `sealward ats log -`"
                    : Self.isArchive(path) ? "; \(Self.archiveAdvice)" : ""
                let name = CommandIO.name(of: isText ? path.prefix(bytes: 120) : path)
                CommandIO.say("sealward: \(name.terminalSafe): \(error.reason)\(advice).")
                missing += 1
            }
            log.endFile()
        }
        if missing == files.count { try Outcome.undetermined.exit() }
        let report = log.report()
        let outcome: Outcome =
            report.hasFindings ? .findings : missing == 0 && report.hasPassed ? .clean : .undetermined
        // A line is quoted as it was logged, and reports are passed on.
        return CommandResult(
            SecretText.redacted(report.json, hidesUnnamed: false),
            text: SecretText.redacted(report.text, hidesUnnamed: false), outcome)
    }
}
