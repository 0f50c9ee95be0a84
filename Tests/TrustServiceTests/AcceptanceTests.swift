// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// With `cryptography` among its packages.
private let python = ContractClient.folder.appendingPathComponent("python3")

/// A client in Python that knows the contract alone, with a phone and an Apple of its own, walks it line by line.
@Suite(
    .enabled(if: LongForm.isAsked, "set SEALWARD_LONG=1"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: python.path), "needs Scripts/bootstrap's .build/python"),
    .enabled(if: ServeProcess.isBuilt, "needs .build/release/sealward"))
struct AcceptanceTests {
    @Test func nothingDiffersFromTheContract() throws {
        // Every call of the client has a timeout of its own, and what it started ends with it.
        let (status, text) = try ContractClient.run(
            python,
            [
                "-B", BuiltProgram.repository.appendingPathComponent("Tests/Acceptance/walk.py").path,
                ServeProcess.program.path,
            ]
        )
        #expect(status == 0, "\(text.suffix(6000))")
        #expect(text.contains(" 0 differ"), "\(text.suffix(6000))")
    }
}
