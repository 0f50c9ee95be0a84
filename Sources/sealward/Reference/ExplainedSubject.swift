// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import ATSLint
import AppAttest
import AppTransportSecurity
import AppleServices
import DeviceCheckBits
import Formats
import TrustService
import Vocabulary

/// A number, a name or a key that people have, and what it says: `-1022`, `9824`, `invalidKey`, `NSAllowsLocalNetworking`.
struct ExplainedSubject {
    /// As Apple writes it.
    let title: String
    /// Apple's own sentence, where it has one.
    var says: String?
    /// What it means for the app, without a full stop.
    let means: String
    /// Why it comes; the first is no likelier than the others.
    var codes: [Code] = []
    var action: String?
    let next: [String]
    /// Whether somebody documents it.
    var isKnown = true
}

// MARK: - Reading

extension ExplainedSubject {
    /// Nil for words that are none of these.
    init?(_ text: String) {
        let bytes = Array(text.utf8.prefix(300)).asciiLowercased
        let letters = bytes.filter(\.isASCIIAlphanumeric)
        func has(_ word: String) -> Bool { bytes.contains(word.utf8) || letters.contains(word.utf8) }
        // What the file that configures the proxy says is said for each load, whatever becomes of the load.
        if has("nw_proxy_resolver") { return nil }
        let number = ExplainedSubject.isAboutANumber(bytes) ? ExplainedSubject.number(in: bytes) : nil
        lazy var proof = ProofWords(bytes)
        // Xcode shows keys by other names, with blanks.
        let written = text.utf8.contains(0x20) ? Spelling.renamed[text] ?? text : text
        if let key = KeyExplanations.all.first(where: { $0.key.hasSameBytes(as: written) }) {
            self.init(key: key)
        } else if let mistake = ProofMistake.all.first(where: { $0.name.utf8.elementsEqual(bytes) }) {
            self.init(
                title: "\(mistake.name), a mistake that explains a refused proof", means: mistake.explanation,
                action: mistake.action, next: ["sealward attest verify --help"])
        } else if has("token") || has("bit") || has("timestamp"), let found = ExplainedSubject.deviceCheck(bytes) {
            self = found
        } else if let trouble = ExplainedSubject.troubles.first(where: { trouble in
            has("attest")
                && trouble.words.allSatisfy { $0.split(separator: " ").contains { letters.contains($0.utf8) } }
        }) {
            self = trouble.subject
        } else if has("provisioning profile") || has("included in profile") || has("code signing entitlements"),
            has("appattest-environment") || has("app attest")
        {
            self = ExplainedSubject.profileWithoutAttest
        } else if has("appattest-environment")
            || ExplainedSubject.environments.contains(where: { $0.utf8.elementsEqual(letters) })
        {
            self = ExplainedSubject.attestEnvironment
        } else if letters.contains("riskmetric".utf8) {
            self = ExplainedSubject.riskMetric
        } else if let part = ExplainedSubject.parts.first(where: { part in
            letters.starts(with: part.name.utf8)
                && letters.dropFirst(part.name.utf8.count).allSatisfy { 0x30...0x39 ~= $0 }
        }) {
            self = part.subject
        } else if has("appattest.apple.com"), has("v1"), !has("attestationdata") {
            self = ExplainedSubject.otherPath
        } else if has("attestationdata") || has("receipt") || has("appattest.apple.com"),
            let status = ExplainedSubject.number(in: bytes), let found = ExplainedSubject.receiptService(status)
        {
            self = found
        } else if let number, has("appcheck") || has("exchange") || has("attestchallenge"),
            let row = LogExplanations.appCheck(status: number)
        {
            self.init(title: "App Check, HTTP status \(number)", row, ["sealward ats log FILE"])
        } else if has("com.apple.devicecheck.error.baa") || has("com.apple.appattest.error") {
            self = ExplainedSubject.belowDeviceCheck
        } else if let number, number >= 400, !has("com.apple.devicecheck.error"),
            has("devicecheck") || has("two_bits") || has("validate_device_token")
        {
            self.init(deviceCheckStatus: number)
        } else if let number, has("devicecheck") || has("dcerror") {
            self.init(device: number)
        } else if let number = ExplainedSubject.appCheckNumber(in: bytes) {
            // The sentence behind an error without a name says more.
            if number == 0, ExplainedSubject.isFailure(text) { return nil }
            self.init(appCheck: number)
        } else if number != nil, has("appcheck") || has("exchange") || has("receipt"), !has("domain"), !has("nsurl") {
            // A status of theirs that is not known, and no error of a load.
            return nil
        } else if has("alert"), let alert = ExplainedSubject.alert(in: bytes) {
            self.init(alert: alert)
        } else if let number, let row = ExplainedSubject.row(number, of: bytes, has) {
            self.init(row)
        } else if number != nil, proof.verifier == nil {
            return nil
        } else if let row = ExplainedSubject.named.first(where: { name, _ in name.elementsEqual(letters) })?.row {
            self.init(row)
        } else if let row = ErrorNumber.keychainErrors.first(where: { row in
            [row.name, row.sentence].contains {
                letters.contains($0.utf8.asciiLowercased.filter(\.isASCIIAlphanumeric))
            }
        }) {
            self.init(row)
        } else if let index = LogExplanations.deviceErrorNames.firstIndex(where: { name in
            let name = name.utf8.asciiLowercased
            return letters == name || letters == Array("dcerror".utf8) + name
                || letters == Array("dcerrorcode".utf8) + name
        }) {
            self.init(device: index)
        } else if let alert = (0...121).first(where: { ConnectionCauses.alertName($0).utf8.elementsEqual(bytes) }) {
            self.init(alert: alert)
        } else if let row = LogExplanations.attest(in: text) {
            self.init(title: text.terminalSafe(limit: 200), row, ["sealward ats log FILE"])
        } else if let code = proof.code, let row = CodeCatalog.explanation(of: code.rawValue) {
            self.init(title: text.terminalSafe(limit: 200), row, ["sealward attest verify --help"])
        } else if letters.count <= 64, has("appcheck"),
            let index = ExplainedSubject.appCheckNames.firstIndex(where: { letters.suffix($0.count).elementsEqual($0) })
                ?? (has("tokenerror") ? 0 : nil)
        {
            // A `token-error` of React Native Firebase is any of them.
            self.init(appCheck: index)
        } else if ExplainedSubject.environments.dropFirst().contains(where: { letters.contains($0.utf8) }) {
            self = ExplainedSubject.attestEnvironment
        } else {
            return nil
        }
    }

    /// The domains of errors of loads, in parts of their names.
    private static let domains = [
        "nsurl", "cfnetwork", "cfstream", "osstatus", "posix", "webkit", "avfoundation", "coremedia",
    ]

    /// Domains with numbers of their own, by names without `ErrorDomain`.
    private static let otherDomains = [
        "laerror", "localauthentication", "tkerror", "cryptotokenkit", "ckerror", "skerror",
    ]

    /// The row of a number in the domain that the words name, or in the one that has it.
    private static func row(_ number: Int, of words: [UInt8], _ has: (String) -> Bool) -> ErrorNumber? {
        let isNegative = words.contains("-\(number)".utf8)
        if otherDomains.contains(where: has) { return nil }
        // A number of another domain, or beside a status of HTTP, is another number.
        let isOther =
            has("errordomain") && !domains.contains(where: has) || has("status") && !has("osstatus") && !isNegative
        if isOther { return nil }
        if has("posix") || has("errno") { return ErrorNumber.posix(number) }
        if has("cfstream"), !isNegative, let row = ErrorNumber.posix(number) { return row }
        if has("cfnetwork"), let row = ErrorNumber.cfNetwork(number) { return row }
        if has("webkit"), let row = ErrorNumber.webKit(number) { return row }
        let isStream = has("stream") || has("ssl") || has("osstatus")
        // `exit code 1` is no NSURLError.
        if !isStream, number > 9 || isNegative || has("nsurl"), let row = ErrorNumber.url(-number) { return row }
        // `exit code 128` is no OSStatus.
        let row =
            ErrorNumber.stream(-number) ?? ErrorNumber.security(-number) ?? ErrorNumber.player(-number)
            ?? (isNegative || has("osstatus") || number > 9_999 ? ErrorNumber.keychain(-number) : nil)
        // Numbers of one digit are many things.
        let isHTTP = number > 9 || has("cfstream") || words.elementsEqual("-\(number)".utf8)
        return row ?? (isHTTP ? ErrorNumber.httpStream(-number) : nil)
    }

    /// What Apple's DeviceCheck writes into an answer.
    private static func deviceCheck(_ words: [UInt8]) -> ExplainedSubject? {
        let text = String(decoding: words, as: UTF8.self)
        if DeviceCheckAnswer.neverSetTexts.contains(where: text.contains) {
            return ExplainedSubject(
                title: "an answer of DeviceCheck, with status 200",
                means: "the two bits of the device were never set; this is no fault, and both count as false",
                action: "write them with update_two_bits when you have something to remember",
                next: ["sealward devicecheck update --help"])
        }
        guard let code = DeviceCheckFault.code(ofText: text),
            let row = CodeCatalog.explanation(of: code.rawValue)
        else { return nil }
        return ExplainedSubject(title: "an answer of DeviceCheck", row, ["sealward devicecheck query --help"])
    }

    /// What Xcode says when it signs.
    private static let profileWithoutAttest = ExplainedSubject(
        title: "a provisioning profile that does not permit the app's App Attest entitlement",
        means:
            "the App ID had no App Attest capability when the profile was made, or the profile has another value than the .entitlements file; the app was not built",
        action:
            "add the capability to the App ID (developer.apple.com, Identifiers, or Signing & Capabilities in Xcode), and make or download the profile again",
        next: ["sealward doctor NAME.mobileprovision"])

    /// What keeps other verifiers from genuine objects. In each row one word of each list must be there.
    private static let troubles: [(words: [String], subject: ExplainedSubject)] = [
        (
            [
                "appleappattest", "unsupported unknown nosuch notsupported unrecognized unrecognised notregistered",
                "format",
            ],
            trouble(
                "a library that does not know the format apple-appattest",
                "the object has the format of App Attest; the library verifies passkeys (WebAuthn), which have others",
                "verify it with a verifier of App Attest, as `sealward attest verify` or `sealward serve`")
        ),
        (
            ["clientdatajson userverification userpresence userpresent userverified flaguv flagup webauthnorigin"],
            trouble(
                "a check of a WebAuthn ceremony, which App Attest is not",
                "App Attest sets no flag for a present or verified user, and has no clientDataJSON and no origin",
                "leave these checks out; client data are the bytes that your app hashed")
        ),
        (
            ["revocation"],
            trouble(
                "a check of revocation of App Attest's certificates",
                "their chain names no CRL and no OCSP responder, so that there is nothing to ask",
                "switch the check of revocation off for this chain (X509RevocationMode.NoCheck, PKIXParameters.setRevocationEnabled(false))"
            )
        ),
        (
            ["createpublickey createverify", "notimplemented notafunction notsupported undefined"],
            trouble(
                "a runtime without these functions of Node, as Cloudflare Workers",
                "the object was not judged",
                "import the 65 bytes of the key with crypto.subtle.importKey(\"raw\", ...), and convert the signature from DER to r and s"
            )
        ),
        (
            ["namedcurve", "p384 secp384 unrecognized unsupported"],
            trouble(
                "a runtime that does not verify P-384 with SHA-256, as Deno",
                "App Attest's intermediate has a key on P-384 and signs the leaf with SHA-256",
                "verify with the algorithm that the certificate names, or in Node")
        ),
    ]

    private static func trouble(_ title: String, _ means: String, _ action: String) -> ExplainedSubject {
        ExplainedSubject(
            title: title, means: means, action: action + "; docs/verify-app-attest.md has more of this kind",
            next: ["sealward attest verify --help"])
    }

    static let attestEnvironment = ExplainedSubject(
        title: "com.apple.developer.devicecheck.appattest-environment, and the AAGUID of an attestation",
        means:
            "a build from Xcode makes development keys (AAGUID appattestdevelop) unless the entitlement says production; builds from TestFlight, the App Store and for enterprises make production keys (AAGUID appattest and seven zero bytes), whatever it says",
        action: "allow the environment of the build: with --environment, or as environments of the app in the service",
        next: ["sealward attest inspect FILE", "sealward attest verify --help"])

    /// What they are called, and the two values of the AAGUID in the ways in which they are shown, in letters and digits.
    private static let environments = [
        "aaguid", "appattestdevelop", "appattestsandbox", "617070617474657374646576656c6f70",
        "61707061747465737400000000000000", "yxbwyxr0zxn0zgv2zwxvca", "yxbwyxr0zxn0aaaaaaaaaa",
    ]

    /// Parts of an attestation and of an assertion, by the letters of the names that standards and libraries have for them;
    /// a number may follow.
    private static let parts: [(name: String, subject: ExplainedSubject)] = [
        (
            "rpidhash",
            part(
                "rpIdHash, the first 32 bytes of the authenticator data",
                "SHA-256 of the App ID: the App ID prefix, a point, and the bundle identifier of the full app",
                [.attestAppIdMismatch, .assertAppIdMismatch])
        ),
        (
            "1284011363510082",
            part(
                "1.2.840.113635.100.8.2, an extension of the leaf certificate",
                "the nonce: SHA-256 of the authenticator data and the client data hash, 32 bytes in an OCTET STRING, in [1], in a SEQUENCE",
                [.attestNonceMissing, .attestNonceMismatch])
        ),
        (
            "signcount",
            part(
                "signCount, the four bytes 33 to 36 of the authenticator data",
                "the counter, big-endian: 0 in an attestation, and greater with each assertion of the key",
                [.attestCounterNotZero, .assertCounterReplayed])
        ),
        ("validationcategory", validationCategory), ("applevalidationcategory", validationCategory),
    ]

    private static let validationCategory = part(
        "apple_validation_category_01, an extension since iOS 27",
        "how the app was distributed: "
            + ([1, 2, 3, 4, 5, 6, 10] as [UInt32]).map { ValidationCategory(rawValue: $0).named }.joined(
                separator: ", "),
        [.attestPolicyValidationCategory, .assertPolicyValidationCategory])

    private static let riskMetric = ExplainedSubject(
        title: "riskMetric, field 17 of a receipt",
        means:
            "about how many keys the device attested for the app in 30 days. Only a receipt that Apple gave in exchange (type RECEIPT) has it; the one in an attestation (type ATTEST) has none",
        action: "exchange the receipt, and read docs/risk-metric.md",
        next: ["sealward receipt refresh --help", "sealward receipt inspect FILE"])

    private static func part(_ title: String, _ means: String, _ codes: [Code]) -> ExplainedSubject {
        ExplainedSubject(
            title: title, means: means, codes: codes,
            next: ["sealward attest inspect FILE", "sealward attest verify --help"])
    }

    /// An address of the receipt service that there is not.
    private static let otherPath = ExplainedSubject(
        title: "a path of App Attest's receipt service",
        means:
            "Apple documents one path, /v1/attestationData: what another is answered with says nothing about the receipt",
        action:
            "POST the receipt's base64 to https://data.appattest.apple.com/v1/attestationData, or to data-development.appattest.apple.com for a receipt whose field 7 is sandbox",
        next: ["sealward receipt refresh --help"])

    private init?(deviceCheckStatus status: Int) {
        let code = DeviceCheckFault(status: status, body: []).code
        let title = "DeviceCheck, HTTP status \(status)"
        let next = ["sealward devicecheck query --help"]
        if status == 400 {
            self.init(
                title: title, means: "Apple refuses the request; the text of the answer says why",
                codes: [.deviceTokenInvalid, .devicecheckAuthorizationRefused, .devicecheckRequestRefused],
                action: "read the text, and give it to `sealward explain TEXT`", next: next)
        } else if code != .devicecheckStatusUnknown, let row = CodeCatalog.explanation(of: code.rawValue) {
            self.init(title: title, row, next)
        } else {
            return nil
        }
    }

    /// What a status of App Attest's receipt service means; nil for another number.
    private static func receiptService(_ status: Int) -> ExplainedSubject? {
        guard [304, 400, 401, 404, 429, 500, 503].contains(status),
            let row = CodeCatalog.explanation(
                of: ReceiptRefreshClient.outcome(of: AppleAnswer(status: status)).code.rawValue)
        else { return nil }
        let title = "App Attest's receipt service, HTTP status \(status)"
        let next = ["sealward receipt verify --help", "sealward receipt refresh --help"]
        guard status == 400 else { return ExplainedSubject(title: title, row, next) }
        return ExplainedSubject(
            title: title,
            means: "Apple cannot read the receipt, or it belongs to the other environment",
            codes: [.receiptRefreshBadPayload, .receiptRefreshWrongEnvironment],
            action:
                "send the receipt's base64 as the whole body, without JSON around it, and to the host of the environment that its field 7 names: sandbox is data-development.appattest.apple.com",
            next: next)
    }

    /// Whether a text is a number with words around it, and not any text that ends in a number: it says what numbers these are, or it is short.
    private static func isAboutANumber(_ bytes: [UInt8]) -> Bool {
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return false }
        let words = bytes.split { !$0.isASCIIAlphanumeric && $0 < 0x80 }
        let isShort =
            words.count <= 3
            && words.allSatisfy { $0.allSatisfy { 0x30...0x39 ~= $0 } || !$0.contains { 0x30...0x39 ~= $0 } }
        return isShort
            || [
                "error", "code", "status", "alert", "stream", "ssl", "appcheck", "app check", "devicecheck", "exchange",
                "attestchallenge", "two_bits", "device_token", "secitem", "seckey", "secpkcs", "keychain",
            ].contains { bytes.contains($0.utf8) }
    }

    /// The number behind a domain of App Check's client.
    private static func appCheckNumber(in bytes: [UInt8]) -> Int? {
        ["com.firebase.appcheck", "app_check_core", "appcheckcore", "appcheckerror"].lazy.compactMap { domain in
            bytes.firstRange(of: domain.utf8).flatMap { number(in: Array(bytes[$0.upperBound...].prefix(24))) }
        }.first
    }

    /// Whether a log with this text says that something failed.
    private static func isFailure(_ text: String) -> Bool {
        var log = DeviceLog()
        log.read(Array(text.utf8))
        return !log.report().failures.isEmpty
    }

    /// The number that stands behind the last `alert`, with no more between than its name.
    private static func alert(in bytes: [UInt8]) -> UInt8? {
        guard let word = bytes.indices.last(where: { bytes[$0...].starts(with: "alert".utf8) }) else { return nil }
        let rest = bytes[(word + 5)...].prefix(48)
        guard let first = rest.firstIndex(where: { 0x30...0x39 ~= $0 }) else {
            // `40 alert`.
            return bytes.prefix(3).contains { 0x30...0x39 ~= $0 }
                ? number(in: bytes).flatMap { UInt8(exactly: $0) } : nil
        }
        let between = rest[..<first]
        guard !between.contains("err".utf8), between.last.map({ !(0x61...0x7A ~= $0) }) != false else { return nil }
        let digits = rest[first...].prefix { 0x30...0x39 ~= $0 }
        return digits.count <= 3 ? UInt8(exactly: digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) }) : nil
    }

    /// The last number of the text, without its sign; nil if there is none or it has more than five digits. Digits before a letter are none,
    /// and so are those of a name (`asn1`, `x509`).
    private static func number(in bytes: [UInt8]) -> Int? {
        // The number of a stream's domain may stand behind that of the error.
        if let key = bytes.firstRange(of: "errorcodekey".utf8) {
            let digits = bytes[key.upperBound...].drop { !(0x30...0x39 ~= $0) }.prefix { 0x30...0x39 ~= $0 }
            if 1...5 ~= digits.count { return digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) } }
        }
        let numbers = bytes.split(whereSeparator: { !(0x30...0x39 ~= $0) }).filter { digits in
            let before = bytes[..<digits.startIndex]
            func follows(_ words: [String], _ before: ArraySlice<UInt8>) -> Bool {
                words.contains { before.suffix($0.utf8.count).elementsEqual($0.utf8) }
            }
            let names = ["error", "code", "status", "alert", "domain", "http"]
            // Parts of addresses and versions, ports and lines: `127.0.0.1:3000`, `:::3000`, `Shop.swift:1022`.
            let host = before.dropLast()
            let isPlace =
                follows(["port "], before)
                || before.last == UInt8(ascii: ".") && host.last.map { 0x30...0x39 ~= $0 } == true
                || before.last == UInt8(ascii: ":") && !follows(names, host)
                    && host.last.map { $0.isASCIIAlphanumeric || ":]".utf8.contains($0) } == true
            let isOwn = before.last?.isASCIIAlphanumeric != true && !isPlace
            return
                (isOwn || follows(names, before))
                && (digits.endIndex == bytes.endIndex || !bytes[digits.endIndex].isASCIIAlphanumeric)
        }
        guard let last = numbers.last, last.count <= 5 else { return nil }
        return last.reduce(0) { $0 * 10 + Int($1 & 0x0F) }
    }

    /// Names without what is put before them, in the ways in which languages write them.
    private static let named: [(name: [UInt8], row: ErrorNumber)] =
        ErrorNumber.urlErrors.flatMap { row -> [(name: [UInt8], row: ErrorNumber)] in
            let short = row.name.utf8.dropFirst("NSURLError".utf8.count).asciiLowercased
            return ["nsurlerror", "urlerror", "urlerrorcode", "kcfurlerror"].map {
                (name: Array($0.utf8) + short, row: row)
            }
        }
        + (ErrorNumber.streamErrors + ErrorNumber.securityErrors + ErrorNumber.keychainErrors
        + ErrorNumber.cfNetworkErrors
        + ErrorNumber.playerErrors + ErrorNumber.webKitErrors + ErrorNumber.httpStreamErrors
        + ErrorNumber.posixErrors).map {
            (name: $0.name.utf8.asciiLowercased, row: $0)
        }

    /// Every name that can be asked for, for words that are near one.
    static var names: [String] {
        KeyExplanations.all.map(\.key) + AnswerWord.all.map(\.word).filter { $0.utf8.count > 6 }
            + LogExplanations.deviceErrorNames + ProofMistake.all.map(\.name)
            + (ErrorNumber.urlErrors + ErrorNumber.streamErrors + ErrorNumber.securityErrors
            + ErrorNumber.keychainErrors
            + ErrorNumber.playerErrors)
            .flatMap {
                [$0.name, String($0.number)]
            }
    }

    // MARK: - What each is

    /// A word of answers and reports, alone or after its place (`tier none`): in each place that has it. Only `explain` asks: in what people
    /// paste it may be any word.
    init?(wordOfAnswers text: String) {
        let bytes = text.utf8.prefix(80).asciiLowercased
        let found = (AnswerWord.all + AnswerWord.ofReports).filter { row in
            [row.word, "\(row.place) \(row.word)", "\(row.place): \(row.word)"].contains {
                $0.utf8.asciiLowercased == bytes
            }
        }
        guard let first = found.first else { return nil }
        func joined(_ part: KeyPath<AnswerWord, String>) -> String {
            found.count == 1
                ? first[keyPath: part] : found.map { "\($0.place): \($0[keyPath: part])" }.joined(separator: "; ")
        }
        self.init(
            title: "\(first.word), a word of answers: \(found.map(\.place).joined(separator: ", "))",
            means: joined(\.meaning), action: joined(\.action), next: [])
    }

    private init(_ row: ErrorNumber) {
        title = "\(row.name), \(row.domain.rawValue) \(row.number)"
        says = row.meaning.isEmpty ? nil : row.sentence
        means = row.meaning.isEmpty ? row.sentence : row.meaning
        (codes, action) = (row.codes, row.action)
        let load =
            row.number == -1022
            ? ["sealward ats explain URL --info-plist Info.plist", "sealward ats lint Info.plist"]
            : row.domain == .webKit ? [] : ["sealward ats check https://HOST/"]
        next = row.domain == .keychain ? [] : load + ["sealward ats log FILE"]
    }

    private init(key: (key: String, type: String, meaning: String)) {
        title = "\(key.key), \(key.type)"
        means = key.meaning
        next = ["sealward ats lint Info.plist", "sealward ats explain URL --info-plist Info.plist"]
    }

    private init(device number: Int) {
        let names = LogExplanations.deviceErrorNames
        if names.indices.contains(number), LogExplanations.deviceErrors.indices.contains(number) {
            self.init(
                title: "DCError.\(names[number]), com.apple.devicecheck.error \(number)",
                LogExplanations.deviceErrors[number], ["sealward ats log FILE"])
            return
        }
        self.init(
            title: "com.apple.devicecheck.error \(number)", means: LogExplanations.undocumentedDeviceError,
            action: LogExplanations.undocumentedDeviceAction, next: ["sealward explain \(names[0])"], isKnown: false)
    }

    private init(appCheck number: Int) {
        let rows = LogExplanations.appCheckErrors
        let next = ["sealward ats log FILE"]
        if rows.indices.contains(number) {
            self.init(
                title: "AppCheckErrorCode.\(rows[number].name), com.firebase.appCheck \(number)",
                means: rows[number].meaning, action: rows[number].action, next: next)
            return
        }
        let names = rows.enumerated().map { "\($0) \($1.name)" }.joined(separator: ", ")
        self.init(
            title: "com.firebase.appCheck \(number)",
            means: "no number of App Check's client, which has \(names)",
            action: "print the whole error with its NSUnderlyingErrorKey", next: next, isKnown: false)
    }

    /// The names of App Check's errors by number, in letters.
    private static let appCheckNames = LogExplanations.appCheckErrors.map { $0.name.utf8.asciiLowercased }

    /// Domains of Apple's that apps see in logs only.
    private static let belowDeviceCheck = ExplainedSubject(
        title: "an error inside the system, below DCError",
        means:
            "com.apple.appattest.error and com.apple.devicecheck.error.baa are Apple's own, and nobody documents their numbers; the app gets a DCError for them. Virtual machines log -10000 of the second, because they have no identity of a device",
        action: "look for the DCError that the app got, and try on a device of its own",
        next: ["sealward ats log FILE"], isKnown: false)

    private init(title: String, _ row: CodeExplanation, _ next: [String]) {
        self.init(title: title, means: row.meaning, codes: [row.code], action: row.action, next: next)
    }

    private init?(alert: UInt8) {
        let name = ConnectionCauses.alertName(alert)
        guard !name.hasPrefix("number ") else { return nil }
        let row = ErrorNumber.stream(URLLoadError.streamCode(ofAlert: alert))
        title = "\(name), TLS alert \(alert)"
        let meaning = AlertMeaning(alert)
        codes = ConnectionCauses.codes(ofAlert: alert)
        means =
            codes == [.tlsClientCertificateRequired]
            ? "the server demands a client certificate and got none; an app gets NSURLErrorDomain -1206 for it"
            : "\(meaning.map { "the server \($0.words)" } ?? "the other side ended the handshake"); an app gets NSURLErrorDomain -1200 with stream code \(row?.number ?? -9800) for it: \(row?.sentence ?? name)"
        action = meaning?.action
        next = ["sealward ats check https://HOST/", "sealward ats log FILE"]
    }

    // MARK: - Rendering

    /// What to do, where there is one cause.
    private var advice: String? {
        action ?? (codes.count == 1 ? codes.first.flatMap(LogExplanations.explanation)?.action : nil)
    }

    /// For people, one screen.
    var text: String {
        var lines = [title, ""]
        func add(_ label: String, _ text: String) { lines.append(label.padded(to: 8) + text.replacing("`", with: "")) }
        if let says { add("says", "\"\(says)\"") }
        add("means", means)
        if codes.count == 1, let code = codes.first { add("code", code.rawValue) }
        if codes.count > 1 {
            add("causes", codes.map(\.rawValue).joined(separator: ", ") + "; the number alone does not say which")
        }
        if let advice { add("do", advice) }
        for (index, command) in next.enumerated() { add(index == 0 ? "run" : "", command) }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A member of `subjects` in `sealward.explain/1`.
    var json: JSONValue {
        [
            "title": .string(title), "says": .optional(says), "meaning": .string(means),
            "codes": .array(codes.map { .string($0.rawValue) }), "action": .optional(advice),
            "next": .array(next.map(JSONValue.string)),
        ]
    }
}
