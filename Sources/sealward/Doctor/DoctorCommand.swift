// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import ArgumentParser
import Formats
import FoundationEssentials
import Glibc
import Vocabulary

struct DoctorCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Take what you have, and say what it is, what is wrong with it, and what to do.",
        discussion: """
            WHAT is a URL or host, any file, a folder, or words such as an error; - or nothing is standard input: a pasted log, a part of an \
            Info.plist, an object in base64. It is recognised and given to the command that knows it, whose name is printed. A file or folder \
            is read and nothing outside of it, at most \(fileLimit) files and \(byteLimit >> 20) MiB. What looks like a secret is not shown.

            Example:
              sealward doctor Info.plist

            Exit status: 0 nothing is wrong, 1 a cause was found, 2 what it is or what is wrong is not known, 64 usage.
            """
    )

    /// The most files of a folder that are looked at, and the most bytes.
    static let fileLimit = 20_000
    static let byteLimit = 512 << 20
    /// How much of a file tells what it is.
    static let headBytes = 1 << 20
    /// The files of a folder that are given to commands of their own.
    private static let itemLimit = 50

    @Argument(help: ArgumentHelp("URLs, hosts, files, folders or words; - is standard input.", valueName: "WHAT"))
    var what: [String] = []

    @OptionGroup var form: ResultForm

    func validate() throws {
        if what.isEmpty, isatty(STDIN_FILENO) == 1 {
            throw ValidationError("Name what you have, for example: sealward doctor Info.plist")
        }
        if what.count(where: { $0 == "-" }) > 1 { throw ValidationError("Standard input can be read only once.") }
    }

    func outcome() async throws -> Outcome {
        var items: [DoctorItem] = []
        for one in subjects { items += await diagnose(one) }
        for fault in items.compactMap(\.fault) { CommandIO.say("sealward: \(fault).") }
        let texts = items.filter { $0.fault == nil }.map(\.text)
        if form.format == .json || !texts.isEmpty {
            try form.format.write(DoctorItem.document(items), text: texts.joined(separator: "\n"), to: form.shared)
        }
        if items.contains(where: { $0.verdict == .cause }) { return .findings }
        return items.allSatisfy { $0.verdict == .fine } ? .clean : .undetermined
    }

    // MARK: - What it is

    /// What was given; words that say something only together, as `NSURLErrorDomain -1200`, are one.
    private var subjects: [String] {
        let whole = what.joined(separator: " ")
        guard what.count > 1, ExplainedSubject(whole) != nil,
            what.contains(where: { ExplainedSubject($0) == nil && CodeCatalog.explanation(of: $0) == nil }),
            !what.contains(where: {
                $0 == "-" || SystemFile.status(of: $0, followingLinks: true) != nil || Self.target($0) != nil
            })
        else { return what.isEmpty ? ["-"] : what }
        return [whole]
    }

    private func diagnose(_ one: String) async -> [DoctorItem] {
        if one == "-" {
            do throws(InputFault) {
                try InputFile.keepStandardInput(limit: Self.byteLimit)
                let head = try InputFile.standardInput().contents(limit: Self.headBytes)
                return [await diagnose(Recogniser.Input(name: "-", head: head), path: "-", from: "standard input")]
            } catch {
                return [DoctorItem(fault: "input", from: "standard input", error.reason)]
            }
        }
        if SystemFile.status(of: one, followingLinks: true) != nil {
            return InfoPlistSearch.isFolder(one) ? await diagnose(folder: one) : [await diagnose(file: one)]
        }
        if CodeCatalog.explanation(of: one) == nil, let target = Self.target(one) {
            return [await hand(["ats", "check", target], "server", "a server", from: one)]
        }
        let looksLikeFile = one.contains("/") && !one.contains(" ") || Self.suffixes.contains { one.hasSuffix($0) }
        if looksLikeFile, !one.contains("\n") {
            return [DoctorItem(fault: "file", from: one, InputFault.missing.reason)]
        }
        return [await diagnose(words: one)]
    }

    /// Endings of files, which no host has.
    private static let suffixes = [
        ".plist", ".json", ".xml", ".txt", ".log", ".pem", ".cer", ".crt", ".der", ".ipa", ".app", ".entitlements",
        ".p12", ".pbxproj", ".xcconfig", ".xcodeproj", ".b64", ".js", ".yml", ".mobileprovision",
    ]

    /// A URL, a host with or without a port, or an address; nil for other words.
    private static func target(_ text: String) -> String? {
        if text.hasPrefix("http://") || text.hasPrefix("https://") {
            return text.utf8.contains(where: { $0 <= 0x20 }) ? nil : text
        }
        let host = text.utf8.prefix { $0 != UInt8(ascii: "/") }
        let isName = host.allSatisfy { $0.isASCIIAlphanumeric || "-.:[]".utf8.contains($0) }
        guard isName, host.contains(UInt8(ascii: ".")) || host.starts(with: "localhost".utf8) || host.first == 0x5B,
            !suffixes.contains(where: { text.hasSuffix($0) }), !text.hasPrefix("."), !text.hasPrefix("com.apple.")
        else { return nil }
        return text
    }

    private func diagnose(file path: String) async -> DoctorItem {
        do throws(InputFault) {
            let head = try InputFile.open(path).contents(limit: Self.headBytes)
            return await diagnose(Recogniser.Input(name: path.lastName, head: head), path: path, from: path)
        } catch {
            return DoctorItem(fault: "file", from: path, error.reason)
        }
    }

    /// Words of the command line: an error line, or text that was pasted.
    private func diagnose(words: String) async -> DoctorItem {
        let input = Recogniser.Input(name: "-", head: Array(words.utf8))
        if case .words(let command)? = Recogniser.of(input)?.answer {
            return await hand(command + ["--", words], "explained", "a code, a number or a name", from: words)
        }
        // Any other command reads a file: a file without a name takes the place of standard input.
        do throws(InputFault) {
            try InputFile.keepStandardInput(words: input.head)
        } catch {
            return DoctorItem(fault: "words", from: words, error.reason)
        }
        let item = await diagnose(input, path: "-", from: words)
        let isName = item.what == DoctorItem.notKnown && !words.utf8.contains { $0 <= 0x20 }
        return isName
            ? DoctorItem(
                fault: item.what, from: words,
                "there is no such file, and it is no URL, host, code, number or name that is known") : item
    }

    private func diagnose(_ input: Recogniser.Input, path: String, from: String) async -> DoctorItem {
        guard !input.head.isEmpty else { return DoctorItem(fault: "empty", from: from, "is empty") }
        guard let form = Recogniser.of(input) else {
            // Lines of any form may still be a log.
            let log = await hand(["ats", "log", path], "log", "a log", from: from)
            if log.verdict != .unknown { return log }
            return DoctorItem(
                unknown: DoctorItem.notKnown, from: from,
                "this is none of the forms that are known: a URL, an Info.plist or project, a certificate, an object of App Attest, or a log with a failure that is known"
            )
        }
        switch form.answer {
        case .command(let words): return await hand(words + [path], form.what, form.words, from: from)
        case .words(let words):
            return await hand(words + ["--", input.line ?? ""], form.what, form.words, from: from)
        case .named(let advice):
            return DoctorItem(unknown: form.what, from: from, "this is \(form.words): \(advice)")
        case .assertion: return await DoctorItem.assertion(form, path: path, from: from, hand: hand)
        case .attestation: return await DoctorItem.attestation(form, path: path, from: from, hand: hand)
        case .receipt: return await DoctorItem.receipt(form, path: path, from: from, hand: hand)
        }
    }

    // MARK: - Handing over

    /// Runs a command and takes its answer.
    private func hand(_ words: [String], _ what: String, _ name: String, from: String) async -> DoctorItem {
        InputFile.rewindStandardInput()
        let form =
            form.format == .json || words.first == "attest" || words.first == "receipt" ? ["--format", "json"] : []
        var scope = InfoPlistSearch.Scope()
        scope.files = Self.fileLimit
        scope.isConfined = true
        let place = words.firstIndex(of: "--") ?? words.count
        let all = Array(words[..<place]) + form + ["--no-color", "--quiet"] + words[place...]
        let result = await InfoPlistSearch.$scope.withValue(scope) { await CommandCapture.run(all) }
        return DoctorItem(what, name, from: from, command: words, result)
    }

    // MARK: - Folders

    private func diagnose(folder: String) async -> [DoctorItem] {
        var survey = FolderSurvey()
        survey.search(folder)
        if survey.bytes > Self.byteLimit {
            return [
                DoctorItem(
                    unknown: "folder", from: folder,
                    "has more than \(Self.byteLimit >> 20) MiB of files to read: name a part of it, or run `sealward ats lint` on it"
                )
            ]
        }
        var items = [
            await hand(
                ["ats", "lint", "--fail-on", "warning", folder], survey.label ?? "folder",
                survey.label.map { "a folder (\($0))" } ?? "a folder", from: folder)
        ]
        for path in survey.others.prefix(Self.itemLimit) { items.append(await diagnose(file: path)) }
        if survey.isCut || survey.others.count > Self.itemLimit {
            items.append(
                DoctorItem(
                    unknown: "folder", from: folder,
                    "not everything was looked at: at most \(Self.fileLimit) files, and \(Self.itemLimit) that are no Info.plists; name a part of it"
                ))
        }
        return items
    }
}

/// What lies in a folder, without one link followed and without one file opened but those that tell what a project is.
struct FolderSurvey {
    private(set) var files = 0
    private(set) var bytes = 0
    private(set) var isCut = false
    /// What kind of project it is.
    private(set) var label: String?
    /// Files for other commands than the linter.
    private(set) var others: [String] = []

    private static let otherSuffixes = [
        ".log", ".pem", ".cer", ".crt", ".der", ".p7b", ".p12", ".entitlements", ".mobileprovision", ".b64", ".cbor",
    ]
    private static let readSuffixes = [".plist", ".ipa", "proj", ".json", ".xml", ".xcconfig", ".asset"]

    mutating func search(_ folder: String, depth: Int = 0) {
        guard depth < 64, let names = try? FileManager.default.contentsOfDirectory(atPath: folder).sorted() else {
            isCut = true
            return
        }
        let isBundle = [".app", ".xcarchive"].contains { folder.hasSuffix($0) }
        if label == nil, isBundle { label = "app" }
        for name in names {
            guard files < DoctorCommand.fileLimit else {
                isCut = true
                return
            }
            let path = folder.hasSuffix("/") ? folder + name : folder + "/" + name
            if SystemFile.isFolder(path) {
                if !name.hasPrefix("."), !InfoPlistSearch.skippedFolders.contains(name) {
                    search(path, depth: depth + 1)
                }
                continue
            }
            files += 1
            guard let size = SystemFile.fileSize(path) else { continue }
            if Self.otherSuffixes.contains(where: { name.hasSuffix($0) }), !isBundle {
                others.append(path)
                // Safe: both are bounded by the limit, which ends the sum.
                bytes += min(size, DoctorCommand.byteLimit)
            } else if Self.readSuffixes.contains(where: { name.hasSuffix($0) }) {
                bytes += min(size, DoctorCommand.byteLimit)
            }
            if label == nil, size < DoctorCommand.headBytes, ProjectFile.mayBe(name),
                let head = try? InputFile.open(path).contents(limit: DoctorCommand.headBytes)
            {
                label = ProjectFile.label(name, head)
            }
        }
    }
}
