// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

/// The baseline file of `ats lint`.
enum LintBaselines {
    /// Takes tolerated findings out of the results, and writes the file where that is asked for.
    static func apply(_ path: String, to results: [LintResult], update: Bool, quiet: Bool) throws -> [LintResult] {
        if path == "-", update {
            throw ValidationError("--update-baseline needs a file to write; --baseline - is only read.")
        }
        guard path == "-" || FileManager.default.fileExists(atPath: path) else {
            guard update else {
                throw CommandFault("\(path): there is no such file; write it with --update-baseline.")
            }
            let baseline = Baseline(results)
            try CommandIO.write(baseline.json().rendered() + "\n", to: path)
            let count = results.reduce(0) { $0 + $1.findings.count }
            if !quiet {
                CommandIO.say("\(path): written; it tolerates \(count) \(count == 1 ? "finding" : "findings").")
            }
            return baseline.compare(results).new
        }
        let baseline = try CommandIO.value(of: path, Baseline.init(json:))
        let (new, healed, tightened) = baseline.compare(results)
        if update, healed > 0 {
            try CommandIO.write(tightened.json().rendered() + "\n", to: path, replacesInput: true)
            if !quiet { CommandIO.say("\(path): \(healed) fixed findings were dropped.") }
        } else if healed > 0, !quiet {
            CommandIO.say("\(path): \(healed) findings are fixed; --update-baseline drops them.")
        }
        return new
    }
}
