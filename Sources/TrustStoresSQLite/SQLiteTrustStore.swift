// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import GRDB
public import TrustStores

extension SQLTrustStore {
    /// Opens or creates a store in one SQLite file; the migrations that it needs run first.
    ///
    /// The file is in WAL mode with `synchronous=FULL`, which is read back before the store is used: what was answered survives
    /// `kill -9` and power loss. Nothing but the file (and its `-wal` and `-shm` neighbours) is needed.
    ///
    /// - Throws: ``StoreFault``: `store.unavailable` where the file cannot be opened, `store.newer` where a later program wrote
    ///   it, `store.damaged` where it is no store.
    public static func sqlite(at path: String) throws -> SQLTrustStore {
        do {
            return SQLTrustStore(engine: try SQLiteEngine(path: path, migrations: SQLiteMigrations.all))
        } catch {
            throw StoreFault(sqlite: error, path: path)
        }
    }
}

extension StoreFault {
    /// What an error of the database means to a caller.
    init(sqlite error: any Error, path: String? = nil) {
        if let fault = error as? StoreFault {
            self = fault
            return
        }
        let place = path.map { "\($0): " } ?? ""
        guard let error = error as? DatabaseError else {
            self = .unavailable("\(place)\(error)")
            return
        }
        let reason = "\(place)SQLite says \(error.message ?? "nothing") (\(error.extendedResultCode.rawValue))"
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .damaged(reason)
        default: self = .unavailable(reason)
        }
    }
}
