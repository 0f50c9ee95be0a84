// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import TrustService
import TrustStores
import TrustStoresPostgres
import Vocabulary

/// Opens the store of a configuration; waits for a PostgreSQL that is not there yet.
struct StoreOpening {
    let location: StoreLocation
    /// How long to wait for a server in all.
    let patience: Duration
    let observer: StoreObserver
    let log: Logger

    /// Whether the store is a server that may come back by itself.
    var isServer: Bool {
        if case .postgres = location { return true }
        return false
    }

    /// What is wrong with the name of a store, without the name: a password may be in it.
    static func problem(with location: StoreLocation) -> String? {
        guard case .postgres(let url) = location else { return nil }
        do { try PostgresURL.check(url) } catch { return (error as? StoreFault)?.reason ?? "cannot be read" }
        return nil
    }

    /// The folder of the store's file if it is not there: a configuration may be read before it is deployed.
    static func missingFolder(_ location: StoreLocation) -> String? {
        guard case .sqlite(let path) = location else { return nil }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return SystemFile.status(of: folder, followingLinks: true) == nil ? folder : nil
    }

    /// The status of a service whose store did not answer: EX_TEMPFAIL of sysexits.h. A wrong configuration has another.
    static let unavailableStatus: Int32 = 75
    /// Between two tries.
    private static let pause = Duration.seconds(1)
    /// Between two lines of the log.
    private static let lineInterval = Duration.seconds(5)

    /// - Throws: ``StoreFault``; `store.unavailable` only after the wait.
    func open() async throws -> any TrustStore {
        switch location {
        case .sqlite(let path):
            SQLiteLibrary.configure()
            StoreOpening.nameChanges(since: SQLTrustStore.schema(ofSQLiteAt: path))
            return try SQLTrustStore.sqlite(at: path, observe: observer.observe)
        case .postgres(let url):
            var configuration = PostgresConfiguration()
            configuration.observe = observer.observe
            return try await waiting {
                StoreOpening.nameChanges(
                    since: try await SQLTrustStore.schema(ofPostgresAt: url, within: StoreOpening.look))
                return try await SQLTrustStore.postgres(url, configuration: configuration)
            }
        }
    }

    /// Names every setting whose meaning changed since the version that wrote the store, before anything is written to it.
    static func nameChanges(_ location: StoreLocation) async {
        switch location {
        case .sqlite(let path): nameChanges(since: SQLTrustStore.schema(ofSQLiteAt: path))
        case .postgres(let url):
            do { nameChanges(since: try await SQLTrustStore.schema(ofPostgresAt: url, within: look)) } catch {
                CommandIO.say(
                    "store: PostgreSQL does not answer, so nobody knows which version wrote it; run this again when it does."
                )
            }
        }
    }

    private static func nameChanges(since schema: Int?) {
        guard let schema else { return }
        for sentence in SettingChanges.sentences(since: schema) { CommandIO.say("changed: \(sentence).") }
    }

    /// How long a server may take to tell its schema.
    private static let look = Duration.seconds(5)

    /// Opens a store for a command of an operator, who sees at once if it does not answer.
    static func openAtOnce(_ location: StoreLocation) async throws -> any TrustStore {
        switch location {
        case .sqlite(let path):
            // What a command prints must not replace the store.
            for end in ["", "-wal", "-shm", "-journal"] { InputFile.note(path + end) }
            return try SQLTrustStore.existingSQLite(at: path)
        case .postgres(let url):
            return try await SQLTrustStore.postgres(url, isExisting: true)
        }
    }

    private func waiting(_ open: () async throws -> any TrustStore) async throws -> any TrustStore {
        let start = ContinuousClock.now
        var nextLine = start
        while true {
            do { return try await open() } catch let fault as StoreFault where fault.code == .storeUnavailable {
                let now = ContinuousClock.now
                if now - start >= patience { throw fault }
                if now >= nextLine {
                    nextLine = now + StoreOpening.lineInterval
                    log.warning("The store does not answer yet.", metadata: ["reason": "\(fault.reason)"])
                }
                try await Task.sleep(for: min(StoreOpening.pause, patience - (now - start)))
            }
        }
    }
}
