// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import Glibc
import HTTPService
import Logging
import ServiceLifecycle
import UnixSignals

/// The options of a command that runs until a signal.
struct LogOptions: ParsableArguments {
    @Flag(help: "Disable color.")
    var noColor = false

    @Flag(help: "Log errors only.")
    var quiet = false

    var level: Logger.Level { quiet ? .error : .info }

    /// Starts the log on standard error. From here on a peer that goes away while it is written to does not end the program.
    func output(_ registry: PrometheusRegistry) -> LogOutput {
        signal(SIGPIPE, SIG_IGN)
        return LogOutput(descriptor: STDERR_FILENO, label: "sealward", registry: registry)
    }
}

extension ServiceGroup {
    /// Runs services until SIGTERM or SIGINT; they stop from the last to the first.
    static func run(_ services: [any Service], stopping limit: Duration? = nil, log: Logger) async throws {
        var configuration = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: log)
        configuration.maximumGracefulShutdownDuration = limit
        try await ServiceGroup(configuration: configuration).run()
    }
}

/// Ctrl-C as a cancellation, so that a command can print what it knows.
enum Interruption {
    /// Runs `body` until it ends or the first SIGINT or SIGTERM; a second one ends the process.
    ///
    /// - Returns: whether the body ran to its end.
    static func run(_ body: () async throws -> Void) async throws -> Bool {
        try await withoutActuallyEscaping(body) { body in
            let box = Body(run: body)
            let task = Task { try await box.run() }
            let sources = sources { number in
                if task.isCancelled { _exit(128 + number) }
                task.cancel()
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

    /// Cleans up before the first SIGINT or SIGTERM ends the process.
    ///
    /// - Returns: what ends that: from then on these signals are another's.
    static func cleaning(_ clean: @escaping @Sendable () -> Void) -> () -> Void {
        let sources = sources { number in
            clean()
            _exit(128 + number)
        }
        return { for source in sources { source.cancel() } }
    }

    private static func sources(_ handle: @escaping @Sendable (Int32) -> Void) -> [any DispatchSourceSignal] {
        let queue = DispatchQueue(label: "sealward.interruption")
        return [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { handle(number) }
            source.resume()
            return source
        }
    }

    /// The body runs in one task only, which is awaited before `run` returns.
    private struct Body: @unchecked Sendable {
        let run: () async throws -> Void
    }
}
