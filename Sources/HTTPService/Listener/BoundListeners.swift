// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import ServiceLifecycle
import Synchronization

/// Two listeners of which the second starts once the first has its address: nothing is announced before both are bound, and one that cannot
/// listen finds no other that has already accepted connections.
package final class BoundListeners: Sendable {
    private let announce: @Sendable (String) -> Void
    private let first = Mutex<String?>(nil)
    private let (bound, signal) = AsyncStream<Void>.makeStream()

    /// - Parameter announce: is given the lines of both once the second is bound.
    package init(announce: @escaping @Sendable (String) -> Void) { self.announce = announce }

    /// The first listener is bound; its line is kept.
    package func firstIsBound(_ line: String) {
        first.withLock { $0 = line }
        signal.finish()
    }

    package func secondIsBound(_ line: String) {
        if let first = first.withLock({ $0 }) { announce(first) }
        announce(line)
    }

    /// The second listener, as a service that waits for the first.
    package func second(_ listener: any Service) -> any Service { Second(listeners: self, listener: listener) }

    private struct Second: Service {
        let listeners: BoundListeners
        let listener: any Service

        func run() async throws {
            await cancelWhenGracefulShutdown { for await _ in listeners.bound {} }
            if Task.isCancelled || Task.isShuttingDownGracefully { return }
            try await listener.run()
        }
    }
}
