// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppBundles
import AppTransportSecurity
import Findings
import Foundation
import PropertyLists

/// Writes the safe edits of `ats lint --fix`.
enum LintFixes {
    /// Fixes the files in place, says what was done, and puts the fixed lists into the input.
    static func apply(to input: inout LintInput, quiet: Bool) throws {
        for (index, subject) in input.subjects.enumerated() where subject.origin == .infoPlist {
            guard subject.document.isVerbatim, FileManager.default.isWritableFile(atPath: subject.path) else {
                if !quiet { CommandIO.say("\(subject.path): cannot be fixed in place; only UTF-8 text files can.") }
                continue
            }
            let fixer = PlistFixer(subject) { try? PlistReader.read($0) }
            if !fixer.steps.isEmpty {
                try CommandIO.write(bytes: fixer.text, to: subject.path)
                let document = try PlistReader.read(fixer.text)
                input.replace(index, with: subject.with(document))
            }
            guard !quiet else { continue }
            for step in fixer.steps {
                CommandIO.say(
                    "\(subject.path): \(step.finding.rule) \(step.finding.keyPath.keyPathText): \(step.action)."
                )
            }
            for finding in fixer.declined {
                CommandIO.say(
                    "\(subject.path): \(finding.rule) \(finding.keyPath.keyPathText): not fixed: the automatic fix would weaken the policy or introduce another finding. \(finding.fix ?? "")"
                )
            }
        }
    }
}

extension CommandIO {
    /// Replaces a file by bytes, at once.
    static func write(bytes: [UInt8], to path: String) throws {
        do {
            // A link stays a link: the file that it leads to is replaced.
            let target = SystemFile.resolved(path) ?? path
            try Data(bytes).write(to: URL(fileURLWithPath: target), options: .atomic)
        } catch {
            throw CommandFault("\(path): cannot be written; check its permissions.")
        }
    }
}
