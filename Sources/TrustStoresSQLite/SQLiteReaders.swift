// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import GRDB
import Synchronization
import TrustStores

/// Connections for reads that are done at once, on the caller's own thread.
///
/// There are never more than threads that read at the same time. GRDB's own pool hands each read to another thread and back, which
/// costs more than a row by its key does.
final class SQLiteReaders: Sendable {
    private let path: String
    private let configuration: Configuration
    private let state = Mutex(State())

    private struct State {
        var free: [DatabaseQueue] = []
        var isClosed = false
    }

    init(path: String, configuration: Configuration) {
        self.path = path
        var configuration = configuration
        configuration.readonly = true
        self.configuration = configuration
    }

    func read<Outcome>(_ body: (any SQLSession) throws -> Outcome) throws -> Outcome {
        let connection = try take()
        defer { give(back: connection) }
        return try connection.unsafeRead { try body(SQLiteSession(database: $0)) }
    }

    /// Closes what is free now; what is being read from is closed when it comes back.
    func close() {
        let free = state.withLock { state in
            state.isClosed = true
            defer { state.free = [] }
            return state.free
        }
        for connection in free { try? connection.close() }
    }

    private func take() throws -> DatabaseQueue {
        let (free, isClosed) = state.withLock { ($0.free.popLast(), $0.isClosed) }
        if isClosed { throw StoreFault.unavailable("the store is closed") }
        return try free ?? DatabaseQueue(path: path, configuration: configuration)
    }

    private func give(back connection: DatabaseQueue) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.free.append(connection) }
            return state.isClosed
        }
        if isClosed { try? connection.close() }
    }
}
