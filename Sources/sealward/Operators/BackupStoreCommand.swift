// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import TrustService
import TrustStores
import Vocabulary

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

    @Argument(help: ArgumentHelp("The new file. One that exists is never replaced.", valueName: "FILE"))
    var file: String

    @Flag(help: "Copy the secrets too.")
    var withSecrets = false

    @Option(help: ArgumentHelp("The store: sqlite:PATH or a PostgreSQL URL.", valueName: "STORE"))
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
