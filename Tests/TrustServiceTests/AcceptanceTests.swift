// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Where `Scripts/bootstrap` installs Python packages, among them `cryptography`.
private let python = ServeProcess.root.appendingPathComponent(".build/python/bin/python3")
private let isLong = ProcessInfo.processInfo.environment["SEALWARD_LONG"] != nil

/// A client in Python that knows the contract alone, with a phone and an Apple of its own, walks it line by line.
@Suite(
    .enabled(if: isLong, "set SEALWARD_LONG=1"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: python.path), "needs Scripts/bootstrap's .build/python"),
    .enabled(if: ServeProcess.isBuilt, "needs .build/debug/sealward")
)
struct AcceptanceTests {
    @Test func nothingDiffersFromTheContract() throws {
        let process = Process()
        process.executableURL = python
        process.arguments = [
            "-B", ServeProcess.root.appendingPathComponent("Tests/Acceptance/walk.py").path, ServeProcess.program.path,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        // Every call of the client has a timeout of its own, and what it started ends with it.
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text.suffix(6000))")
        #expect(text.contains(" 0 differ"), "\(text.suffix(6000))")
    }
}
