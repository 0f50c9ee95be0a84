// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Synchronization

/// How many proofs and questions of gateways are worked on at a time: whoever comes beyond is told at once to come again.
///
/// Without a bound a load that is more than the machine can do makes everybody wait, until callers give up answers that still cost work. What
/// waits for Apple, and what operators and monitoring ask, has no place here: neither can take the places of the apps' requests.
package final class WorkLimit: Sendable {
    /// The places for each processor that are there by default: five times what keeps one busy.
    private static let perProcessor = 256
    /// When a caller may come again, in seconds.
    private static let pause = 1

    private let limit: Int
    private let taken = Atomic<Int>(0)

    /// - Parameter limit: at least 1; nil for ``perProcessor`` places for each processor.
    package init(limit: Int?) {
        self.limit = max(1, limit ?? WorkLimit.perProcessor * System.coreCount)
    }

    /// The route with its work counted, if it is one of those that are bounded.
    ///
    /// A request takes its place when its body is there, so a client that sends slowly holds none.
    func bounded(_ route: Route) -> Route {
        guard route.isBounded else { return route }
        return route.handled { [self] call in
            defer { taken.subtract(1, ordering: .relaxed) }
            guard taken.add(1, ordering: .relaxed).newValue <= limit else {
                throw Problem(.limitWork, retryAfterSeconds: WorkLimit.pause)
            }
            return try await route.handler(call)
        }
    }
}
