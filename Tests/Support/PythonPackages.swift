// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Packages of PyPI that tests ask for a second opinion.
package enum PythonPackages {
    package static func has(_ names: String...) -> Bool {
        (try? run(names.map { "import \($0)" }.joined(separator: "\n") + "\nprint('yes')", [])) == "yes\n"
    }

    package static func run(_ script: String, _ arguments: [String]) throws -> String {
        // The environment that Scripts/bootstrap makes, or else whatever python3 there is.
        let own = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent(".build/python/bin/python3")
        let isThere = FileManager.default.isExecutableFile(atPath: own.path)
        let program = isThere ? own : URL(fileURLWithPath: "/usr/bin/env")
        return try ProgramRun(program, (isThere ? [] : ["python3"]) + ["-c", script] + arguments).output
    }
}
