// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

struct MergeCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Combine the results of several checks, as one run would have printed them.",
        discussion: """
            Example:
              sealward ats check --targets-from fleet.txt --shard 1/2 --format jsonl --output one.jsonl
              sealward ats check --targets-from fleet.txt --shard 2/2 --format jsonl --output two.jsonl
              sealward ats merge one.jsonl two.jsonl --format json

            The files are results of 'ats check' in the formats json and jsonl. Targets keep the order of the list, each once; results \
            that occur more than once, and parts that are missing, are named on standard error.

            Exit status: as one 'ats check' of all targets; 2 also if targets are missing or no file \
            contains a result, 64 usage.
            """
    )

    enum Format: String, ExpressibleByArgument, CaseIterable { case json, jsonl }

    @Argument(help: .value("Results in JSON or JSON lines; - is standard input.", "FILE"))
    var files: [String]

    @Option(
        help: .value(
            "Output format: json or jsonl; default json if every file is a document, otherwise jsonl.", "FORMAT"))
    var format: Format?

    @OptionGroup var shared: SharedOptions

    /// The most bytes that come from a stream.
    private static let streamLimit = 1 << 40

    func outcome() async throws -> Outcome {
        do {
            return try merge()
        } catch let fault as ResultMerge.Fault {
            throw CommandFault("\(fault.name): \(fault.reason).")
        }
    }

    private func merge() throws -> Outcome {
        let merge = try ResultMerge(try files.map(MergeCommand.source))
        let format = format ?? (merge.areDocuments ? .json : .jsonl)
        let stream = try ResultStream(path: shared.output, sparing: files.map(CommandIO.place))
        if format == .json {
            guard let os = merge.os else {
                throw CommandFault(
                    "the files do not say on which system the targets were checked; use --format jsonl, or check with --format json."
                )
            }
            try stream.write(
                CheckedTargets.head(os: os, sdk: merge.sdk, checked: merge.checked ?? RFC3339.text(Date())))
        }
        var written = 0
        try merge.each { target in
            if format == .json {
                try stream.write((written == 0 ? [] : [UInt8(ascii: ",")]) + CheckedTargets.indented(target))
            } else {
                try stream.write(CheckedTargets.line(target))
            }
            written += 1
        }
        if format == .json { try stream.write(CheckedTargets.tail(isEmpty: written == 0)) }
        try stream.close()
        return MergeCommand.outcome(merge, written: written)
    }

    private static func source(_ path: String) throws -> ResultMerge.Source {
        let file = try CommandIO.named(path) { () throws(InputFault) in
            let input = path == "-" ? try InputFile.standardInput() : try InputFile.open(path)
            return input.isStream ? try input.spooled(after: [], limit: streamLimit) : input
        }
        return ResultMerge.Source(name: CommandIO.name(of: path).terminalSafe, file: file)
    }

    private static func outcome(_ merge: ResultMerge, written: Int) -> Outcome {
        if written == 0 { CommandIO.say("sealward: the files contain no result.") }
        if merge.repeatedCount > 0 {
            let more = merge.repeatedCount > merge.repeated.count ? " and others" : ""
            CommandIO.say(
                "sealward: \(merge.repeatedCount == 1 ? "1 result occurs" : "\(merge.repeatedCount) results occur") more than once, the first counts: "
                    + "\(merge.repeated.joined(separator: ", "))\(more).")
        }
        if merge.missing > 0 {
            let numbers = merge.missingShards.map(String.init).joined(separator: ", ")
            let which = numbers.isEmpty ? "" : "; nothing was given of shard \(numbers) of \(merge.shards ?? 0)"
            CommandIO.say(
                "sealward: \(merge.missing == 1 ? "1 target of the list is" : "\(merge.missing) targets of the list are") missing\(which)."
            )
        }
        let isUndetermined = written == 0 || merge.missing > 0 || merge.verdicts[.undetermined, default: 0] > 0
        return Outcome(fails: merge.verdicts[.fail, default: 0] > 0, isUndetermined: isUndetermined)
    }
}
