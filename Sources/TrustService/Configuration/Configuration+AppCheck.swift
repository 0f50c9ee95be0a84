// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
public import FoundationEssentials
import Vocabulary

extension TrustServer.Configuration {
    /// The interface that answers as Firebase App Check does.
    public struct AppCheck: Sendable {
        /// What becomes of the keys of simulated devices.
        public enum Simulated: String, Sendable, CaseIterable {
            /// Their exchanges are refused with 403.
            case refuse
            /// They get tokens with `"sim": true`, signed with a key of their own. The program warns of it when it starts.
            case allow
        }

        /// A secret that a simulator or a build machine has in the place of a device.
        public struct DebugToken: Sendable, Equatable {
            package internal(set) var name: String
            package internal(set) var digest: [UInt8]
            package internal(set) var app: String
            package internal(set) var expires: Date

            /// The longest time that one may be good for, in days.
            package static let longestLife = 366

            /// Makes one from its parts.
            ///
            /// - Parameters:
            ///   - name: the name under which the tokens that it got are known: at most 64 printable ASCII characters without spaces.
            ///   - digest: SHA-256 of the debug token, 32 bytes.
            ///   - app: the configured id of the app that it is good for.
            ///   - expires: from this instant on it is refused, and what it got too; at most 366 days ahead.
            public init(name: String, digest: [UInt8], app: String, expires: Date) {
                self.name = name
                self.digest = digest
                self.app = app
                self.expires = expires
            }
        }

        /// The number of the Firebase project: digits.
        public var projectNumber: String
        /// The id of the Firebase project.
        public var projectId: String
        /// RSA private keys of 2048 to 8192 bits as PEM, one at least: the first signs, all are published.
        public var keyPEMs: [String]
        /// The configured ids of the apps by their App Check ids (`1:NUMBER:ios:HEX`).
        public var apps: [String: String]
        /// How long a token is valid: whole seconds, up to a week. Google's client renews it at half of that and five minutes.
        public var ttl: Duration = .seconds(3600)
        /// The accepted debug tokens; none is known by default.
        public var debugTokens: [DebugToken] = []
        /// Whether debug tokens are accepted although no simulator is trusted, as in production.
        public var allowDebugTokens = false
        /// What becomes of the keys of simulated devices.
        public var simulated = Simulated.refuse

        /// The interface with the defaults that the properties state.
        public init(projectNumber: String, projectId: String, keyPEMs: [String], apps: [String: String]) {
            self.projectNumber = projectNumber
            self.projectId = projectId
            self.keyPEMs = keyPEMs
            self.apps = apps
        }
    }
}

extension Configuration.AppCheck: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys(
            "projectNumber", &projectNumber, .projectNumber, isRequired: true,
            "The number of the Firebase project; the issuer of the tokens ends with it.")
        keys(
            "projectId", &projectId, .projectId, isRequired: true,
            "The id of the Firebase project; paths may have it or the number.")
        var files = keyPEMs.map { KeyFile(path: "", pem: $0) }
        keys(
            "keyFiles", &files, .array(of: .rsaKey, ifEmpty: "must name at least one key"), isRequired: true,
            "The keys for the tokens; the first signs, all are published.")
        keys(
            "apps", &apps, .appCheckApps, isRequired: true,
            "The apps by their App Check ids: `{\"1:NUMBER:ios:HEX\": \"shop\"}`; the variable takes `ID=APP,ID=APP`.")
        keys(
            "ttlSeconds", &ttl, .seconds(1...604_800),
            "How long a token is valid, in seconds; Google's client renews it after half of that plus five minutes.")
        keys(
            "debugTokensFile", &debugTokens, .debugTokens, otherwise: "no debug tokens",
            "The debug tokens of simulators and build machines, known by their hashes. Needs `trustSimulator` or `allowDebugTokens`."
        )
        keys("allowDebugTokens", &allowDebugTokens, .flag, "Accepts debug tokens although no simulator is trusted.")
        keys(
            "simulated", &simulated, .choice,
            "`refuse` answers exchanges of simulated keys with 403, `allow` gives them tokens with `sim`.")
        guard keys.isComplete else { return }
        keyPEMs = files.compactMap(\.pem)
    }
}

extension Configuration.AppCheck.DebugToken: ConfigurationObject {
    static let blank = Self(name: "", digest: [], app: "", expires: .distantPast)

    mutating func visit(_ keys: ConfigurationKeys) {
        keys("name", &name, .credentialName, isRequired: true, "Its name in tokens, and for gateways.")
        keys("sha256", &digest, .digest, isRequired: true, "The SHA-256 of the debug token.")
        keys("app", &app, .string, isRequired: true, "The id of the app that it is good for, one of `appCheck.apps`.")
        keys(
            "expires", &expires, .instant, isRequired: true,
            "When it expires, at most 366 days ahead. Tokens that it obtained are refused from then on too.")
        guard keys.isComplete else { return }
        let days = Self.longestLife
        if expires > keys.place.reading.now.addingTimeInterval(Double(days) * 86_400) {
            keys.place.member("expires").wrong("must be at most \(days) days ahead")
        }
    }
}

extension ConfigurationKind<String> {
    static var projectNumber: Self {
        .text("string of digits", "must be a string of 1 to 20 digits") { text in
            (1...20).contains(text.utf8.count) && text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) ? text : nil
        }
    }

    static var projectId: Self {
        .text("at most 64 lowercase letters, digits, hyphens, dots and colons") { text in
            let isId = text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || [0x2D, 0x2E, 0x3A].contains(byte)
            }
            return isId && (1...64).contains(text.utf8.count) ? text : nil
        }
    }
}

extension ConfigurationKind<[String: String]> {
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
                guard let app = ConfigurationKind<String>.string.read(member.value, place) else { continue }
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
            && !parts[3].isEmpty && parts[3].allSatisfy(\.isLowercaseHexadecimal)
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

extension ConfigurationKind<[Configuration.AppCheck.DebugToken]> {
    static var debugTokens: Self {
        .list(
            .blank, in: "a JSON array of debug tokens",
            "must be a JSON array of objects with name, sha256, app and expires",
            unique: [
                ("sha256", { "\($0.digest)" }, "is the hash of another entry"),
                ("name", \.name, "is used by another entry; tokens could not tell them apart"),
            ])
    }
}
