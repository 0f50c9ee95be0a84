// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Formats
import FoundationEssentials
import HTTPService
import TrustService
import TrustStores
import Vocabulary

struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "The store of a service.",
        subcommands: [CheckStoreCommand.self, BackupStoreCommand.self])
}

struct CheckStoreCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a store: schema, damage, horizon and clock; with --confirm-clock repair the horizon.",
        discussion: """
            The horizon is the instant before which spent challenges may have been forgotten, so anything that expired before it is refused. In \
            stores of version 1 a fast clock moved it into the future; then everything is refused until the clocks catch up. --confirm-clock says \
            that the clock is right now, and moves the horizon back to where it belongs. First set the clock, then wait as long as a challenge \
            lives. With --url the service says whether it is ready, which needs no token.

            Example: sealward store check --store sqlite:sealward.sqlite
            """
    )

    @OptionGroup var target: OperatorTarget

    @Flag(help: "The clock is right: move the horizon to where it belongs.")
    var confirmClock = false

    @OptionGroup var form: ResultForm

    func validate() throws {
        if confirmClock, target.store == nil { throw ValidationError("--confirm-clock needs --store.") }
    }

    func result() async throws -> CommandResult {
        if target.store == nil { return try await ask() }
        let (before, after) = try await target.withStore { store in
            let now = SystemSources.live.now()
            let before = try await store.inspect(at: now)
            guard confirmClock else { return (before, before) }
            _ = try await store.settleClock(at: now)
            return (before, try await store.inspect(at: now))
        }
        let report = StoreReport(
            inspection: after, repaired: confirmClock && before.clockFault != nil && after.clockFault == nil)
        return CommandResult(report.json, text: report.text, report.isHealthy ? .clean : .findings)
    }

    private func ask() async throws -> CommandResult {
        let bytes = try await target.overHTTP("GET", "/readyz")
        let fault = try OperatorTarget.read(bytes).member("clockFault").flatMap { fault -> ClockReport? in
            guard let code = fault.member("code")?.text, let seconds = fault.member("seconds")?.integer else {
                return nil
            }
            return ClockReport(code: code, seconds: seconds)
        }
        let document = JSONValue.object([
            .init("schema", "sealward.store-check/1"), .init("ready", true),
            .init("clockFault", fault?.json ?? .null),
        ])
        return CommandResult(
            document, text: (fault.map { $0.text + "\n" } ?? "") + "ready\n", fault == nil ? .clean : .findings)
    }
}

/// What is wrong with the clock, as the store or the service says.
private struct ClockReport {
    let code: String
    let seconds: Int

    var json: JSONValue { .object([.init("code", .string(code)), .init("seconds", .integer(seconds))]) }

    var text: String {
        switch code {
        case "offset": "clock: \(seconds) s ahead of the store's; set this machine's clock"
        case "jump": "clock: \(seconds) s ahead of what the store saw; if it is right, use --confirm-clock"
        case "horizon-ahead": "horizon: \(seconds) s ahead of the clock; if the clock is right, use --confirm-clock"
        default: "clock: \(code.terminalSafe), \(seconds) s"
        }
    }
}

/// What a look at a store found, for people and programs.
private struct StoreReport {
    let inspection: StoreInspection
    let repaired: Bool

    var isHealthy: Bool {
        inspection.problems.isEmpty && inspection.clockFault == nil && inspection.schema == inspection.expectedSchema
    }

    private var fault: ClockReport? {
        inspection.clockFault.map { ClockReport(code: $0.summary.code, seconds: $0.summary.seconds) }
    }

    var json: JSONValue {
        [
            "schema": "sealward.store-check/1", "healthy": .bool(isHealthy), "storeSchema": .integer(inspection.schema),
            "expectedSchema": .integer(inspection.expectedSchema), "keys": .integer(inspection.keys),
            "storeTime": .optional(inspection.reading.time.map(RFC3339.text)),
            "sweptUntil": .string(RFC3339.text(inspection.reading.sweptUntil)),
            "newestExpiry": .optional(inspection.newestExpiry.map(RFC3339.text)), "clockFault": fault?.json ?? .null,
            "repaired": .bool(repaired), "problems": .array(inspection.problems.map { .string($0) }),
        ]
    }

    var text: String {
        var lines = [
            "schema: \(inspection.schema)"
                + (inspection.schema == inspection.expectedSchema
                    ? "" : ", this program's is \(inspection.expectedSchema)"),
            "keys: \(inspection.keys)", "horizon: \(RFC3339.text(inspection.reading.sweptUntil))",
        ]
        if let time = inspection.reading.time { lines.append("store's clock: \(RFC3339.text(time))") }
        if let expiry = inspection.newestExpiry { lines.append("newest expiry: \(RFC3339.text(expiry))") }
        if repaired { lines.append("the horizon was repaired") }
        lines.append(fault?.text ?? "clock: right")
        lines += inspection.problems.map { "damaged: \($0.terminalSafe)" }
        lines.append(isHealthy ? "healthy" : "not healthy")
        return lines.joined(separator: "\n") + "\n"
    }
}

struct BackupStoreCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract:
            "Copy a SQLite store, which may be in use, to a new file; without its secrets unless they are asked for.",
        discussion: """
            The copy is the store at one instant. It has mode 0600 and replaces no file. Without --with-secrets it has no key that makes \
            challenges, tokens or artifacts: a service that opens it makes new ones, so what the old ones made is refused there. Whoever reads \
            a copy with secrets can make tokens. PostgreSQL has its own program, pg_dump; with a PostgreSQL URL this command says which tables \
            to leave out.

            Example: sealward store backup copy.sqlite --store sqlite:sealward.sqlite
            """
    )

    @Argument(help: .value("The new file. One that exists is never replaced.", "FILE"))
    var file: String

    @Flag(help: "Copy the secrets too.")
    var withSecrets = false

    @Option(help: .value("The store: sqlite:PATH or a PostgreSQL URL.", "STORE"))
    var store: String

    @Flag(help: "Print nothing but faults.")
    var quiet = false

    func outcome() async throws -> Outcome {
        let path: String
        switch StoreLocation(store) {
        case nil: throw CommandFault("--store: must be sqlite:PATH or postgres://USER@HOST/DATABASE.")
        case .postgres?:
            let options = StoreSecrets.tables.map { "--exclude-table-data=\($0)" }.joined(separator: " ")
            throw CommandFault(
                "--store: PostgreSQL is backed up by pg_dump, which leaves the secrets out with \(options).")
        case .sqlite(let name)?: path = name
        }
        guard FileManager.default.fileExists(atPath: path) else {
            throw CommandFault("\(path.terminalSafe): there is no such store.")
        }
        let schema: Int
        do {
            schema = try SQLTrustStore.backUp(sqliteAt: path, to: file, withSecrets: withSecrets)
        } catch let fault as StoreFault {
            throw CommandFault("the backup: \(fault.reason).")
        }
        if !quiet {
            let secrets = withSecrets ? "with its secrets: keep it like a key" : "without secrets"
            try CommandIO.write("\(file.terminalSafe): the store of schema \(schema), \(secrets)\n".fitted, to: nil)
        }
        return .clean
    }
}
