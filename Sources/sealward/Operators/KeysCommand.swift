// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Formats
import TrustService
import TrustStores
import Vocabulary

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "The attested keys of a service or a store: list, revoke, restore, delete.",
        discussion: """
            Ask a running service with --url and --token-file, or a store with --store.

            Example: sealward keys list --store sqlite:sealward.sqlite --app shop
            """,
        subcommands: [ListKeysCommand.self, RevokeKeysCommand.self, RestoreKeyCommand.self, DeleteKeysCommand.self]
    )
}

struct ListKeysCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List keys by app, user and environment.",
        discussion: """
            Prints a page at a time: in JSON, next has the cursor of the next page for --after, and is null at the end. Only a service, which \
            has a configuration, knows whether a key is trusted; a store does not.

            Example: sealward keys list --url https://trust.example.com --token-file admin.token --app shop --user anna
            """
    )

    @OptionGroup var target: OperatorTarget

    @Option(help: .value("Keys of this app.", "ID"))
    var app: String?

    @Option(help: .value("Keys of this user.", "NAME"))
    var user: String?

    @Option(help: .value("production or development.", "ENVIRONMENT"))
    var environment: AttestationEnvironment?

    @Option(help: .value("The cursor from the previous page.", "CURSOR"))
    var after: String?

    @Option(help: .value("The maximum number of keys, up to 1000.", "N"))
    var limit = 30

    @OptionGroup var form: ResultForm

    func validate() throws { try target.validate(limit: limit, upTo: KeyPage.largest) }

    func result() async throws -> CommandResult {
        var query = [("limit", String(limit))]
        for (name, value) in [
            ("app", app), ("user", user), ("environment", environment?.rawValue), ("after", after),
        ] {
            if let value { query.append((name, value)) }
        }
        let filter = KeyFilter(app: app, user: user, environment: environment?.rawValue)
        let answer = try await target.document("GET", "/v1/keys", query: query) {
            try await $0.list(filter, after: after, limit: limit)
        }
        guard case .array(let keys)? = answer.member("keys") else {
            throw CommandFault(
                "The answer is not a list of keys: `keys` is missing. Is --url the address of the service?")
        }
        let next = answer.member("next") ?? .null
        return CommandResult(
            ["schema": "sealward.keys/1", "keys": .array(keys), "next": next],
            text: keys.map { ListKeysCommand.line($0).fitted + "\n" }.joined()
                + (next.text.map { "more: --after \($0.terminalSafe)\n" } ?? ""), fits: false)
    }

    private static func line(_ key: JSONValue) -> String {
        func text(_ name: String) -> String { key.member(name)?.text?.terminalSafe ?? "-" }
        func flag(_ name: String, _ word: String) -> String { key.member(name) == .bool(true) ? " \(word)" : "" }
        let counter = key.member("counter")?.rendered(pretty: false) ?? "-"
        let distrust = key.member("trusted") == .bool(false) ? " not-trusted" : ""
        return "\(text("keyId")) \(text("app")) \(text("environment")) user=\(text("user")) counter=\(counter) "
            + "attested=\(text("attestedAt"))" + flag("revoked", "revoked") + flag("simulated", "simulated") + distrust
    }
}

struct RevokeKeysCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke one key, or all keys of an app that match one rule.",
        discussion: """
            Within a day 'sealward keys restore' makes a key good again. More than 100 keys are revoked only with --expect: ask with --dry-run how many there are, then give that number.

            Example: sealward keys revoke --store sqlite:sealward.sqlite --app shop --attested-before 2026-01-01 --dry-run
            """
    )

    @Argument(help: .value("The key, base64; without it --app and a rule are needed.", "KEY"))
    var key: String?

    @OptionGroup var target: OperatorTarget

    @Option(help: .value("The app whose keys are revoked.", "ID"))
    var app: String?

    @Option(help: .value("All keys of this user.", "NAME"))
    var user: String?

    @Option(help: .value("All keys of production or development.", "ENVIRONMENT"))
    var environment: AttestationEnvironment?

    @Flag(help: "All keys that a simulated root attested.")
    var simulated = false

    @Option(help: .value("All keys attested before this time: a date or an RFC 3339 instant.", "T"))
    var attestedBefore: DayOrInstant?

    @Flag(help: "Only say how many keys the rule would revoke.")
    var dryRun = false

    @Option(help: .value("Revoke only if the rule matches exactly this many unrevoked keys.", "N"))
    var expect: Int?

    @Option(help: .value("The reason, one word, for the history; default operator.", "CODE"))
    var code: String?

    @OptionGroup var form: ResultForm

    /// Each as the service reads it, and as the store does.
    private var rules: [(member: JSONValue.Member, rule: RevocationRule)] {
        let rules: [(JSONValue.Member, RevocationRule)?] = [
            user.map { (.init("user", .string($0)), .user($0)) },
            environment.map { (.init("environment", .string($0.rawValue)), .environment($0.rawValue)) },
            simulated ? (.init("simulated", true), .simulated) : nil,
            attestedBefore.map { (.init("attestedBefore", .string($0.text)), .attestedBefore($0.date)) },
        ]
        return rules.compactMap(\.self)
    }

    func validate() throws {
        try target.validate(key: key)
        if key != nil {
            guard app == nil, rules.isEmpty else { throw ValidationError("Give a key, or --app with one rule.") }
            guard !dryRun, expect == nil else {
                throw ValidationError("--dry-run and --expect go with --app and a rule, not with one key.")
            }
        } else {
            guard app != nil, rules.count == 1 else {
                throw ValidationError(
                    "Give a key, or --app with one of --user, --environment, --simulated, --attested-before.")
            }
            guard !dryRun || expect == nil else {
                throw ValidationError("Give --dry-run first, then --expect with the number that it says.")
            }
            guard expect ?? 0 >= 0 else { throw ValidationError("--expect must be 0 or more.") }
        }
    }

    func result() async throws -> CommandResult {
        let reason = code.map { [JSONValue.Member("code", .string($0))] } ?? []
        if let key {
            return try await target.change(key, "revoke", "POST", "/revoke", body: .object(reason)) {
                try await $0.act(.revoke, on: $1, code: code)
            }
        }
        guard let app, let rule = rules.first else { throw CommandFault("--app: is missing.") }
        var body = [rule.member] + reason
        if dryRun { body.append(.init("dryRun", true)) }
        if let expect { body.append(.init("expect", .integer(expect))) }
        let bound = dryRun ? .dryRun : expect.map { .exactly($0) } ?? RevocationBound.usual
        let answer = try await target.document(
            "POST", "/v1/apps/\(OperatorTarget.encoded(app))/revocations", body: .object(body)
        ) { try await $0.revokeKeys(of: app, matching: rule.rule, bound: bound, code: code) }
        return dryRun
            ? try .keys("would-revoke", counted: "wouldRevoke", in: answer)
            : try .keys("revoke", counted: "revoked", in: answer)
    }
}

struct RestoreKeyCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore a key within a day of its revocation.",
        discussion: """
            The key and its tokens are good again, with the counter that the key had. A key that is not revoked stays as it is; one that was \
            deleted, or revoked more than a day ago, cannot be restored: its device attests a new key.

            Example: sealward keys restore --store sqlite:sealward.sqlite zgSY9YSD+7TaDXssY6WlOPVS1K3Lmk+pFhlcSWE+ZV0=
            """
    )

    @Argument(help: .value("The key, base64.", "KEY"))
    var key: String

    @OptionGroup var target: OperatorTarget

    @OptionGroup var form: ResultForm

    func validate() throws { try target.validate(key: key) }

    func result() async throws -> CommandResult {
        try await target.change(key, "restore", "POST", "/restore") { try await $0.act(.restore, on: $1) }
    }
}

struct DeleteKeysCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete one key, or all keys of a user, with receipts and names.",
        discussion: """
            A deleted key cannot be restored: its device attests a new key when it is asked to. One that was revoked stays refused.

            Example: sealward keys delete --store sqlite:sealward.sqlite --user anna
            """
    )

    @Argument(help: .value("The key, base64; without it --user is needed.", "KEY"))
    var key: String?

    @OptionGroup var target: OperatorTarget

    @Option(help: .value("All keys of this user.", "NAME"))
    var user: String?

    @Option(help: .value("Only keys of this app; with --user.", "ID"))
    var app: String?

    @OptionGroup var form: ResultForm

    func validate() throws {
        try target.validate(key: key)
        guard (key == nil) != (user == nil), app == nil || user != nil else {
            throw ValidationError("Give a key, or --user with or without --app.")
        }
    }

    func result() async throws -> CommandResult {
        if let key {
            return try await target.change(key, "delete", "DELETE", "") { try await $0.act(.delete, on: $1) }
        }
        guard let user else { throw CommandFault("--user: is missing.") }
        let answer = try await target.document(
            "DELETE", "/v1/users/\(OperatorTarget.encoded(user))", query: app.map { [("app", $0)] } ?? []
        ) { try await $0.deleteKeys(ofUser: user, app: app) }
        return try .keys("delete", counted: "deleted", in: answer)
    }
}

extension OperatorTarget {
    /// Changes one key, and says so.
    fileprivate func change(
        _ key: String, _ operation: String, _ method: String, _ verb: String, body: JSONValue? = nil,
        inStore ask: (OperatorSession, KeyIdentifier?) async throws -> Void
    ) async throws -> CommandResult {
        let id = OperatorTarget.key(key)
        _ = try await document(method, "/v1/keys/\(id?.base64URL ?? "")\(verb)", body: body) { session in
            try await ask(session, id)
            return [:]
        }
        return .keys(operation, 1)
    }
}

extension CommandResult {
    /// What an operation changed.
    fileprivate static func keys(_ operation: String, _ count: Int) -> CommandResult {
        CommandResult(
            ["schema": "sealward.keys-change/1", "operation": .string(operation), "keys": .integer(count)],
            text: "\(operation): \(count) \(count == 1 ? "key" : "keys")\n", fits: false)
    }

    /// Reads the count from the answer to an operation that may change many keys.
    fileprivate static func keys(
        _ operation: String, counted member: String, in answer: JSONValue
    ) throws -> CommandResult {
        guard case .integer(let count)? = answer.member(member) else {
            throw CommandFault("The answer does not say how many keys changed: `\(member)` is missing.")
        }
        return keys(operation, count)
    }
}
