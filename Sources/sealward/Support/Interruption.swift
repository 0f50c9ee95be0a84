// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Ctrl-C as a cancellation, so that a command can print what it knows.
enum Interruption {
    /// Runs `body` until it ends or the first SIGINT or SIGTERM; a second one ends the process.
    ///
    /// - Returns: whether the body ran to its end.
    static func run(_ body: () async throws -> Void) async throws -> Bool {
        try await withoutActuallyEscaping(body) { body in
            let box = Body(run: body)
            let task = Task { try await box.run() }
            let queue = DispatchQueue(label: "sealward.interruption")
            let sources = [SIGINT, SIGTERM].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler {
                    if task.isCancelled { _exit(128 + number) }
                    task.cancel()
                }
                source.resume()
                return source
            }
            defer {
                for source in sources { source.cancel() }
                signal(SIGINT, SIG_DFL)
                signal(SIGTERM, SIG_DFL)
            }
            do {
                try await task.value
            } catch is CancellationError {
                return false
            }
            return !task.isCancelled
        }
    }

    /// The body runs in one task only, which is awaited before `run` returns.
    private struct Body: @unchecked Sendable {
        let run: () async throws -> Void
    }
}
