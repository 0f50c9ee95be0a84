// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

/// Takes what looks like a secret out of what is shown: passwords, tokens, keys of services, and the user information of a URL.
enum SecretText {
    private static let hidden = "(hidden)"

    /// Names after which a value is a secret, in lower case without `-` and `_`.
    private static let names =
        spokenNames + [
            "authorization", "credential", "credentials", "cookie", "sessionid", "session", "signature", "sig",
            "authkey", "bearer", "sessid",
        ]
    /// Those that sentences and paths have too, as `the password is X` and `/reset-password/X`.
    private static let spokenNames = [
        "password", "passwd", "pwd", "passphrase", "passcode", "otp", "secret", "token", "apikey", "accesskey",
        "privatekey", "secretkey", "accountkey", "signingkey", "encryptionkey", "masterkey", "subscriptionkey",
    ]
    private static let beginnings = [
        "eyJ", "AKIA", "ghp_", "gho_", "github_pat_", "glpat-", "sk_live_", "sk-", "xox", "AIza",
    ]

    /// The same, as whole words.
    private static let shortNames = ["pass", "pw"]
    /// Words after which a blank is enough, as after an option with such a name: schemes of HTTP, and options of curl.
    private static let introducers = ["bearer", "basic", "-u", "--user", "--proxy-user", "-b"]

    /// Where a reader of a text is.
    private enum State { case plain, behindName, beforeValue, insideValue }

    /// - Parameter hidesUnnamed: whether long words of letters and digits are taken for secrets too; not in what shows keys and hashes.
    static func redacted(_ text: String, hidesUnnamed: Bool) -> String {
        var result: [UInt8] = []
        var rest = withoutCredentials(text).utf8[...]
        var (state, isCookie) = (State.plain, false)
        // The mark of quotation that a value began with, and whether it was escaped.
        var mark: (byte: UInt8, isEscaped: Bool)?
        var (isAuthorization, isInURL) = (false, false)
        // The name before a blank, a slash or `is`, in lower case.
        var spoken: [UInt8]?
        while let first = rest.first {
            let isPart = isWordByte(first)
            let run = rest.prefix { isWordByte($0) == isPart }
            rest = rest[run.endIndex...]
            guard isPart else {
                let gives = run.contains(UInt8(ascii: "=")) || run.contains(UInt8(ascii: ":"))
                let opens = run.last.map(isQuote) == true
                // JavaScript's "Unexpected token 'x'" names no secret.
                let isSaid = opens && run.count > 1 && spoken.map { !$0.ends(with: "token".utf8) } == true
                // A value in JSON or a property list may be on the line after its name.
                if run.contains(0x0A), state != .behindName || !opens && run.last != UInt8(ascii: "<") {
                    state = .plain
                } else if state == .behindName,
                    gives || run.last == UInt8(ascii: ">") || isSaid && run.dropLast().allSatisfy({ $0 == 0x20 })
                {
                    state = .beforeValue
                    mark = opens ? run.last.map { ($0, run.dropLast().last == UInt8(ascii: "\\")) } : nil
                } else if state == .insideValue, !gives,
                    mark.map({ ends(run, $0) }) ?? run.contains(where: isCookie ? isQuote : endsValue)
                {
                    state = .plain
                }
                result += run
                isInURL =
                    run.filter { $0 != UInt8(ascii: "\\") }.contains("://".utf8)
                    || isInURL && !run.contains { $0 <= 0x20 || isQuote($0) || "<>".utf8.contains($0) }
                if !run.allSatisfy({ " \t/'\"(".utf8.contains($0) }) { spoken = nil }
                continue
            }
            let word = Array(run)
            // What is hidden already stays as it is.
            if result.last == UInt8(ascii: "("), word.elementsEqual("hidden".utf8) {
                result += word
                if state == .beforeValue { state = .insideValue }
                continue
            }
            let lowered = word.asciiLowercased
            let letters = lowered.filter(\.isASCIIAlphanumeric)
            // What stands behind `URLSession:` is no session of a site.
            let isName =
                word.count <= 64 && !letters.ends(with: "urlsession".utf8)
                && (names.contains { letters.ends(with: $0.utf8) }
                    || shortNames.contains { letters.elementsEqual($0.utf8) })
            // `curl -uNAME:VALUE`.
            let isJoined = word.count > 2 && word.starts(with: "-u".utf8) && rest.first == UInt8(ascii: ":")
            if isJoined || introducers.contains(where: { lowered.elementsEqual($0.utf8) })
                || isName && word.first == UInt8(ascii: "-") && [.plain, .behindName].contains(state)
            {
                result += word
                (isAuthorization, mark) = (false, nil)
                if isJoined || rest.first.map(" \t\\=".utf8.contains) == true { state = .beforeValue }
                continue
            }
            switch state {
            // As Swift prints a value that may be absent.
            case .beforeValue where lowered.elementsEqual("optional".utf8) && rest.first == UInt8(ascii: "("),
                // `&quot;`, a mark of quotation in HTML.
                .beforeValue
            where ["quot", "apos", "34", "39"].contains { lowered.elementsEqual($0.utf8) }
                && result.last.map("&#".utf8.contains) == true && rest.first == UInt8(ascii: ";"):
                result += word
            case .beforeValue, .insideValue:
                result += hidden.utf8
                // `Authorization: token 5f2a...`: a scheme, whatever it is called, and what is secret.
                state = isAuthorization && rest.first == 0x20 ? .beforeValue : .insideValue
                isAuthorization = false
            // `"name": "Cookie", "value": "..."` and `<key>Password</key><string>...`.
            case .behindName where ["key", "value", "string"].contains(where: { lowered.elementsEqual($0.utf8) }),
                .behindName where spoken != nil && ["is", "was"].contains(where: { lowered.elementsEqual($0.utf8) }):
                result += word
            case .plain, .behindName:
                let isSaid = spoken != nil && looksChosen(word)
                spoken = isName && spokenNames.contains { letters.ends(with: $0.utf8) } ? letters : nil
                isCookie = letters.ends(with: "cookie".utf8)
                isAuthorization = letters.ends(with: "authorization".utf8)
                state = isName ? .behindName : .plain
                result += isSaid || isSecret(word, hidesUnnamed: hidesUnnamed || isInURL) ? Array(hidden.utf8) : word
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Whether what follows a word ends a value in marks of quotation; one that is escaped otherwise than the first is a part of it.
    private static func ends(_ run: Substring.UTF8View.SubSequence, _ mark: (byte: UInt8, isEscaped: Bool)) -> Bool {
        zip([0] + Array(run), run).contains { $1 == mark.byte && ($0 == UInt8(ascii: "\\")) == mark.isEscaped }
    }

    private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

    /// Whether a byte ends a value; one of a cookie has several parts.
    private static func endsValue(_ byte: UInt8) -> Bool {
        byte <= 0x20 || isQuote(byte) || ",;&<>)]".utf8.contains(byte)
    }

    static func redacted(_ value: JSONValue, hidesUnnamed: Bool) -> JSONValue {
        switch value {
        case .string(let text): .string(redacted(text, hidesUnnamed: hidesUnnamed))
        case .array(let elements): .array(elements.map { redacted($0, hidesUnnamed: hidesUnnamed) })
        case .object(let members):
            .object(members.map { .init($0.name, redacted($0.value, hidesUnnamed: hidesUnnamed)) })
        default: value
        }
    }

    /// The text without private keys, signed tokens, and what stands before the host of a URL: what is said on standard error may quote a word or
    /// a line that has one.
    static func withoutCredentials(_ text: String) -> String {
        var plain: [UInt8] = []
        var rest = Array(text.utf8)[...]
        // Once the rest has no end of a key, no later rest has one, and the search is not repeated.
        var mayEnd = true
        while let begin = rest.firstRange(of: "-----BEGIN ".utf8) {
            let label = rest[begin.upperBound...].prefix(40).prefix { $0 != UInt8(ascii: "-") }
            guard label.ends(with: "PRIVATE KEY".utf8) else {
                plain += rest[..<label.endIndex]
                rest = rest[label.endIndex...]
                continue
            }
            plain += rest[..<begin.lowerBound]
            plain += hidden.utf8
            rest = rest[label.endIndex...].dropFirst(5)
            // One that was cut ends at a blank or a quote.
            let end = mayEnd ? rest.firstRange(of: "PRIVATE KEY-----".utf8)?.upperBound : nil
            mayEnd = end != nil
            rest = rest[(end ?? rest.firstIndex { $0 == 0x20 || $0 == UInt8(ascii: "'") } ?? rest.endIndex)...]
        }
        plain += rest
        var shown: [UInt8] = []
        rest = plain[...]
        while let first = rest.first {
            let run = rest.prefix { isKeyByte($0) == isKeyByte(first) }
            rest = rest[run.endIndex...]
            if isEncodedKey(run) || isSignedToken(run) { shown += hidden.utf8 } else { shown += run }
        }
        return String(decoding: withoutUsers(shown[...]), as: UTF8.self)
    }

    private static func withoutUsers(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var shown: [UInt8] = []
        var rest = text
        while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
            let next = rest[colon...].dropFirst()
            // As it is, and as JSON may write it.
            let slashes = ["//", "\\/\\/"].first { next.starts(with: $0.utf8) } ?? ""
            let end = next.startIndex + slashes.utf8.count
            shown += rest[..<end]
            rest = rest[end...]
            if !slashes.isEmpty, let end = userEnd(rest) {
                shown += hidden.utf8
                rest = rest[end...]
            }
        }
        return shown + rest
    }

    /// Whether a word is a private key: in PEM, as DER in base64 or hexadecimal, or a JSON Web Key.
    static func isPrivateKey(_ word: String) -> Bool {
        let bytes = Array(word.utf8)
        if bytes.first == UInt8(ascii: "{"), let value = try? JSONReader.read(bytes) {
            return isPrivateKey(value)
        }
        if let mark = bytes.firstRange(of: "PRIVATE KEY-----".utf8) {
            // Words about a key have blanks.
            let body = bytes[mark.upperBound...].drop { $0 <= 0x20 || "\\nr".utf8.contains($0) }.prefix(24)
            return body.count == 24 && body.allSatisfy(isKeyByte)
        }
        return isEncodedKey(bytes.filter { $0 > 0x20 })
    }

    /// Whether a document is a JSON Web Key, or a set of them, with what is secret of it.
    static func isPrivateKey(_ value: JSONValue) -> Bool {
        value.member("kty") != nil && (value.member("d") != nil || value.member("k") != nil)
            || value.member("keys")?.elements?.contains { isPrivateKey($0) } == true
    }

    /// Whether a word is a JSON Web Token.
    static func isSignedToken(_ word: some Collection<UInt8>) -> Bool {
        word.count >= 16 && word.starts(with: "eyJ".utf8) && word.count { $0 == UInt8(ascii: ".") } >= 2
    }

    /// Whether a word is a token or the like rather than the name of a file.
    static func isToken(_ word: String) -> Bool {
        let bytes = Array(word.utf8)
        // Long names of files have dots or hyphens.
        let mayBe = bytes.allSatisfy(\.isASCIIAlphanumeric)
        return isSignedToken(bytes) || mayBe && isSecret(bytes, hidesUnnamed: true)
    }

    private static func isKeyByte(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || "+/=_-.".utf8.contains(byte) }

    /// Whether base64 or hexadecimal begins as PKCS #8, SEC 1 and PKCS #1 do: a sequence, the version 0 or 1, and what follows it there.
    private static func isEncodedKey(_ word: some Collection<UInt8>) -> Bool {
        guard word.count >= 48 else { return false }
        let standard = word.prefix(16).map { byte in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
        let digits = String(decoding: word.prefix(24), as: UTF8.self)
        return [Base64.decode(standard), digits.hexadecimalBytes].contains { bytes in
            guard let bytes, bytes.first == 0x30 else { return false }
            let content = CertificateBench.content(ofSequence: bytes)
            return content.starts(with: [0x02, 0x01]) && [0, 1].contains(content.dropFirst(2).first)
                && [0x30, 0x04, 0x02].contains(content.dropFirst(3).first)
        }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte >= 0x80 || "-_.+%~$!".utf8.contains(byte)
    }

    /// Where the part of a URL before its host ends, with the `@` left; nil if it has none.
    private static func userEnd(_ rest: ArraySlice<UInt8>) -> Int? {
        let place = rest.prefix(256).prefix { $0 > 0x20 && !"\"'<>".utf8.contains($0) }
        let start = place.prefix { !"/?#".utf8.contains($0) }
        // What follows a colon and is no port is a password, in which `/`, `?` and `#` may not be encoded.
        let port = start.first == UInt8(ascii: "[") ? [] : start.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        let end =
            start.lastIndex(of: UInt8(ascii: "@"))
            ?? (port.allSatisfy { 0x30...0x39 ~= $0 } ? nil : place.lastIndex(of: UInt8(ascii: "@")))
        return end == rest.startIndex ? nil : end
    }

    /// Whether a word is no word of a language, host, version or date: letters with digits, or six digits and more.
    private static func looksChosen(_ word: [UInt8]) -> Bool {
        let digits = word.count { 0x30...0x39 ~= $0 }
        let isMixed = word.count >= 7 && digits > 0 && word.contains { $0 >= 0x41 }
        return (isMixed || digits == word.count && digits >= 6) && !word.dropLast().contains(UInt8(ascii: "."))
    }

    private static func isSecret(_ word: [UInt8], hidesUnnamed: Bool) -> Bool {
        guard word.count >= 16 else { return false }
        if beginnings.contains(where: { word.starts(with: $0.utf8) }) { return true }
        guard hidesUnnamed, word.count >= 24, !word.contains(UInt8(ascii: ".")) else { return false }
        let hasDigit = word.contains { 0x30...0x39 ~= $0 }
        let hasUpper = word.contains { 0x41...0x5A ~= $0 }
        let hasLower = word.contains { 0x61...0x7A ~= $0 }
        let isHex = word.count >= 32 && word.allSatisfy { $0.hexadecimalValue != nil }
        return hasDigit && (hasUpper && hasLower || isHex)
    }
}

extension Sequence<UInt8> {
    func ends(with other: some BidirectionalCollection<UInt8>) -> Bool {
        reversed().starts(with: other.reversed())
    }
}
