// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import TrustService

/// A client that does what no honest one does: what it sends and when, and what may come of it.
struct HostileClient: Sendable {
    enum Step: Sendable {
        case send(String)
        /// The text byte by byte, one in so many milliseconds, until the other side closes.
        case drip(String, milliseconds: Int)
        /// The text so often, until the other side takes no more.
        case flood(String, times: Int)
        /// Waits for the head of an answer.
        case readAnswer
        /// Sends no more.
        case finish
    }

    let name: String
    let steps: [Step]
    /// Status codes of the answers, in their order, that are right; each list is one possibility. Empty is closed without an answer.
    let statuses: [[Int]]
    /// Whether it reads what comes after its steps.
    var reads = true

    /// What happened.
    struct Outcome: Sendable {
        var text = ""
        var isClosed = false
        var seconds = 0.0

        /// The codes of the answers, without the informational ones.
        var statuses: [Int] {
            text.components(separatedBy: "HTTP/1.").dropFirst().compactMap { Int($0.dropFirst(2).prefix(3)) }
                .filter { $0 >= 200 }
        }
    }

    /// Runs the steps, on a thread of its own, and then waits for the end.
    ///
    /// - Parameter patience: seconds after the last step until it gives up.
    func run(port: Int, patience: Double) async -> Outcome {
        await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: act(port, patience)) }
            thread.stackSize = 1 << 18
            thread.start()
        }
    }

    private func act(_ port: Int, _ patience: Double) -> Outcome {
        var outcome = Outcome()
        guard let connection = try? LoopbackClient(from: 2, port: port) else { return outcome }
        var bytes: [UInt8] = []
        func read() {
            guard reads, !outcome.isClosed else { return }
            if let more = connection.received() { bytes += more } else { outcome.isClosed = true }
        }
        func pause(_ milliseconds: Int) {
            usleep(UInt32(milliseconds) * 1000)
            read()
        }
        for step in steps where !outcome.isClosed {
            switch step {
            case .send(let text): connection.send(text)
            case .drip(let text, let milliseconds):
                for byte in text.utf8 where !outcome.isClosed {
                    if !connection.send([byte]) { break }
                    pause(milliseconds)
                }
            case .flood(let text, let times):
                let piece = Array(text.utf8)
                for _ in 0..<times where !outcome.isClosed {
                    // A client that does not read must not wait for a service that waits for it.
                    if !connection.send(piece, waits: reads) { break }
                    read()
                }
            case .readAnswer:
                for _ in 0..<1000
                where !outcome.isClosed && !String(decoding: bytes, as: UTF8.self).contains("\r\n\r\n") {
                    pause(5)
                }
            case .finish: connection.finishSending()
            }
        }
        let start = ContinuousClock.now
        while !outcome.isClosed, (ContinuousClock.now - start) / .seconds(1) < patience { pause(reads ? 5 : 50) }
        outcome.seconds = (ContinuousClock.now - start) / .seconds(1)
        outcome.text = String(decoding: bytes, as: UTF8.self)
        return outcome
    }
}
