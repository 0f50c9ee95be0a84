// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppTransportSecurity
import Formats
import FoundationEssentials
import PropertyLists
import Vocabulary

/// The lists that a run of `ats lint` looks at.
struct LintInput {
    private let command: LintCommand
    private let minimumOS: MinimumSystem?
    /// What the run may keep, shared by all that it reads.
    private let budget: ReadingBudget
    /// What a build puts for `$(NAME)`, by name.
    private let values: [UTF8Key: String]
    private let progress: ProgressLine?
    /// Lists with the path that they were found through.
    private var found: [(root: String, subject: LintSubject)] = []
    private(set) var skipped: [String] = []
    private(set) var unreadable: [(path: String, reason: String)] = []
    /// What embedded profiles say, by the path of the list.
    private(set) var attest: [String: JSONValue] = [:]

    init(of command: LintCommand, budget: ReadingBudget, values: [UTF8Key: String], progress: ProgressLine?) {
        (self.command, self.budget, self.values, self.progress) = (command, budget, values, progress)
        minimumOS = command.minimumOS.flatMap { MinimumSystem(id: $0) }
    }

    var subjects: [LintSubject] { found.map(\.subject) }

    mutating func add(_ path: String) throws {
        let lists: FoundPlists
        do {
            if path == "-" {
                lists = try InfoPlistSearch.read(
                    try InputFile.standardInput(), name: CommandIO.name(of: path), budget: budget)
            } else {
                lists = try InfoPlistSearch.search(path, budget: budget, configuration: command.configuration) {
                    [progress] in
                    progress?.advance()
                }
            }
        } catch let fault as InputFault {
            unreadable.append((CommandIO.name(of: path), fault.reason))
            return
        } catch let malformed as MalformedInput {
            unreadable.append((CommandIO.name(of: path), malformed.description))
            return
        }
        skipped += lists.skipped
        unreadable += lists.unreadable.map { ($0.path, $0.fault.description) }
        for list in lists.lists {
            if case .nothing = list.origin {
                unreadable.append(
                    (CommandIO.name(of: path), "nothing was found of what is looked for: \(ProjectFile.searched)"))
            }
            found.append((path, subject(list)))
            if let entitlement = list.attest { attest[list.path] = Self.json(entitlement) }
        }
    }

    private func subject(_ list: FoundPlist) -> LintSubject {
        var subject = LintSubject(
            path: list.path,
            document: values.isEmpty ? list.document : list.document.substituting { values[UTF8Key($0)] },
            minimumOS: minimumOS, sdk: command.sdk ?? list.sdk, role: list.place?.part ?? .unknown,
            app: list.place?.app)
        subject.networkStack = list.stack.map {
            DotNetStack(
                handler: $0.handler, source: Self.relative($0.source),
                notFollowed: $0.notFollowed.map(Self.relative))
        }
        subject.origin = list.origin
        return subject
    }

    private static func json(_ entitlement: AttestEntitlement) -> JSONValue {
        [
            "environment": .optional(entitlement.environment),
            "appId": .optional(entitlement.applicationIdentifier),
            "team": .optional(entitlement.teamIdentifier),
            "source": .string(entitlement.source),
        ]
    }

    /// What got weaker since an older input. Lists are paired by their path below the argument, then by bundle, then by being the only ones.
    func weakenings(since old: LintInput) -> [LintResult] {
        let empty = PlistDocument(root: PlistNode(.dictionary([])), format: .xml)
        let byPlace = Dictionary(
            old.found.map { (UTF8Key(Self.below($0.root, $0.subject.path)), $0.subject) },
            uniquingKeysWith: { first, _ in first })
        let byBundle = Dictionary(
            old.found.compactMap { found in found.subject.bundle.map { (UTF8Key($0), found.subject) } },
            uniquingKeysWith: { first, _ in first })
        return found.map { root, subject in
            let place = Self.below(root, subject.path)
            let partner =
                (place.isEmpty ? nil : byPlace[UTF8Key(place)]) ?? subject.bundle.flatMap { byBundle[UTF8Key($0)] }
                ?? (found.count == 1 && old.found.count == 1 ? old.found.first?.subject : nil)
            return Linter.weakenings(from: partner ?? LintSubject(path: subject.path, document: empty), to: subject)
        }
    }

    private static func below(_ root: String, _ path: String) -> String {
        guard path.utf8.starts(with: root.utf8) else { return path }
        return String(decoding: path.utf8.dropFirst(root.utf8.count), as: UTF8.self).trimmed { $0 == "/" }
    }

    /// A path below the working folder without that folder: reports of two machines are the same.
    static func relative(_ path: String) -> String {
        guard path.hasPrefix("/") else { return path.hasPrefix("./") ? String(path.dropFirst(2)) : path }
        return path.hasPrefix(workingFolder) ? String(path.dropFirst(workingFolder.count)) : path
    }

    /// The folder that the program was started in, with a `/` at its end. It never changes.
    private static let workingFolder: String = {
        let folder = FileManager.default.currentDirectoryPath
        return folder.hasSuffix("/") ? folder : folder + "/"
    }()
}

extension LintInput {
    /// Writes the safe edits of `ats lint --fix` into the files, says what was done, and takes the fixed lists.
    mutating func fix(quiet: Bool) throws {
        for (index, (root, subject)) in found.enumerated() where subject.origin == .file {
            func say(_ what: String) { if !quiet { CommandIO.say("sealward: \(subject.path): \(what)") } }
            if let obstacle = LintInput.obstacle(to: subject, foundThrough: root) {
                say("cannot be fixed in place: \(obstacle).")
                continue
            }
            let fixer = PlistFixer(subject) { try? PlistReader.read($0) }
            if !fixer.steps.isEmpty {
                let text = subject.document.mark + fixer.text
                try CommandIO.write(bytes: text, to: subject.path)
                found[index].subject = subject.with(try PlistReader.read(text))
            }
            for step in fixer.steps {
                say("\(step.finding.rule) \(step.finding.keyPath.keyPathText): \(step.action).")
            }
            for finding in fixer.declined {
                say(
                    "\(finding.rule) \(finding.keyPath.keyPathText): not fixed: the automatic fix would weaken the policy, block a load or introduce another finding. \(finding.fix ?? "")"
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
        guard subject.document.isVerbatim else {
            return "it is not UTF-8, or has more in it than the list; change it there by hand"
        }
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
            // What is there now is another file, and --output must not replace it either.
            InputFile.note(target)
        } catch {
            throw CommandFault("\(path): cannot be written; check its permissions.")
        }
    }
}
