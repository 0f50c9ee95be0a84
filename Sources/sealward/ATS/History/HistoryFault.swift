// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import TrustStores

/// Why a history cannot be used, as the end of a sentence that begins with the name of its file.
package struct HistoryFault: Error, Equatable, CustomStringConvertible {
    package let reason: String
    package var description: String { reason }

    package init(_ reason: String) { self.reason = reason }

    /// What an error of the database means to a user.
    init(_ error: any Error, path: String) {
        switch error {
        case let fault as HistoryFault: self = fault
        case let fault as StoreFault:
            let start = path + ": "
            let isNamed = fault.reason.utf8.starts(with: start.utf8)
            reason = isNamed ? String(fault.reason.dropFirst(start.count)) : fault.reason
        case let failure as SQLiteFailure: reason = HistoryFault.reason(failure)
        default: reason = "cannot be used (\(error))"
        }
    }

    private static func reason(_ failure: SQLiteFailure) -> String {
        switch failure.code & 0xFF {
        case SQLITE_NOTADB: "is not an SQLite database; name a file that 'ats check --history' wrote"
        case SQLITE_CORRUPT: "is damaged (\(failure.message)); restore a backup, or begin another file"
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            "is read-only; check the permissions of the file and its folder"
        case SQLITE_CANTOPEN: "cannot be opened; check that it exists and is readable"
        case SQLITE_TOOBIG: "contains more text than a check writes; restore a backup, or begin another file"
        case SQLITE_FULL: "cannot be written, the disk is full; make room and run the check again"
        case SQLITE_BUSY, SQLITE_LOCKED: "is in use by another program; try again when that has ended"
        default: "cannot be used: SQLite says \(failure.message) (\(failure.code))"
        }
    }
}
