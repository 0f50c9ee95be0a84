// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import NIOCore

/// How many descriptors the process may have, and what that means for connections.
package struct DescriptorLimit: Sendable, Equatable {
    /// The soft limit of RLIMIT_NOFILE (`ulimit -n`), at most 1,048,576.
    package let descriptors: Int
    /// Processors, because each event loop has descriptors of its own.
    package let processors: Int

    package init(descriptors: Int, processors: Int) {
        self.descriptors = min(max(0, descriptors), 1 << 20)
        self.processors = min(max(1, processors), 1 << 12)
    }

    /// The limit of this process; 256, the smallest default of any system, if it cannot be read.
    package static func current() -> DescriptorLimit {
        var limit = rlimit()
        // Safe: the system fills a value of its own type.
        let result = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let found = result == 0 ? Int(clamping: limit.rlim_cur) : 256
        return DescriptorLimit(descriptors: found, processors: System.coreCount)
    }

    /// Descriptors that connections do not get: three for each event loop (epoll, eventfd, timerfd), and an eighth of all, from 64 to 1,024,
    /// for the store, files, look-ups, and connections to others.
    package var reserve: Int { 3 * processors + min(max(64, descriptors / 8), 1024) }

    /// As many event loops as leave something for connections: one for each processor if the limit allows it, since each takes three
    /// descriptors and the process ends if it gets none.
    package var eventLoops: Int { min(processors, max(1, descriptors / 12)) }

    /// The fewest descriptors with which anything can be done.
    package static let least = 24

    /// Room for connections that take so many descriptors each; at least 8.
    package func connections(taking each: Int = 1) -> Int {
        max(8, (descriptors - reserve) / max(1, each))
    }

    /// The caps that follow from the limit: half of the connections for one address, or 256 if there are 1,024 descriptors or more.
    ///
    /// - Parameter total: what the configuration says about all connections; the limit of the system if nil or higher.
    package func limits(taking each: Int = 1, total: Int? = nil) -> Admission.Limits {
        let room = connections(taking: each)
        let total = min(total ?? room, room)
        let half = total / 2
        return Admission.Limits(total: total, perAddress: descriptors >= 1024 ? min(total, max(half, 256)) : half)
    }
}
