// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

@testable import TrustService

/// `docs/configuration.md`, written from the tables that read the configuration.
enum ConfigurationPage {
    /// A configuration with settings of several kinds.
    static let example = """
        {
          "listen": "127.0.0.1:8080",
          "internalListen": "127.0.0.1:8081",
          "trustedProxies": ["10.0.0.0/8"],
          "store": "sqlite:/var/lib/sealward/sealward.sqlite",
          "serverTokenFile": "/etc/sealward/server.tokens",
          "apps": [
            {
              "id": "shop",
              "teamId": "ABCDE12345",
              "bundleIds": ["com.example.shop"],
              "environments": ["production", "development"],
              "ramp": {"dailyActiveUsers": 1000000, "start": "2027-01-11T09:00:00Z"}
            }
          ],
          "challenges": {"ttlSeconds": 120}
        }
        """

    static var markdown: String {
        """
        # Configuration

        `sealward serve --config FILE` reads one JSON object; `--check-config` reports everything that is wrong with it and ends. A key \
        that is not listed here is an error. `TrustServer.Configuration(json:)` takes the same document. This page is generated from the tables that \
        read it.

        An environment variable overrides its key; an array is separated by commas. Files hold secrets, so that no argument and no \
        variable needs to. SIGHUP reads the configuration and the files of tokens, keys, certificates and roots again, and applies what concerns those files (`tokens.keyFiles` and `tokens.signWith` among it); every other change needs a restart.
        `SEALWARD_LOG_LEVEL` (`trace` to `critical`, default `info`) sets what is logged.

        ```json
        \(example)
        ```
        \(sections(Configuration.entries))
        ## Entries of `tokensFile`

        A JSON array; `sealward tokens new` makes a token and prints its entry.

        \(rows(entries(of: CredentialSettings()), isFile: true))
        ## Entries of `appCheck.debugTokensFile`

        A JSON array; an app in a simulator prints its token on the console, and `printf %s TOKEN | sha256sum` hashes it.

        \(rows(entries(of: Configuration.AppCheck.DebugToken.blank), isFile: true))
        """
    }

    private static func entries(of object: some ConfigurationObject) -> [ConfigurationEntry] {
        var object = object
        return ConfigurationKeys.entries { object.visit($0) }
    }

    /// A section for the root and for each object, in the order of the tables.
    private static func sections(_ entries: [ConfigurationEntry]) -> String {
        let isObject = { (entry: ConfigurationEntry) in entry.fromText == nil }
        var text = "\n## Top level\n\n\(rows(entries.filter { !isObject($0) && !$0.path.contains(".") }))"
        for object in entries where isObject(object) {
            let prefixes = ["\(object.path).", "\(object.path)[]."]
            let members = entries.filter { entry in
                prefixes.contains { entry.path.hasPrefix($0) && !entry.path.dropFirst($0.count).contains(".") }
            }
            guard members.contains(where: { !isObject($0) }) else { continue }
            let suffix = object.meaning.hasPrefix("array") ? "[]" : ""
            text += "\n## `\(object.path)\(suffix)`\n\n\(object.sentence)\n\n\(rows(members.filter { !isObject($0) }))"
        }
        return text
    }

    private static func rows(_ entries: [ConfigurationEntry], isFile: Bool = false) -> String {
        let hasVariables = !isFile && entries.contains { $0.variable != nil }
        func line(_ key: String, _ value: String, _ fallback: String, _ variable: String, _ meaning: String) -> String {
            "| \(key) | \(value) | \(fallback) |\(hasVariables ? " \(variable) |" : "") \(meaning) |\n"
        }
        var text = line("key", "value", "default", "variable", "meaning")
        text += hasVariables ? "|---|---|---|---|---|\n" : "|---|---|---|---|\n"
        for entry in entries {
            let variables = [entry.variable.map { "`\($0)`" }, entry.secret.map { "`\($0)` (the token itself)" }]
            text += line(
                "`\(entry.path.split(separator: ".").last ?? "")`", entry.meaning,
                entry.isRequired ? "*required*" : entry.fallback ?? "-",
                variables.compactMap { $0 }.joined(separator: "<br>"), entry.sentence)
        }
        return text
    }
}
