// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Synchronization

/// What a command wrote, kept instead of printed.
final class CommandCapture: Sendable {
    /// The capture of this task; nil if commands write to the streams of the process.
    @TaskLocal static var current: CommandCapture?

    private let state = Mutex((output: Data(), notes: [String]()))
    /// The most bytes of output and the most notes that are kept.
    private static let outputLimit = 64 << 20
    private static let noteLimit = 100

    func add(output data: Data) {
        state.withLock { if $0.output.count + data.count <= CommandCapture.outputLimit { $0.output.append(data) } }
    }

    func add(note: String) {
        state.withLock { if $0.notes.count < CommandCapture.noteLimit { $0.notes.append(note) } }
    }

    /// How a command ended, and what it wrote.
    typealias Result = (status: Int32, output: [UInt8], notes: [String])

    /// Runs a command of this program, given as on the command line.
    static func run(_ words: [String]) async -> Result {
        let capture = CommandCapture()
        let status = await $current.withValue(capture) { () async -> Int32 in
            do {
                var command = try await Sealward.asyncParseAsRoot(words)
                try await command.start()
                return Outcome.clean.rawValue
            } catch let exit as ExitCode {
                return exit.rawValue
            } catch {
                capture.add(note: Sealward.message(for: error))
                return Outcome.undetermined.rawValue
            }
        }
        return capture.state.withLock { (status, Array($0.output), $0.notes) }
    }
}
