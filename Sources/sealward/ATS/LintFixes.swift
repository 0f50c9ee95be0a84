// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppTransportSecurity
import FoundationEssentials
import PropertyLists
import Vocabulary

/// Writes the safe edits of `ats lint --fix`.
enum LintFixes {
    /// Fixes the files in place, says what was done, and puts the fixed lists into the input.
    static func apply(to input: inout LintInput, quiet: Bool) throws {
        for (index, (subject, root)) in zip(input.subjects, input.roots).enumerated()
        where subject.origin == .file {
            func say(_ what: String) { if !quiet { CommandIO.say("sealward: \(subject.path): \(what)") } }
            if let obstacle = obstacle(to: subject, foundThrough: root) {
                say("cannot be fixed in place: \(obstacle).")
                continue
            }
            let fixer = PlistFixer(subject) { try? PlistReader.read($0) }
            if !fixer.steps.isEmpty {
                let text = subject.document.mark + fixer.text
                try CommandIO.write(bytes: text, to: subject.path)
                input.replace(index, with: subject.with(try PlistReader.read(text)))
            }
            for step in fixer.steps {
                say("\(step.finding.rule) \(step.finding.keyPath.keyPathText): \(step.action).")
            }
            for finding in fixer.declined {
                say(
                    "\(finding.rule) \(finding.keyPath.keyPathText): not fixed: the automatic fix would weaken the policy or introduce another finding. \(finding.fix ?? "")"
                )
            }
        }
    }

    /// Why a list cannot be fixed in place, as the end of a sentence; nil if it can.
    private static func obstacle(to subject: LintSubject, foundThrough root: String) -> String? {
        if root == "-" { return "it is standard input; name the file instead" }
        switch subject.document.format {
        case .binary: return "it is a binary property list; convert it with plutil -convert xml1"
        case .json: return "it is JSON; change it there by hand"
        case .text: return "it is no XML property list; change it there by hand"
        case .xml: break
        }
        guard subject.document.isVerbatim else { return "it is not UTF-8; save it as UTF-8" }
        let isWritable = FileManager.default.isWritableFile(atPath: subject.path)
        return isWritable ? nil : "it is not writable; check its permissions"
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
