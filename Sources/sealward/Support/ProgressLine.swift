// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// How far a command is: one line on standard error that renews itself, with the time left by the pace so far.
final class ProgressLine: Sendable {
    private struct State {
        var finished = 0
        var shown: ContinuousClock.Instant?
    }

    private let total: Int
    private let begin = ContinuousClock.now
    private let state = Mutex(State())

    /// Nil unless standard error is a terminal and there is more than one thing to do.
    init?(of total: Int, quiet: Bool) {
        guard !quiet, total > 1, isatty(STDERR_FILENO) == 1 else { return nil }
        self.total = total
    }

    /// One more is done. With the last one the line goes away.
    func advance() {
        state.withLock { state in
            state.finished += 1
            guard state.finished < total else {
                state.shown = nil
                return ProgressLine.write("\r\u{1B}[K")
            }
            let now = ContinuousClock.now
            if let shown = state.shown, now - shown < .milliseconds(100) { return }
            state.shown = now
            ProgressLine.write("\r\u{1B}[K" + ProgressLine.words(state.finished, of: total, after: now - begin))
        }
    }

    /// Takes the line away, before something else is printed.
    func clear() {
        state.withLock { state in
            guard state.shown != nil else { return }
            state.shown = nil
            ProgressLine.write("\r\u{1B}[K")
        }
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

    private static func write(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
