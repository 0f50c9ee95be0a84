// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppTransportSecurity
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
    /// How many bytes of a file identify it.
    static let headBytes = 1 << 20
    /// The files of a folder that are given to commands of their own.
    private static let itemLimit = 50

    @Argument(help: .value("URLs, hosts, files, folders or words; - is standard input.", "WHAT"))
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
        let verdicts = items.map(\.verdict)
        return Outcome(fails: verdicts.contains(.cause), isUndetermined: verdicts.contains(.unknown))
    }

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
        if one == "-" { return await withLog(diagnose(file: "-", named: "standard input"), of: "-") }
        if SystemFile.status(of: one, followingLinks: true) != nil {
            // To the commands that it is given to, its name must be no option.
            let path = one.hasPrefix("-") ? "./" + one : one
            return InfoPlistSearch.isFolder(path)
                ? await diagnose(folder: path) : await withLog(diagnose(file: path, named: one), of: path)
        }
        if let target = Self.target(one) {
            return [await hand(["ats", "check", target], ("server", "a server"), from: one)]
        }
        let looksLikeFile = one.contains("/") && !one.contains(" ") || Self.suffixes.contains { one.hasSuffix($0) }
        if looksLikeFile, !one.contains("\n") { return [fault("file", one, InputFault.missing.reason)] }
        return await withLog(diagnose(words: one), of: "-")
    }

    /// A part of a list that was pasted together with an error is both.
    private func withLog(_ item: DoctorItem, of path: String) async -> [DoctorItem] {
        guard item.form.what == "info-plist", !path.hasSuffix(".plist") else { return [item] }
        let log = await log(path, from: item.from)
        return log.verdict == .cause ? [item, log] : [item]
    }

    private func fault(_ what: String, _ from: String, _ reason: String) -> DoctorItem {
        DoctorItem(unknown: what, from: from, reason, isFault: true)
    }

    /// Endings of files, which no host has.
    private static let suffixes = [
        ".plist", ".json", ".xml", ".txt", ".log", ".pem", ".cer", ".crt", ".der", ".ipa", ".app", ".entitlements",
        ".p12", ".pbxproj", ".xcconfig", ".xcodeproj", ".b64", ".js", ".yml", ".mobileprovision", ".har", ".conf",
        ".ips", ".crash", ".csr", ".key", ".p8", ".cbor", ".mobileconfig", ".p7b", ".strings", ".xcarchive",
        ".xcworkspace", ".logarchive", ".swift", ".dart", ".ts", ".kt", ".bak",
    ]

    /// A URL, a host with or without a port, or an address; nil for other words.
    private static func target(_ text: String) -> String? {
        // A token with dots is no host, and no name server must see it.
        if SecretText.isSignedToken(text.utf8) { return nil }
        if let end = LoadURL.schemeEnd(text), text.utf8[..<end].allSatisfy(\.isASCIIAlphanumeric) {
            return text.utf8.contains(where: { $0 <= 0x20 }) ? nil : text
        }
        let host = text.utf8.prefix { $0 != UInt8(ascii: "/") }
        let isName = host.allSatisfy { $0.isASCIIAlphanumeric || "-.:[]".utf8.contains($0) }
        guard isName, host.contains(UInt8(ascii: ".")) || host.starts(with: "localhost".utf8) || host.first == 0x5B,
            !suffixes.contains(where: { text.hasSuffix($0) }), !text.hasPrefix("."), !text.hasPrefix("com."),
            !isCamelCase(host.split(separator: UInt8(ascii: ".")).last ?? host),
            // Names have dots too: `DCError.invalidKey`, `1.2.840.113635.100.8.2`.
            CodeCatalog.explanation(of: text) == nil, ExplainedSubject(text) == nil
        else { return nil }
        return text
    }

    /// Whether a capital letter follows a small one, as in names of programs (`AttestationError.notSupported`).
    private static func isCamelCase(_ word: Substring.UTF8View) -> Bool {
        zip(word, word.dropFirst()).contains { 0x61...0x7A ~= $0 && 0x41...0x5A ~= $1 }
    }

    /// A file, or standard input for `-`.
    private func diagnose(file path: String, named name: String) async -> DoctorItem {
        let size = path == "-" ? nil : SystemFile.fileSize(SystemFile.resolved(path) ?? path)
        if let size, size > Self.byteLimit {
            return DoctorItem(
                unknown: "file", from: name,
                "has more than \(Self.byteLimit >> 20) MiB: name a part of it; `sealward ats log` reads logs of any size"
            )
        }
        do throws(InputFault) {
            if path == "-" { try InputFile.keepStandardInput(limit: Self.byteLimit) }
            let input = path == "-" ? try InputFile.standardInput() : try InputFile.open(path)
            let head = try input.contents(limit: Self.headBytes)
            return await diagnose(Recogniser.Input(name: path.lastName, head: head), path: path, from: name)
        } catch {
            return fault(path == "-" ? "input" : "file", name, error.reason)
        }
    }

    /// Words of the command line: an error line, or text that was pasted.
    private func diagnose(words: String) async -> DoctorItem {
        let input = Recogniser.Input(name: "-", head: Array(words.utf8))
        if case .explained? = Recogniser.of(input)?.answer { return await explain(words, from: words) }
        // Any other command reads a file: a file without a name takes the place of standard input.
        do throws(InputFault) {
            try InputFile.keepStandardInput(words: input.head)
        } catch {
            return fault("words", words, error.reason)
        }
        let item = await diagnose(input, path: "-", from: words)
        guard item.form.what == DoctorItem.notKnown, !words.utf8.contains(where: { $0 <= 0x20 }) else { return item }
        return fault(
            item.form.what, words,
            "there is no such file, and it is no URL, host, code, number or name that is known")
    }

    private func diagnose(_ input: Recogniser.Input, path: String, from: String) async -> DoctorItem {
        guard !input.head.isEmpty else { return fault("empty", from, "is empty") }
        let known = Recogniser.of(input)
        let isVague = if case .vague? = known?.answer { true } else { known == nil }
        if isVague, let item = await said(input, path: path, from: from) { return item }
        guard let known else {
            if path == "-", let target = input.line.flatMap(Self.target) {
                return await hand(["ats", "check", target], ("server", "a server"), from: from)
            }
            return DoctorItem(
                unknown: DoctorItem.notKnown, from: from,
                "this is none of the forms that are known: a URL, an Info.plist or project, a certificate, an object of App Attest, or a log with a failure that is known"
            )
        }
        let form = known.form
        switch known.answer {
        case .command(let words):
            let item = await hand(words + [path], form, from: from)
            // A log may be one error that nobody knows the causes of.
            if item.verdict == .unknown, known.what == Recogniser.log.what, let line = input.line,
                ExplainedSubject(line) != nil
            {
                return await explain(line, from: from)
            }
            return item
        case .explained: return await explain(input.line ?? "", from: from)
        case .named(let advice), .vague(let advice):
            return DoctorItem(unknown: known.what, from: from, "this is \(known.words): \(advice)")
        case .attestation: return await attestation(path, form, ProofRequest(input), from: from)
        case .assertion: return await assertion(path, form, ProofRequest(input), from: from)
        case .receipt:
            // Verified for the app that it names.
            let item = await hand(["receipt", "inspect", path], form, from: from)
            guard let app = item.result?.member("appId")?.text else { return item }
            return await hand(["receipt", "verify", path, "--app-id", app], form, from: from)
        }
    }

    /// What a text of no form of its own says: an answer of this program's service, words of a verifier, a log, or an answer of Apple's services.
    private func said(_ input: Recogniser.Input, path: String, from: String) async -> DoctorItem? {
        let text = String(decoding: input.head.prefix(16 << 10), as: UTF8.self)
        if input.has("urn:sealward:problem:") || input.has("sealward") && input.json?.member("error") != nil {
            let parts = text.split { !$0.isLetter && !$0.isNumber && $0 != "." && $0 != "-" }.map(String.init)
            let code = parts.first { CodeCatalog.explanation(of: $0) != nil }
            if let code { return await explain(code, in: input, from: from) }
        }
        let words = ProofWords(input.head)
        if let code = words.verifier { return await explain(code.rawValue, in: input, from: from) }
        let log = await log(path, from: from)
        if log.verdict != .unknown { return log }
        let lines = text.split(whereSeparator: \.isNewline).map { $0.prefix(300).trimmed() }
        let line = (lines + [String(lines.joined(separator: " ").prefix(300))]).first { line in
            Self.telling.contains { line.lowercased().contains($0) && ($0 != "riskmetric" || input.json == nil) }
                && ExplainedSubject(line) != nil
        }
        guard let what = line ?? words.code?.rawValue else { return log.lacksCause ? log : nil }
        return await explain(what, in: input, from: from)
    }

    /// What a line is asked for that `explain` may know. A document has the risk metric as a member.
    private static let telling = [
        "authorization token", "device token payload", "bad device token", "bit state", "attestationdata ",
        "formatted bits", "formatted time", "keychain", "errsec", "secitem", "nsosstatuserrordomain", "riskmetric",
    ]

    /// - Parameter input: what the words were found in; nil if it is the words alone.
    private func explain(_ what: String, in input: Recogniser.Input? = nil, from: String) async -> DoctorItem {
        let form = Recogniser.explained.form
        let isText = input.map { $0.line == nil } == true
        return await hand(
            ["explain", "--", what], isText ? (form.what, "a text with an error that is known") : form, from: from)
    }

    private func log(_ path: String, from: String) async -> DoctorItem {
        await hand(["ats", "log", path], Recogniser.log.form, from: from)
    }

    /// Runs a command and takes its answer.
    func hand(_ words: [String], _ form: DoctorItem.Form, from: String) async -> DoctorItem {
        InputFile.rewindStandardInput()
        let isJSON = self.form.format == .json || ["attest", "receipt"].contains(words.first)
        var scope = InfoPlistSearch.Scope()
        (scope.files, scope.isConfined) = (Self.fileLimit, true)
        let place = words.firstIndex(of: "--") ?? words.count
        let all = words[..<place] + (isJSON ? ["--format", "json"] : []) + ["--no-color", "--quiet"] + words[place...]
        let result = await InfoPlistSearch.$scope.withValue(scope) { await CommandCapture.run(Array(all)) }
        return DoctorItem(form, from: from, command: words, result)
    }

    private func diagnose(folder: String) async -> [DoctorItem] {
        if LogCommand.isArchive(folder) {
            return [
                DoctorItem(
                    unknown: "log-archive", from: folder, "this is an archive of logs: \(LogCommand.archiveAdvice)")
            ]
        }
        var survey = FolderSurvey()
        survey.search(folder)
        func unknown(_ sentence: String) -> DoctorItem { DoctorItem(unknown: "folder", from: folder, sentence) }
        if survey.bytes > Self.byteLimit {
            let size = "\(Self.byteLimit >> 20) MiB of files to read"
            return [unknown("has more than \(size): name a part of it, or run `sealward ats lint` on it")]
        }
        let form = survey.label.map { ($0, "a folder (\($0))") } ?? ("folder", "a folder")
        var items = [await hand(["ats", "lint", "--fail-on", "warning", folder], form, from: folder)]
        for path in survey.others.prefix(Self.itemLimit) { items.append(await diagnose(file: path, named: path)) }
        if survey.isCut || survey.others.count > Self.itemLimit {
            let most = "at most \(Self.fileLimit) files, and \(Self.itemLimit) that are no Info.plists"
            items.append(unknown("not everything was looked at: \(most); name a part of it"))
        }
        return items
    }
}

/// What lies in a folder, without one link followed and without one file opened but those that tell what a project is.
struct FolderSurvey {
    private var files = 0
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
            return isCut = true
        }
        let isBundle = [".app", ".xcarchive"].contains { folder.hasSuffix($0) }
        if label == nil, isBundle { label = "app" }
        for name in names {
            guard files < DoctorCommand.fileLimit else { return isCut = true }
            let path = folder.hasSuffix("/") ? folder + name : folder + "/" + name
            if SystemFile.isFolder(path) {
                let isSkipped = name.hasPrefix(".") || InfoPlistSearch.skippedFolders.contains(name)
                if !isSkipped { search(path, depth: depth + 1) }
                continue
            }
            files += 1
            guard let size = SystemFile.fileSize(path) else { continue }
            let isOther = !isBundle && Self.otherSuffixes.contains { name.hasSuffix($0) }
            if isOther { others.append(path) }
            // Safe: both are bounded by the limit, which ends the sum.
            if isOther || Self.readSuffixes.contains(where: name.hasSuffix) {
                bytes += min(size, DoctorCommand.byteLimit + 1)
            }
            if label == nil, size < DoctorCommand.headBytes, ProjectFile.mayBe(name),
                let head = try? InputFile.open(path).contents(limit: DoctorCommand.headBytes)
            {
                label = ProjectFile.label(name, head)
            }
        }
    }
}
