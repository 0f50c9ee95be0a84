// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
package import Logging
import Synchronization
import Vocabulary

/// Where the log of a service goes: lines wait in a bounded queue, and one thread writes them, so that no request waits for their reader.
///
/// A reader that stops (a full pipe, a paused terminal, a hung disk) loses lines beyond ``limit``; they are counted in
/// `sealward_log_dropped_total`, and one line says how many there were where they are missing. The descriptor still blocks: whether it does is
/// a setting of everybody who shares it.
package final class LogOutput: TextOutputStream, Sendable {
    /// The most bytes that wait.
    package static let limit = 1 << 20

    private struct State {
        var waiting: [UInt8] = []
        var dropped = 0
        var isEnding = false
    }

    /// Takes lines beyond the limit too: for the one that says how many were dropped.
    private struct Unbounded: TextOutputStream, Sendable {
        let output: LogOutput

        mutating func write(_ line: String) { output.add(line, isBounded: false) }
    }

    private let descriptor: CInt
    private let label: String
    private let registry: PrometheusRegistry
    private let state = Mutex(State())
    /// Signaled if the queue is no longer empty, and at the end.
    private let more = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the thread that writes.
    ///
    /// - Parameters:
    ///   - descriptor: where it writes; it stays the caller's.
    ///   - label: what loggers are called.
    package init(descriptor: CInt, label: String, registry: PrometheusRegistry) {
        self.descriptor = descriptor
        self.label = label
        self.registry = registry
        registry.count(.logDropped, by: 0)
        SystemThread.start { self.work() }
    }

    /// A logger whose lines go here.
    package var logger: Logger { Logger(label: label) { StreamLogHandler(label: $0, stream: self) } }

    /// Takes one line with its end, and never waits.
    package func write(_ line: String) { add(line.commandSafe, isBounded: true) }

    private func add(_ line: String, isBounded: Bool) {
        let isAdded = state.withLock { state in
            let fits = !state.isEnding && line.utf8.count <= LogOutput.limit - state.waiting.count
            guard fits || !isBounded else {
                state.dropped += 1
                return false
            }
            if state.waiting.isEmpty { more.signal() }
            state.waiting += line.utf8
            return true
        }
        if !isAdded { registry.count(.logDropped) }
    }

    /// Takes no more lines, and waits until those before are written; no longer than `patience`.
    package func finish(within patience: Duration) {
        state.withLock { $0.isEnding = true }
        more.signal()
        _ = ended.wait(timeout: .now() + .milliseconds(Int(patience / .milliseconds(1))))
    }

    private func work() {
        while true {
            more.wait()
            let (lines, dropped, isEnding) = state.withLock { state in
                defer { (state.waiting, state.dropped) = ([], 0) }
                return (state.waiting, state.dropped, state.isEnding)
            }
            write(lines)
            if dropped > 0 { tell(dropped) }
            if isEnding { break }
        }
        write(state.withLock { $0.waiting })
        ended.signal()
    }

    private func write(_ lines: [UInt8]) {
        guard SystemFile.write(lines, to: descriptor) != 0 else { return }
        registry.count(.logDropped, by: lines.count { $0 == 0x0A })
    }

    private func tell(_ dropped: Int) {
        Logger(label: label) { StreamLogHandler(label: $0, stream: Unbounded(output: self)) }.warning(
            "Lines of the log were dropped, because they were not read in time.", metadata: ["count": "\(dropped)"])
    }
}
