// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import Vocabulary

/// What a request that was pasted says beside its proof: values for the options of the verifier, by the names that apps and servers give them.
struct ProofRequest {
    /// Texts and numbers by the letters and digits of their names, the outermost first.
    private var values: [(name: [UInt8], text: String)] = []
    private static let limit = 200

    /// Of a request in JSON, or in any other form that names its values.
    init(_ input: Recogniser.Input) {
        self.init(input.json)
        if input.json == nil { values = ProofRequest.pairs(input.head) }
    }

    /// The names and values of forms, headers, YAML, environments and of what languages print: `name=value&`, `Name: value`,
    /// `"name": "value"`, `'name' => 'value'`. A value without quotes after a colon must begin a line or a list: sentences have colons too.
    private static func pairs(_ text: [UInt8]) -> [(name: [UInt8], text: String)] {
        let text = text.prefix(256 << 10)
        var found: [(name: [UInt8], text: String)] = []
        var rest = text
        while found.count < limit,
            let mark = rest.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "=") })
        {
            rest = text[mark...].dropFirst()
            let before = text[..<mark].suffix(80)
            guard let last = before.lastIndex(where: { !"\"'\\ ".utf8.contains($0) }) else { continue }
            let first = before[...last].lastIndex { !($0.isASCIIAlphanumeric || "-_.".utf8.contains($0)) }
            let name = before[...last].suffix(from: first.map(before.index(after:)) ?? before.startIndex)
            let value = rest.drop { "> \\".utf8.contains($0) }
            let isQuoted = value.first.map { "\"'".utf8.contains($0) } == true
            let place = before[..<name.startIndex].last { $0 != UInt8(ascii: " ") } ?? 0x0A
            let begins = "\r\n&?,{[(".utf8.contains(place) || text[mark] == UInt8(ascii: "=")
            guard !name.isEmpty, isQuoted || begins else { continue }
            let word =
                isQuoted
                ? value.dropFirst().prefix { $0 != value.first }
                : value.prefix { !"&,;)]}\"' \t\r\n".utf8.contains($0) }
            rest = text[word.endIndex...]
            add(name, word)
            // A part of a form: its value follows an empty line.
            let part = rest.dropFirst()
            if name.elementsEqual("name".utf8), ["\r\n\r\n", "\n\n"].contains(where: { part.starts(with: $0.utf8) }) {
                add(word, part.drop { $0 == 0x0D || $0 == 0x0A }.prefix { $0 != 0x0D && $0 != 0x0A })
            }
        }
        return found

        func add(_ name: ArraySlice<UInt8>, _ word: ArraySlice<UInt8>) {
            let letters = name.asciiLowercased.filter(\.isASCIIAlphanumeric)
            let head = ["httpxappattest", "xappattest", "xapple", "x"].first { letters.starts(with: $0.utf8) } ?? ""
            let plain = PastedBytes.percentDecoded(word) ?? Array(word)
            let value = String(
                decoding: plain.last == UInt8(ascii: "\\") ? plain.dropLast() : plain[...], as: UTF8.self)
            // `--` would end the options of the command.
            if !value.isEmpty, value != "--" { found.append((Array(letters.dropFirst(head.utf8.count)), value)) }
        }
    }

    private init(_ document: JSONValue?) {
        var open = document.map { [$0] } ?? []
        while !open.isEmpty, values.count < Self.limit {
            var inner: [JSONValue] = []
            for value in open {
                for member in (value.members ?? []).prefix(Self.limit) {
                    // `--` would end the options of the command.
                    let text = member.value.text ?? member.value.integer.map { String($0) }
                    if let text, ["body", "data"].contains(member.name),
                        let body = try? JSONReader.read(Array(text.utf8), limits: .outside)
                    {
                        // In the event of a gateway.
                        inner.append(body)
                    } else if let text, !text.isEmpty, text != "--" {
                        values.append((member.name.utf8.asciiLowercased.filter(\.isASCIIAlphanumeric), text))
                    } else {
                        inner.append(member.value)
                    }
                }
                inner += (value.elements ?? []).prefix(Self.limit)
            }
            open = inner
        }
    }

    private func value(_ names: String..., where isRight: (String) -> Bool = { _ in true }) -> String? {
        for name in names {
            if let found = values.first(where: { $0.name.elementsEqual(name.utf8) && isRight($0.text) }) {
                return found.text
            }
        }
        return nil
    }

    var keyId: String? { value("keyid", "keyidentifier", "credentialid") }
    var publicKey: String? { value("publickey", "publickeyx963", "publickeypem", "attestedpublickey") }
    var counter: String? { value("counter", "previouscounter", "storedcounter", "signcount") { UInt32($0) != nil } }
    var environment: String? { value("environment") { AttestationEnvironment(rawValue: $0) != nil } }

    /// The App ID; nil if nothing says which prefix it has.
    var appId: String? {
        // Letters of a prefix are capital ones, those of a bundle identifier's first part hardly ever.
        func isWhole(_ text: String) -> Bool {
            guard let identity = try? AppIdentity(text) else { return false }
            return identity.hasPrefixOfApple && identity.prefix == identity.prefix.uppercased()
        }
        if let whole = Self.appNames.lazy.compactMap({ value($0, where: isWhole) }).first { return whole }
        guard let prefix = value("teamid", "teamidentifier", "appidprefix"),
            let bundle = Self.appNames.lazy.compactMap({ value($0) }).first
        else {
            // A prefix in small letters is wrong, and the verifier says so.
            func isPrefixed(_ text: String) -> Bool { (try? AppIdentity(text))?.hasPrefixOfApple == true }
            return Self.appNames.lazy.compactMap { value($0, where: isPrefixed) }.first
        }
        return isWhole("\(prefix).\(bundle)") ? "\(prefix).\(bundle)" : nil
    }

    /// A bundle identifier, where nothing says the prefix of the App ID.
    var bundleId: String? {
        // An App ID of Firebase has colons, one of the App Store has digits alone.
        func isBare(_ text: String) -> Bool { (try? AppIdentity(text)).map { !$0.hasPrefixOfApple } == true }
        return appId == nil ? Self.appNames.lazy.compactMap { value($0, where: isBare) }.first : nil
    }

    /// The App ID for a command, with a place for what is missing.
    var wantedAppId: String { appId ?? "PREFIX.\(bundleId ?? "BUNDLE")" }

    private static let appNames = ["appid", "applicationid", "appidentifier", "bundleid", "bundleidentifier", "rpid"]

    /// The options that say what the app of an attestation had hashed, in each way in which the request can be meant.
    var attested: [[String]] {
        if let hash { return [["--client-data-hash", hash]] }
        let data = value("clientdata", "clientdatajson")
        return [data, value("challenge", "attestationchallenge", "nonce")].compactMap(\.self)
            .flatMap { readings(of: $0, "--challenge") }
    }

    /// The same for an assertion; where the client data and a challenge are apart, also of both, as the service takes them.
    var asserted: [[String]] {
        if let hash { return [["--client-data-hash", hash]] }
        let challenge = value("challenge", "nonce")
        guard let data = value("clientdata", "clientdatajson", "payload") ?? challenge else { return [] }
        var all = readings(of: data, "--client-data")
        if let data = Base64.decode(data), let challenge = challenge.flatMap(Base64.decode) {
            all.append(["--client-data-base64", Base64.encode(data + challenge)])
        }
        return all
    }

    private var hash: String? { value("clientdatahash") }

    /// A text is meant as it is, or it is base64 of the bytes that are meant.
    private func readings(of text: String, _ option: String) -> [[String]] {
        [[option, text]] + (Base64.decode(text).map { [["\(option)-base64", Base64.encode($0)]] } ?? [])
    }
}

extension DoctorCommand {
    /// Inspects an attestation and verifies it with what the request says; where that is silent, with what the object says about itself, and then
    /// the rest is not known.
    func attestation(_ path: String, _ form: DoctorItem.Form, _ request: ProofRequest, from: String) async -> DoctorItem
    {
        var item = await hand(["attest", "inspect", path], form, from: from)
        let data = item.result?.member("authData")
        let receipt = item.result?.member("receipt")
        guard let key = request.keyId ?? data?.member("credentialId")?.text else { return item }
        let isDevelopment = data?.member("aaguidText")?.text == "appattestdevelop"
        let environment = request.environment ?? (isDevelopment ? "development" : "production")
        // The leaf is valid for some days only: it is judged at the time at which the receipt was made, or the leaf's validity began.
        let start =
            receipt?.member("creationTime")?.text
            ?? item.result?.member("x5c")?.elements?.first?.member("notBefore")?.text
        let known =
            ["attest", "verify", path, "--environment", environment, "--key-id", key]
            + (start.map { ["--at", $0] } ?? [])
        let ownApp = receipt?.member("appId")?.text
        let prefix = ownApp.flatMap { try? AppIdentity($0).prefix } ?? "AAAAAAAAAA"
        let app = request.appId ?? request.bundleId.map { "\(prefix).\($0)" } ?? ownApp ?? "\(prefix).unknown"
        let ownHash = receipt?.member("fields")?.member("4")?.text.flatMap(Base64.decode)
        let own = ownHash.flatMap { $0.count < 16 ? nil : $0 } ?? [UInt8](repeating: 0, count: 32)
        let inputs = request.attested
        let tried = await best(
            of: inputs.isEmpty ? [["--client-data-hash", Base64.encode(own)]] : inputs,
            known + ["--app-id", app], form, from: from)
        let missing = [
            inputs.isEmpty ? "the challenge" : nil, request.keyId == nil ? "the key ID" : nil,
            request.appId == nil
                ? request.bundleId.map { "the prefix of the app ID, which \($0) lacks" } ?? "the app ID" : nil,
        ].compactMap(\.self)
        if missing.isEmpty { return tried }
        var words = ["sealward"] + known + ["--app-id", request.wantedAppId]
        words += inputs.first ?? ["--challenge", "CHALLENGE"]
        item.next = [words.map(ShellWord.quoted).joined(separator: " ")]
        // What was compared with the object itself says nothing.
        let code = tried.result?.member("code")?.text
        let isOwn =
            inputs.isEmpty && code == Code.attestNonceMismatch.rawValue
            || request.appId == nil && (request.bundleId == nil || ownApp == nil)
                && code == Code.attestAppIdMismatch.rawValue
        if tried.verdict == .fine || isOwn {
            let name = ownApp.map { " of \($0)" } ?? ""
            let right = inputs.isEmpty ? "the form and the chain" : "the form, the chain and the challenge"
            item.because = [
                (
                    nil,
                    "\(right) are right: a \(environment) key\(name); what is missing decides the rest: \(missing.joined(separator: ", "))"
                )
            ]
            return item
        }
        // Without a code the verifier came to no end.
        (item.verdict, item.because, item.fix) = (code == nil ? .unknown : .cause, tried.because, tried.fix)
        return item
    }

    /// Verifies an assertion with what the request says, or names the command that asks for the rest.
    func assertion(_ path: String, _ form: DoctorItem.Form, _ request: ProofRequest, from: String) async -> DoctorItem {
        let inputs = request.asserted
        let known = ["attest", "verify-assertion", path]
        if let app = request.appId, let key = request.publicKey, !inputs.isEmpty {
            let words = known + ["--app-id", app, "--public-key", key, "--counter", request.counter ?? "0"]
            return await best(of: inputs, words, form, from: from)
        }
        var item = await hand(["attest", "inspect", path], form, from: from)
        guard item.verdict == .unknown, item.result != nil else { return item }
        item.because = [
            (nil, "the form is right; the public key, the client data, the app ID and the counter decide the rest")
        ]
        let words =
            ["sealward"] + known + ["--app-id", request.wantedAppId]
            + ["--public-key", request.publicKey ?? "KEY"] + (inputs.first ?? ["--client-data", "DATA"])
            + ["--counter", request.counter ?? "PREVIOUS"]
        item.next = [words.map(ShellWord.quoted).joined(separator: " ")]
        return item
    }

    /// The answer to the reading that comes furthest; of several the first that says which mistake it was.
    private func best(
        of inputs: [[String]], _ words: [String], _ form: DoctorItem.Form, from: String
    ) async -> DoctorItem {
        var best: (item: DoctorItem, rank: (Int, Int))?
        for input in inputs {
            let item = await hand(words + input, form, from: from)
            let step = item.verdict == .fine ? Int.max : item.result?.member("step")?.integer ?? 0
            let rank = (step, item.result?.member("mistake")?.text == nil ? 0 : 1)
            if best.map({ $0.rank < rank }) != false { best = (item, rank) }
        }
        return best?.item ?? DoctorItem(form, from: from, command: words, (2, [], []))
    }
}
