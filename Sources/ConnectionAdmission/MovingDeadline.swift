// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A deadline of a connection that moves with what happens on it. Used on the connection's event loop, and over with its last owner.
///
/// No timer is taken back: the event loop would look at those of all its connections. One that comes too early waits on, and one that nobody
/// needs any more does nothing.
package final class MovingDeadline {
    private let loop: any EventLoop
    private let isOver: () -> Void
    private var deadline = NIODeadline.distantFuture
    /// When the deadline is looked at next.
    private var wakesAt = NIODeadline.distantFuture
    /// Since the last look.
    private var hasMoved = false

    /// Between two looks at a deadline that moves: it does so with every request, the timer does not.
    private static let tick = TimeAmount.seconds(5)
    /// Between two looks at one that rests; a timer without an owner is gone after so long.
    private static let longestTick = TimeAmount.seconds(60)

    /// - Parameter isOver: called when the deadline passes.
    package init(on loop: any EventLoop, isOver: @escaping () -> Void) {
        self.loop = loop
        self.isOver = isOver
    }

    package func move(in time: TimeAmount) {
        let now = loop.now
        deadline = now + time
        hasMoved = true
        wake(at: min(deadline, now + MovingDeadline.tick))
    }

    /// Moves it if it comes sooner so.
    package func shorten(to time: TimeAmount) { if loop.now + time < deadline { move(in: time) } }

    package func stop() { deadline = .distantFuture }

    /// Closes a connection that is still open after so long.
    package static func close(_ channel: any Channel, after time: TimeAmount) {
        let end = MovingDeadline(on: channel.eventLoop) { channel.close(promise: nil) }
        end.move(in: time)
        channel.closeFuture.assumeIsolated().whenComplete { _ in withExtendedLifetime(end) {} }
    }

    private func wake(at time: NIODeadline) {
        guard time < wakesAt else { return }
        wakesAt = time
        loop.assumeIsolated().scheduleTask(deadline: time) { [weak self] in self?.look(time) }
    }

    private func look(_ time: NIODeadline) {
        guard time == wakesAt else { return }
        wakesAt = .distantFuture
        let now = loop.now
        if deadline <= now {
            stop()
            isOver()
        } else if deadline < .distantFuture {
            wake(at: min(deadline, now + (hasMoved ? MovingDeadline.tick : MovingDeadline.longestTick)))
            hasMoved = false
        }
    }
}
