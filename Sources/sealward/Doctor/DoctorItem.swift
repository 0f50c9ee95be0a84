// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import Vocabulary

/// What was recognised, and what the command that knows it said.
struct DoctorItem {
    enum Verdict: String { case fine, cause, unknown }

    let what: String
    let name: String
    let from: String
    var verdict: Verdict
    /// A code, where the command gave one, and a sentence.
    var because: [(code: String?, message: String)] = []
    var fix: [String] = []
    var next: [String] = []
    /// The command's own document.
    var result: JSONValue?
    /// The command's own text.
    private var body = ""

    /// The sentence of a file or stream that cannot be read; nil for what was looked at.
    private(set) var fault: String?

    private static let most = 20
    /// What nothing recognises.
    static let notKnown = "unknown"

    /// Something that cannot be read.
    init(fault what: String, from: String, _ reason: String) {
        self.init(unknown: what, from: from, reason)
        fault = "\(safe(from).terminalSafe(limit: 200)): \(reason)"
    }

    /// Something that no command can judge.
    init(unknown what: String, from: String, _ sentence: String) {
        (self.what, name, self.from, verdict) = (what, what, from, .unknown)
        because = [(nil, sentence)]
    }

    /// What a command answered.
    init(_ what: String, _ name: String, from: String, command: [String], _ result: CommandCapture.Result) {
        self.what = what
        self.name = name
        self.from = from
        verdict = result.status == 0 ? .fine : result.status == 1 ? .cause : .unknown
        // A word is explained because something failed.
        if command.first == "explain", verdict == .fine { verdict = .cause }
        // Inspecting judges nothing.
        if command.contains("inspect"), verdict == .fine { verdict = .unknown }
        next = [(["sealward"] + command).map(ShellWord.quoted).joined(separator: " ")]
        let text = String(decoding: result.output, as: UTF8.self)
        var limits = JSONReader.Limits()
        limits.depth = 64
        if let document = try? JSONReader.read(Array(text.utf8.drop { $0 <= 0x20 }), limits: limits) {
            self.result = document
            collect(document, depth: 0)
        } else {
            body = text
        }
        for note in result.notes where because.count < Self.most {
            let sentence = note.trimmed()
            let words = sentence.hasPrefix("sealward: ") ? String(sentence.dropFirst(10)) : sentence
            if !because.contains(where: { words.contains($0.message) }), !body.contains(words) {
                because.append((nil, words))
            }
        }
        // Silence is no answer.
        if verdict == .unknown, because.isEmpty, body.isEmpty {
            because.append(
                (
                    nil,
                    "\(ShellWord.quoted("sealward " + command.prefix(2).joined(separator: " "))) finds nothing in it that it knows"
                ))
        }
    }

    // MARK: - The documents of the commands

    /// Takes the causes out of a document of any command. The reader has bounded its depth.
    private mutating func collect(_ value: JSONValue, depth: Int) {
        for element in value.elements ?? [] { collect(element, depth: depth + 1) }
        guard value.members != nil else { return }
        // A row that passed has no cause.
        if value.member("result")?.text == "PASS" { return }
        let isRefused = value.member("verdict")?.text == "refused"
        if let code = value.member("rule")?.text ?? (isRefused ? value.member("code")?.text : nil),
            let message = value.member("message")?.text
        {
            add(code, message)
        }
        for cause in value.member("because")?.elements ?? [] {
            if let message = cause.member("message")?.text { add(cause.member("code")?.text, message) }
        }
        if let reason = value.member("reason")?.text, value.member("path") != nil { add(nil, reason) }
        if value.member("title") != nil, let meaning = value.member("meaning")?.text {
            add(value.member("codes")?.elements?.first?.text, meaning)
        }
        for name in ["fix", "action"] {
            let given = value.member(name)
            for text in given?.elements?.compactMap(\.text) ?? [given?.text].compactMap(\.self)
            where fix.count < Self.most && !fix.contains(text) {
                fix.append(text)
            }
        }
        for text in value.member("next")?.elements?.compactMap(\.text) ?? []
        where next.count < Self.most && !next.contains(text) {
            next.append(text)
        }
        for member in value.members ?? [] where !["facts", "because", "hosts"].contains(member.name) {
            collect(member.value, depth: depth + 1)
        }
    }

    private mutating func add(_ code: String?, _ message: String) {
        if because.count < Self.most, !because.contains(where: { $0.code == code && $0.message == message }) {
            because.append((code, message))
        }
    }

    // MARK: - Objects of App Attest

    typealias Hand = (_ words: [String], _ what: String, _ name: String, _ from: String) async -> DoctorItem

    /// Inspects an attestation, and verifies what needs nothing but the object: its form and its chain.
    static func attestation(_ form: Recogniser, path: String, from: String, hand: Hand) async -> DoctorItem {
        var item = await hand(["attest", "inspect", path], form.what, form.words, from)
        let data = item.result?.member("authData")
        guard let key = data?.member("credentialId")?.text else { return item }
        let aaguid = data?.member("aaguidText")?.text ?? ""
        let environment = aaguid == "appattestdevelop" ? "development" : "production"
        // The leaf is valid for some days only: it is judged at the time at which it began.
        let start = item.result?.member("x5c")?.elements?.first?.member("notBefore")?.text
        let known =
            ["attest", "verify", path, "--environment", environment, "--key-id", key]
            + (start.map { ["--at", $0] } ?? [])
        // The challenge is not known here. The verifier compares it after the chain and before all else.
        let zeros = Base64.encode([UInt8](repeating: 0, count: 32))
        let tried = await hand(
            known + ["--app-id", "AAAAAAAAAA.unknown", "--client-data-hash", zeros], form.what, form.words, from)
        let code = tried.result?.member("code")?.text ?? ""
        item.next = [
            "sealward "
                + (known + ["--app-id", "PREFIX.BUNDLE", "--challenge", "CHALLENGE"]).map(ShellWord.quoted).joined(
                    separator: " ")
        ]
        if code == Code.attestNonceMismatch.description {
            item.because = [
                (nil, "the form and the chain are right; the challenge, the key ID and the app ID decide the rest")
            ]
            return item
        }
        // Without a code the verifier came to no end.
        item.verdict = code.isEmpty ? .unknown : .cause
        item.because = tried.because
        item.fix = tried.fix
        return item
    }

    /// Inspects an assertion. The key and the counter are not in it.
    static func assertion(_ form: Recogniser, path: String, from: String, hand: Hand) async -> DoctorItem {
        var item = await hand(["attest", "inspect", path], form.what, form.words, from)
        guard item.verdict == .unknown, item.result != nil else { return item }
        item.because = [
            (nil, "the form is right; the public key, the client data, the app ID and the counter decide the rest")
        ]
        item.next = [
            "sealward attest verify-assertion \(ShellWord.quoted(path)) --app-id PREFIX.BUNDLE --public-key KEY --client-data DATA --counter PREVIOUS"
        ]
        return item
    }

    /// Inspects a receipt, and verifies it for the app that it names.
    static func receipt(_ form: Recogniser, path: String, from: String, hand: Hand) async -> DoctorItem {
        let item = await hand(["receipt", "inspect", path], form.what, form.words, from)
        guard let app = item.result?.member("appId")?.text else { return item }
        return await hand(["receipt", "verify", path, "--app-id", app], form.what, form.words, from)
    }

    // MARK: - Rendering

    /// Whether long words may be secrets: not where keys and hashes are what is shown.
    private var hidesUnnamed: Bool { !["attestation", "assertion", "receipt", "certificate", "server"].contains(what) }

    private func safe(_ text: String) -> String { SecretText.redacted(text, hidesUnnamed: hidesUnnamed) }

    /// `sealward.doctor/1`.
    static func document(_ items: [DoctorItem]) -> JSONValue {
        ["schema": "sealward.doctor/1", "items": .array(items.map(\.json))]
    }

    private var json: JSONValue {
        [
            "what": .string(what), "from": .string(safe(from)), "verdict": .string(verdict.rawValue),
            "because": .array(because.map { ["code": .optional($0.code), "message": .string(safe($0.message))] }),
            "fix": .array(fix.map { .string(safe($0)) }), "next": .array(next.map { .string(safe($0)) }),
            "result": result.map { SecretText.redacted($0, hidesUnnamed: hidesUnnamed) } ?? .null,
        ]
    }

    /// A line that says what it is, what the command said, and the command.
    var text: String {
        let words = ["fine": "nothing is wrong", "cause": "a cause was found", "unknown": "not known"]
        var lines = ["\(safe(from).terminalSafe(limit: 200)): \(name): \(words[verdict.rawValue] ?? "")"]
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
