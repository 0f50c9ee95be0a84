// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// How far a command is: one line on standard error that renews itself, with the time left by the pace so far where the end is known.
final class ProgressLine: Sendable {
    private struct State {
        var finished = 0
        var isShown = false
        /// When the line may change.
        var next: ContinuousClock.Instant
    }

    private static let interval = Duration.milliseconds(100)
    /// Nil if the end is not known.
    private let total: Int?
    private let things: String
    private let begin: ContinuousClock.Instant
    private let state: Mutex<State>

    /// Nil unless standard error is a terminal and there is more than one thing to do.
    ///
    /// - Parameters:
    ///   - total: nil for what has no known end: nothing is shown of what is done at once.
    ///   - things: what is counted then, for example `files looked at`.
    init?(of total: Int? = nil, counting things: String = "", quiet: Bool) {
        guard !quiet, total ?? 2 > 1, isatty(STDERR_FILENO) == 1 else { return nil }
        (self.total, self.things) = (total, things)
        begin = .now
        state = Mutex(State(next: total == nil ? begin + ProgressLine.interval : begin))
    }

    /// One more is done. With the last one of a known number the line goes away.
    func advance() {
        state.withLock { state in
            state.finished += 1
            if let total, state.finished >= total { return ProgressLine.hide(&state) }
            let now = ContinuousClock.now
            guard now >= state.next else { return }
            state.next = now + ProgressLine.interval
            state.isShown = true
            let words = total.map { ProgressLine.words(state.finished, of: $0, after: now - begin) }
            ProgressLine.write("\r\u{1B}[K" + (words ?? "\(state.finished) \(things)"))
        }
    }

    /// Takes the line away, before something else is printed.
    func clear() { state.withLock { ProgressLine.hide(&$0) } }

    private static func hide(_ state: inout State) {
        guard state.isShown else { return }
        state.isShown = false
        state.next = .now
        write("\r\u{1B}[K")
    }

    /// For example `12 of 250, about 40 s left`.
    static func words(_ finished: Int, of total: Int, after elapsed: Duration) -> String {
        let pace = elapsed / .seconds(1) / Double(max(1, finished))
        let seconds = (pace * Double(max(0, total - finished))).rounded(.up)
        let left =
            switch seconds {
            case ..<1: ""
            case ..<120: ", about \(Int(seconds)) s left"
            case ..<7200: ", about \(Int((seconds / 60).rounded(.up))) min left"
            case ..<1e9: ", about \(Int((seconds / 3600).rounded(.up))) h left"
            default: ""
            }
        return "\(finished) of \(total)\(left)"
    }

    private static func write(_ text: String) { OutputFile.standardError.say(text) }
}
