// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

/// Environment variables that override members of the configuration file.
///
/// A variable is `SEALWARD_` and the path in upper case with an underscore between the words: `challenges.ttlSeconds` is
/// `SEALWARD_CHALLENGES_TTL_SECONDS`. Lists are separated by commas. Apps and bits are set in the file alone.
package enum ConfigurationOverrides {
    enum Kind { case text, integer, list }

    /// Every path that a variable may set.
    static let paths: [(path: String, kind: Kind)] = [
        ("listen", .text), ("internalListen", .text), ("trustedProxies", .list), ("store", .text),
        ("serverTokenFile", .text), ("adminTokenFile", .text), ("tokensFile", .text),
        ("trustSimulator.attestationRoot", .text),
        ("trustSimulator.receiptRoot", .text), ("challenges.ttlSeconds", .integer), ("tokens.issuer", .text),
        ("tokens.audience", .text), ("tokens.keyFiles", .list), ("tokens.signWith", .text),
        ("tokens.ttlSeconds", .integer),
        ("limits.requestsPerSecondPerAddress", .integer), ("limits.requestsPerSecondPerApp", .integer),
        ("limits.bodyBytes", .integer), ("limits.connections", .integer), ("limits.connectionsPerAddress", .integer),
        ("apple.teamId", .text), ("apple.keyId", .text), ("apple.keyFile", .text),
        ("apple.dataBaseURL", .text), ("apple.dataDevelopmentBaseURL", .text), ("apple.deviceCheckBaseURL", .text),
        ("apple.deviceCheckDevelopmentBaseURL", .text), ("receipts.refresh", .text),
        ("receipts.refreshAfterSeconds", .integer), ("receipts.pollSeconds", .integer),
    ]

    /// The secrets that may stand in the environment instead of a file.
    package static let serverToken = "SEALWARD_SERVER_TOKEN"
    package static let adminToken = "SEALWARD_ADMIN_TOKEN"

    /// Variables of this name that are no settings: of the log, of the tests and benches of this repository, and of its workflow action.
    private static let others: Set<String> = [
        "LOG_LEVEL", "LONG", "VECTORS", "PROGRAM", "POSTGRES", "REGENERATE", "SOURCE", "SARIF", "PATHS", "KINDS",
        "INFO_PLIST", "FAIL_ON", "TARGETS", "PAGES", "OS", "SEEDS", "SECONDS",
    ]

    /// What Kubernetes sets in every pod beside a service that is called `sealward`, and what is left to tests.
    private static let otherPrefixes = ["SERVICE_", "PORT_", "TEST_"]

    /// The variables that look like settings and are none, sorted: most likely a slip of the pen, and then the default would be served.
    static func unknown(in environment: [String: String]) -> [String] {
        let known = Set(paths.map { variable(for: $0.path) } + [serverToken, adminToken])
        return environment.keys.filter { name in
            guard name.hasPrefix("SEALWARD_"), !known.contains(name) else { return false }
            let word = name.dropFirst("SEALWARD_".count)
            return word != "PORT" && !others.contains(String(word)) && !otherPrefixes.contains { word.hasPrefix($0) }
        }.sorted()
    }

    /// The variable of a path.
    package static func variable(for path: String) -> String {
        var name = "SEALWARD_"
        var previousIsUpper = true
        for character in path {
            if character == "." {
                name += "_"
                previousIsUpper = true
            } else {
                if character.isUppercase, !previousIsUpper { name += "_" }
                name += character.uppercased()
                previousIsUpper = character.isUppercase
            }
        }
        return name
    }

    /// The variable that set the setting of this path, whose elements it set too; nil where none did.
    static func variable(setting path: String, in environment: [String: String]) -> String? {
        let list = path.prefix { $0 != "[" }
        guard paths.contains(where: { $0.path == list }) else { return nil }
        let name = variable(for: String(list))
        return environment[name, default: ""].isEmpty ? nil : name
    }

    /// The document with every variable's value in its place.
    static func apply(_ environment: [String: String], to document: JSONValue) -> JSONValue {
        var document = document
        for (path, kind) in paths {
            guard let text = environment[variable(for: path)], !text.isEmpty else { continue }
            let value: JSONValue =
                switch kind {
                case .text: .string(text)
                case .integer: Int(text).map(JSONValue.integer) ?? .string(text)
                case .list: .array(text.split(separator: ",").map { .string(String($0)) })
                }
            document = set(value, at: path.split(separator: ".").map(String.init)[...], in: document)
        }
        return document
    }

    private static func set(_ value: JSONValue, at path: ArraySlice<String>, in document: JSONValue) -> JSONValue {
        guard let name = path.first else { return value }
        // What is not an object stays as it is, so that the reader can name it.
        guard var members = document == .null ? [] : document.members else { return document }
        let position = members.firstIndex { $0.name == name }
        let old = position.map { members[$0].value } ?? .null
        let member = JSONValue.Member(name, set(value, at: path.dropFirst(), in: old))
        if let position { members[position] = member } else { members.append(member) }
        return .object(members)
    }
}
