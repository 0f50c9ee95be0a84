// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// Packages of PyPI that tests ask for a second opinion.
package enum PythonPackages {
    package static func has(_ names: String...) -> Bool {
        (try? run(names.map { "import \($0)" }.joined(separator: "\n") + "\nprint('yes')", [])) == "yes\n"
    }

    package static func run(_ script: String, _ arguments: [String]) throws -> String {
        try ProgramRun(program, first + ["-c", script] + arguments).output
    }

    /// Runs a script in a file, for so many seconds at most.
    package static func file(_ script: URL, _ arguments: [String], seconds: Int) throws -> ProgramRun {
        let words = ["timeout", String(seconds), program.path] + first + [script.path] + arguments
        return try ProgramRun(URL(fileURLWithPath: "/usr/bin/env"), words)
    }

    /// Whether Scripts/console-check and Scripts/report-check run here, and what they need.
    package static let canLookAtPages =
        ["chromium", "chromium-browser", "google-chrome"].contains { name in
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
                .contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
        } && has("playwright", "axe_playwright_python")
    package static let pageNeeds =
        "needs chromium (apt-get install chromium), playwright and axe-playwright-python (Scripts/bootstrap all)"

    /// The environment that Scripts/bootstrap makes, or else whatever python3 there is.
    private static let own = BuiltProgram.repository.appendingPathComponent(".build/python/bin/python3")
    private static var isThere: Bool { FileManager.default.isExecutableFile(atPath: own.path) }
    private static var program: URL { isThere ? own : URL(fileURLWithPath: "/usr/bin/env") }
    private static var first: [String] { isThere ? [] : ["python3"] }
}
