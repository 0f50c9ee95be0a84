// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Lets the first lines of each kind in each window of time pass, and counts the others until they are summed up.
///
/// Every line is accounted for: those that passed and the sums add up to all. Kinds are codes of ours, so that the table is bounded; kinds
/// beyond ``kindLimit`` share one entry.
package final class LineSampler: Sendable {
    private struct Window {
        var number: Int
        var passed: Int
        var suppressed: Int
    }

    /// What was not written of one kind.
    package struct Sum: Sendable, Equatable {
        package let kind: String
        package let count: Int
    }

    /// What becomes of one line.
    package struct Verdict: Sendable, Equatable {
        package let passes: Bool
        /// What was suppressed of this kind in an earlier window, to be written first.
        package let sum: Sum?
    }

    /// The most kinds that are counted apart.
    package static let kindLimit = 256

    private let lines: Int
    private let window: Int
    private let windows = Mutex<[String: Window]>([:])

    /// - Parameters:
    ///   - lines: how many lines of one kind pass in one window.
    ///   - seconds: how long a window is.
    package init(_ lines: Int, every seconds: Int = 1) {
        self.lines = max(1, lines)
        window = max(1, seconds)
    }

    private func number(of uptime: Double) -> Int { Int(clamping: Int64(max(0, min(uptime, 1e15)))) / window }

    /// - Parameter uptime: seconds of a clock that never goes back.
    package func note(_ kind: String, at uptime: Double) -> Verdict {
        let number = number(of: uptime)
        return windows.withLock { windows in
            let kind = windows[kind] != nil || windows.count < LineSampler.kindLimit ? kind : "others"
            var window = windows[kind] ?? Window(number: number, passed: 0, suppressed: 0)
            var sum: Sum?
            if window.number < number {
                if window.suppressed > 0 { sum = Sum(kind: kind, count: window.suppressed) }
                window = Window(number: number, passed: 0, suppressed: 0)
            }
            let passes = window.passed < lines
            if passes { window.passed += 1 } else { window.suppressed += 1 }
            windows[kind] = window
            return Verdict(passes: passes, sum: sum)
        }
    }

    /// Takes the sums of all windows that are over, and forgets their kinds; with nil all there are, at the end.
    package func sums(before uptime: Double?) -> [Sum] {
        let number = uptime.map(number(of:)) ?? Int.max
        return windows.withLock { windows in
            let over = windows.filter { $0.value.number < number }
            for kind in over.keys { windows[kind] = nil }
            return over.filter { $0.value.suppressed > 0 }.map { Sum(kind: $0.key, count: $0.value.suppressed) }
                .sorted { $0.kind < $1.kind }
        }
    }
}
