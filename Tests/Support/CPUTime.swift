// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What work costs on this thread, whatever else the machine does.
package enum CPUTime {
    /// Seconds of processor time that the body took on this thread.
    package static func measure(_ body: () throws -> Void) rethrows -> Double {
        let begun = now()
        try body()
        return now() - begun
    }

    private static func now() -> Double {
        var time = timespec()
        _ = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
