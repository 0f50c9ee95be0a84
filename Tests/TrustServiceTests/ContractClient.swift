// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// Programs of others that drive the service by its contract alone. They run long, so only in the long form of the tests.
enum ContractClient {
    /// Where `Scripts/bootstrap` installs Python packages.
    static let folder = BuiltProgram.repository.appendingPathComponent(".build/python/bin")

    /// Runs a program to its end; the text is what it printed, its errors last.
    static func run(
        _ program: URL, _ arguments: [String], in folder: URL? = nil
    ) throws -> (status: Int32, text: String) {
        let run = try ProgramRun(program, arguments, in: folder)
        return (run.status, run.output + run.errors)
    }
}
