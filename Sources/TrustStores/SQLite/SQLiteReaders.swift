// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Connections that only read, on the caller's own thread. There are never more than threads that read at the same time.
final class SQLiteReaders: Sendable {
    private let path: String
    private let state = Mutex(State())

    private struct State {
        var free: [SQLiteConnection] = []
        var isClosed = false
    }

    init(path: String) { self.path = path }

    func read<Outcome>(_ body: (any SQLSession) throws -> Outcome) throws -> Outcome {
        let reader = try take()
        defer { give(back: reader) }
        return try body(SQLiteSession(reader))
    }

    /// Closes what is free now; what is being read from is closed when it comes back.
    func close() {
        let free = state.withLock { state in
            state.isClosed = true
            defer { state.free = [] }
            return state.free
        }
        for reader in free { reader.close() }
    }

    private func take() throws -> SQLiteConnection {
        let (free, isClosed) = state.withLock { ($0.free.popLast(), $0.isClosed) }
        if isClosed { throw StoreFault.unavailable("the store is closed") }
        return try free ?? SQLiteConnection(path: path, writes: false)
    }

    private func give(back reader: SQLiteConnection) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.free.append(reader) }
            return state.isClosed
        }
        if isClosed { reader.close() }
    }
}
