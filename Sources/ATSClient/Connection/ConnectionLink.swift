// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What the handlers of a connection tell whoever owns it. It is filled in when the connection is taken into a pool.
final class ConnectionLink: Sendable {
    private struct Ends {
        var free: (@Sendable () -> Void)?
        var drain: (@Sendable () -> Void)?
    }

    private let ends = Mutex(Ends())

    func connect(free: @escaping @Sendable () -> Void, drain: @escaping @Sendable () -> Void) {
        ends.withLock { $0 = Ends(free: free, drain: drain) }
    }

    func disconnect() { ends.withLock { $0 = Ends() } }

    /// An exchange ended and the connection can take another.
    func free() { ends.withLock { $0.free }?() }

    /// The server takes no new requests.
    func drain() { ends.withLock { $0.drain }?() }
}
