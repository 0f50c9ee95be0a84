// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppTransportSecurity
import Formats
import Vocabulary

/// What was recognised, and what the command that knows it said.
struct DoctorItem {
    enum Verdict: String { case fine, cause, unknown }

    /// What something is called, for programs and for people.
    typealias Form = (what: String, words: String)

    let form: Form
    let from: String
    var verdict = Verdict.unknown
    /// A code, where the command gave one, and a sentence.
    var because: [(code: String?, message: String)] = []
    var fix: [String] = []
    var next: [String] = []
    /// The command's own document.
    private(set) var result: JSONValue?
    /// The command's own text.
    private var body = ""
    /// Whether it is of the linter, whose long words are pins.
    private var isLint = false
    /// Whether it names a failure without its cause.
    private(set) var lacksCause = false
    /// The sentence of a file or stream that cannot be read; nil for what was looked at.
    private(set) var fault: String?

    private static let most = 20
    /// What nothing recognises.
    static let notKnown = "unknown"

    /// Something that no command can judge, or, as a fault, that cannot be read.
    init(unknown what: String, from: String, _ sentence: String, isFault: Bool = false) {
        (form, self.from, because) = ((what, what), from, [(nil, sentence)])
        if isFault { fault = "\(safe(CommandIO.name(of: from)).terminalSafe(limit: 200)): \(sentence)" }
    }

    /// What a command answered.
    init(_ form: Form, from: String, command: [String], _ answer: CommandCapture.Result) {
        (self.form, self.from) = (form, from)
        isLint = command.starts(with: ["ats", "lint"])
        lacksCause = answer.output.contains(Code.causeNotSaid.rawValue.utf8)
        // A word is explained because something failed, and inspecting judges nothing.
        let isJudged = !["explain", "inspect"].contains(where: command.prefix(2).contains)
        switch answer.status {
        case 0 where isJudged: verdict = .fine
        case 0 where command.first == "explain" && !lacksCause, 1: verdict = .cause
        default: break
        }
        next = [(["sealward"] + command).map(ShellWord.quoted).joined(separator: " ")]
        var limits = JSONReader.Limits()
        limits.depth = 64
        if let document = try? JSONReader.read(Array(answer.output.drop { $0 <= 0x20 }), limits: limits) {
            result = document
            collect(document)
            if because.isEmpty, let code = document.member("codes")?.elements?.first,
                let meaning = code.member("meaning")?.text
            {
                add(code.member("code")?.text, meaning)
            }
        } else {
            body = String(decoding: answer.output, as: UTF8.self)
        }
        for note in answer.notes.map({ $0.trimmed() }) {
            let words = note.hasPrefix("sealward: ") ? String(note.dropFirst(10)) : note
            if !because.contains(where: { words.contains($0.message) }), !body.contains(words) { add(nil, words) }
        }
        // Silence is no answer.
        if verdict == .unknown, because.isEmpty, body.isEmpty {
            add(nil, "'sealward \(command.prefix(2).joined(separator: " "))' finds nothing in it that it knows")
        }
    }

    /// Takes the causes out of a document of any command. The reader has bounded its depth.
    private mutating func collect(_ value: JSONValue) {
        func text(_ name: String) -> String? { value.member(name)?.text }
        func texts(_ name: String) -> [String] {
            text(name).map { [$0] } ?? value.member(name)?.elements?.compactMap(\.text) ?? []
        }
        for element in value.elements ?? [] { collect(element) }
        // A row that passed has no cause.
        guard let members = value.members, text("result") != "PASS" else { return }
        if let code = text("rule") ?? (text("verdict") == "refused" ? text("code") : nil), let message = text("message")
        {
            add(code, message)
            if text("verdict") == "refused" { explain(code, value) }
        }
        for cause in value.member("because")?.elements ?? [] {
            if let message = cause.member("message")?.text { add(cause.member("code")?.text, message) }
        }
        if let reason = text("reason"), value.member("path") != nil { add(nil, reason) }
        if let meaning = text("meaning"), value.member("title") != nil { add(texts("codes").first, meaning) }
        for text in texts("fix") + texts("action") where fix.count < Self.most && !fix.contains(text) {
            fix.append(text)
        }
        for text in texts("next") where next.count < Self.most && !next.contains(text) { next.append(text) }
        for member in members where !["facts", "because", "hosts"].contains(member.name) { collect(member.value) }
    }

    /// Adds the values that differ in what was refused, and the mistake or what to do about the code.
    private mutating func explain(_ code: String, _ refused: JSONValue) {
        for expected in refused.member("expected")?.members ?? [] {
            guard let value = expected.value.text else { continue }
            let found = refused.member("found")?.member(expected.name)?.text ?? "what the object does not tell"
            add(nil, "expected \(expected.name) \(value), found \(found)")
        }
        let name = refused.member("mistake")?.text
        if let mistake = ProofMistake.all.first(where: { $0.name == name }) {
            add(nil, "\(mistake.name): \(mistake.explanation)")
            fix.append(mistake.action)
        } else if let action = CodeCatalog.explanation(of: code)?.action {
            fix.append(action)
        }
    }

    private mutating func add(_ code: String?, _ message: String) {
        if because.count < Self.most, !because.contains(where: { $0.code == code && $0.message == message }) {
            because.append((code, message))
        }
    }

    // MARK: - Rendering

    /// Whether long words may be secrets: not where keys and hashes are what is shown.
    private var hidesUnnamed: Bool {
        !isLint && !["attestation", "assertion", "receipt", "certificate", "server"].contains(form.what)
    }

    private func safe(_ text: String) -> String { SecretText.redacted(text, hidesUnnamed: hidesUnnamed) }

    /// `sealward.doctor/1`.
    static func document(_ items: [DoctorItem]) -> JSONValue {
        ["schema": "sealward.doctor/1", "items": .array(items.map(\.json))]
    }

    private var json: JSONValue {
        [
            "what": .string(form.what), "from": .string(safe(from)), "verdict": .string(verdict.rawValue),
            "because": .array(because.map { ["code": .optional($0.code), "message": .string(safe($0.message))] }),
            "fix": .array(fix.map { .string(safe($0)) }), "next": .array(next.map { .string(safe($0)) }),
            "result": result.map { SecretText.redacted($0, hidesUnnamed: hidesUnnamed) } ?? .null,
        ]
    }

    /// A line that says what it is, what the command said, and the command.
    var text: String {
        let words = ["fine": "nothing is wrong", "cause": "a cause was found", "unknown": "not known"]
        var lines = ["\(safe(from).terminalSafe(limit: 200)): \(form.words): \(words[verdict.rawValue] ?? "")"]
        for part in safe(body).split(separator: "\n", omittingEmptySubsequences: false) where !part.isEmpty {
            lines.append("  " + part.terminalSafe)
        }
        for cause in because {
            lines.append("  because  \(safe(cause.message).terminalSafe)" + (cause.code.map { " [\($0)]" } ?? ""))
        }
        if body.isEmpty { for text in fix { lines.append("  fix      \(safe(text).terminalSafe)") } }
        for text in next { lines.append("  next     \(safe(text).terminalSafe)") }
        return lines.joined(separator: "\n") + "\n"
    }
}
