// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A command of `sealward` that listens; it is stopped by its process id.
package struct ListeningProgram: Sendable {
    private let process: Process
    /// What it said after "listening on": a URL.
    package let address: String

    /// It did not say where it listens.
    package struct Silence: Error {
        package let text: String
    }

    /// Starts `sealward` and waits until it says where it listens.
    ///
    /// - Parameter environment: variables beside those of the tests.
    package init(_ arguments: [String], in folder: TemporaryDirectory, environment: [String: String] = [:]) async throws
    {
        process = Process()
        process.executableURL = BuiltProgram.url
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let log = folder.path("log-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        process.standardError = FileHandle(forWritingAtPath: log)
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            if let line = text.split(separator: "\n").first(where: { $0.hasPrefix("listening on ") }) {
                address = String(line.dropFirst("listening on ".count))
                return
            }
            guard ContinuousClock.now < deadline, process.isRunning else {
                process.terminate()
                throw Silence(text: text)
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Sends it a signal.
    package func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Asks it to end, and gives its status.
    package func stop() -> Int32 {
        process.terminate()
        process.waitUntilExit()
        return process.terminationStatus
    }
}
