// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
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
