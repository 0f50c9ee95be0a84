// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats

/// Environment variables that override members of the configuration file.
///
/// A variable is `SEALWARD_` and the path in upper case with an underscore between the words: `challenges.ttlSeconds` is
/// `SEALWARD_CHALLENGES_TTL_SECONDS`. Lists are separated by commas. Apps and bits are set in the file alone.
enum ConfigurationOverrides {
    /// Every setting that a variable may set, by the variable.
    private static let settings: [String: ConfigurationEntry] = Configuration.entries
        .reduce(into: [:]) { settings, entry in
            if let variable = entry.variable { settings[variable] = entry }
        }

    /// Variables of this name that are no settings: of the log, of the health check in `Dockerfile`, of the tests and benches of this repository, and of its workflow action.
    private static let others: Set<String> = [
        "LOG_LEVEL", "HEALTH_URL", "LONG", "VECTORS", "NODE", "PROGRAM", "POSTGRES", "REGENERATE", "SOURCE", "SARIF",
        "PATHS", "KINDS", "SYSTEMS", "INFO_PLIST", "FAIL_ON", "TARGETS", "PAGES", "OS", "SEEDS", "SECONDS",
    ]

    /// What Kubernetes sets in every pod beside a service that is called `sealward`, and what is left to tests.
    private static let otherPrefixes = ["SERVICE_", "PORT_", "TEST_"]

    /// The variables that look like settings and are none, sorted: most likely a slip of the pen, and then the default would be served.
    static func unknown(in environment: [String: String]) -> [String] {
        let secrets = Set(settings.values.compactMap(\.secret))
        return environment.keys.filter { name in
            guard name.hasPrefix("SEALWARD_"), settings[name] == nil, !secrets.contains(name) else { return false }
            let word = name.dropFirst("SEALWARD_".count)
            return word != "PORT" && !others.contains(String(word)) && !otherPrefixes.contains { word.hasPrefix($0) }
        }.sorted()
    }

    static func variable(for path: String) -> String {
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

    /// The variable that set the setting of this path, whose elements it set too; nil if none did.
    static func variable(setting path: String, in environment: [String: String]) -> String? {
        let list = path.prefix { $0 != "[" }
        let name = settings.first { $0.value.path == list }?.key
        return name.flatMap { environment[$0, default: ""].isEmpty ? nil : $0 }
    }

    /// The document with every variable's value in its place.
    static func apply(_ environment: [String: String], to document: JSONValue) -> JSONValue {
        var document = document
        for (name, setting) in settings.sorted(by: { $0.key < $1.key }) {
            guard let text = environment[name], !text.isEmpty, let value = setting.fromText?(text) else { continue }
            document = set(value, at: setting.path.split(separator: ".").map(String.init)[...], in: document)
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
