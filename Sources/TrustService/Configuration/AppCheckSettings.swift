// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import Vocabulary

/// The member `appCheck` as it is written.
struct AppCheckSettings: Sendable {
    private typealias Key = ConfigurationKey<AppCheckSettings>

    var projectNumber = ""
    var projectId = ""
    var keyFiles: [PrivateKeyFile] = []
    var apps: [String: String] = [:]
    var ttl: Duration = .seconds(3600)
    var debugTokens: [Configuration.AppCheck.DebugToken] = []
    var allowDebugTokens = false
    var simulated = Configuration.AppCheck.Simulated.refuse
    var appCheck: Configuration.AppCheck?

    static let table = ConfigurationTable(AppCheckSettings()) {
        Key("projectNumber", .projectNumber, \.projectNumber).required()
            .means("The number of the Firebase project; the issuer of the tokens ends with it.")
        Key("projectId", .projectId, \.projectId).required()
            .means("The id of the Firebase project; paths may have it or the number.")
        Key("keyFiles", .array(of: .rsaKey, ifEmpty: "must name at least one key"), \.keyFiles).required()
            .means("The keys for the tokens; the first signs, all are published.")
        Key("apps", .appCheckApps, \.apps).required()
            .means(
                "The apps by their App Check ids: `{\"1:NUMBER:ios:HEX\": \"shop\"}`; the variable takes `ID=APP,ID=APP`."
            )
        Key("ttlSeconds", .seconds(1...604_800), \.ttl)
            .means(
                "How long a token is valid, in seconds; Google's client renews it after half of that plus five minutes."
            )
        Key("debugTokensFile", .debugTokens, \.debugTokens).otherwise("no debug tokens")
            .means(
                "The debug tokens of simulators and build machines, known by their hashes. Needs `trustSimulator` or `allowDebugTokens`."
            )
        Key("allowDebugTokens", .flag, \.allowDebugTokens)
            .means("Accepts debug tokens although no simulator is trusted.")
        Key("simulated", .choice, \.simulated)
            .means("`refuse` answers exchanges of simulated keys with 403, `allow` gives them tokens with `sim`.")
    } finish: { settings, _ in
        var appCheck = Configuration.AppCheck(
            projectNumber: settings.projectNumber, projectId: settings.projectId,
            keyPEMs: settings.keyFiles.compactMap(\.pem), apps: settings.apps)
        appCheck.ttl = settings.ttl
        appCheck.debugTokens = settings.debugTokens
        appCheck.allowDebugTokens = settings.allowDebugTokens
        appCheck.simulated = settings.simulated
        settings.appCheck = appCheck
    }

    /// Notes what is wrong with settings that a program made.
    static func judge(_ appCheck: Configuration.AppCheck, at place: ConfigurationPlace) {
        var settings = AppCheckSettings()
        settings.projectNumber = appCheck.projectNumber
        settings.projectId = appCheck.projectId
        settings.keyFiles = appCheck.keyPEMs.map { PrivateKeyFile(path: "", pem: $0) }
        settings.apps = appCheck.apps
        settings.ttl = appCheck.ttl
        settings.debugTokens = appCheck.debugTokens
        table.judge(settings, at: place)
        for (index, pem) in appCheck.keyPEMs.enumerated() where RS256Key(pem: pem) == nil {
            place.member("keyFiles").element(index).wrong("contains no RSA private key of \(RS256Key.sizes) in PEM")
        }
    }
}

/// One entry of `appCheck.debugTokensFile` as it is written.
struct DebugTokenSettings: Sendable {
    private typealias Key = ConfigurationKey<DebugTokenSettings>

    var name = ""
    var digest: [UInt8] = []
    var app = ""
    var expires: Date?

    static let table = ConfigurationTable(DebugTokenSettings()) {
        Key("name", .credentialName, \.name).required()
            .means("Its name in tokens, and for gateways.")
        Key("sha256", .digest, \.digest).required()
            .means("The SHA-256 of the debug token.")
        Key("app", .string, \.app).required()
            .means("The id of the app that it is good for, one of `appCheck.apps`.")
        Key("expires", .instant, \.expires).required()
            .means("When it expires, at most 366 days ahead. Tokens that it obtained are refused from then on too.")
    } finish: { entry, place in
        if let expires = entry.expires { judge(expires, at: place) }
    }

    /// Notes an end that is too far away.
    static func judge(_ expires: Date, at place: ConfigurationPlace) {
        let days = Configuration.AppCheck.DebugToken.longestLife
        if expires > place.reading.now.addingTimeInterval(Double(days) * 86_400) {
            place.member("expires").wrong("must be at most \(days) days ahead")
        }
    }
}

extension ConfigurationForm<String> {
    static var projectNumber: Self {
        .text("string of digits", "must be a string of 1 to 20 digits") { text in
            (1...20).contains(text.utf8.count) && text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) ? text : nil
        }
    }

    static var projectId: Self {
        let meaning = "at most 64 lowercase letters, digits, hyphens, dots and colons"
        return .text(meaning, "must be \(meaning)") { text in
            let isId = text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || [0x2D, 0x2E, 0x3A].contains(byte)
            }
            return isId && (1...64).contains(text.utf8.count) ? text : nil
        }
    }
}

extension ConfigurationForm<[String: String]> {
    /// An object whose members are App Check ids, with the id of an app each.
    static var appCheckApps: Self {
        let reason = "must be an object of App Check ids, for example {\"1:1234567890:ios:321abc\": \"shop\"}"
        return Self(
            meaning: "object",
            fromText: AppCheckIds.document,
            judge: { apps, place in
                if apps.isEmpty { place.wrong(reason) }
                for id in apps.keys.sorted() where !AppCheckIds.isId(id) { place.member(id).wrong(AppCheckIds.reason) }
            },
            show: { _ in nil }
        ) { json, place in
            guard let members = json.members, !members.isEmpty else {
                place.wrong(reason)
                return nil
            }
            var apps: [String: String] = [:]
            for member in members {
                let place = place.member(member.name)
                guard AppCheckIds.isId(member.name) else {
                    place.wrong(AppCheckIds.reason)
                    continue
                }
                guard let app = ConfigurationForm<String>.string.read(member.value, place) else { continue }
                if apps.updateValue(app, forKey: member.name) != nil {
                    place.wrong("is given twice; remove one of them")
                }
            }
            return apps
        }
    }
}

/// The ids of apps as Firebase gives them.
private enum AppCheckIds {
    static let reason = "is not an App Check id, which has the form 1:NUMBER:ios:HEX"

    static func isId(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard text.utf8.count <= 128, parts.count == 4 else { return false }
        return parts[0].elementsEqual("1".utf8) && parts[2].elementsEqual("ios".utf8)
            && !parts[1].isEmpty && parts[1].allSatisfy { (0x30...0x39).contains($0) }
            && !parts[3].isEmpty && parts[3].allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// `ID=APP,ID=APP` as an object; the text itself if it is none, for the reader to name.
    static let document: @Sendable (String) -> JSONValue = { text in
        var members: [JSONValue.Member] = []
        for pair in text.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return .string(text) }
            members.append(.init(String(Substring(parts[0])), .string(String(Substring(parts[1])))))
        }
        return .object(members)
    }
}

extension ConfigurationForm<[Configuration.AppCheck.DebugToken]> {
    static var debugTokens: Self {
        let list = ConfigurationForm<[DebugTokenSettings]>.array(
            of: .object(DebugTokenSettings.table), unique: [.debugToken, .debugTokenName])
        var form = Self.file("a JSON array of debug tokens") { path, text, place in
            guard let document = try? JSONReader.read(Array(text.utf8)), case .array = document else {
                place.wrong("\(path): must be a JSON array of objects with name, sha256, app and expires")
                return nil
            }
            return list.read(document, place)?.compactMap { entry in
                entry.expires.map { .init(name: entry.name, digest: entry.digest, app: entry.app, expires: $0) }
            }
        }
        form.judge = { tokens, place in
            for (index, token) in tokens.enumerated() {
                let place = place.element(index)
                if !NamedCredential.isName(token.name) { place.member("name").wrong("must be a printable name") }
                if token.digest.count != 32 { place.member("sha256").wrong("must have 32 bytes") }
                DebugTokenSettings.judge(token.expires, at: place)
            }
        }
        return form
    }
}

extension ConfigurationForm<DebugTokenSettings>.Uniqueness {
    static var debugToken: Self {
        Self(name: "sha256", value: { "\($0.digest)" }, reason: "is the hash of another entry")
    }
    static var debugTokenName: Self {
        Self(name: "name", value: \.name, reason: "is used by another entry; tokens could not tell them apart")
    }
}
