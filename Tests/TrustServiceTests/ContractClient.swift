// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Programs of others that drive the service by its contract alone. They run long, so only in the long form of the tests.
enum ContractClient {
    /// Where `Scripts/bootstrap` installs Python packages.
    static let folder = ServeProcess.root.appendingPathComponent(".build/python/bin")

    /// Runs a program to its end; what it printed stands in the order of printing, errors between.
    static func run(
        _ program: URL, _ arguments: [String], in folder: URL? = nil
    ) throws -> (status: Int32, text: String) {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        if let folder { process.currentDirectoryURL = folder }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
