// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The pages of `ats check`, `ats history` and `ats lint` in a browser: `Scripts/report-check` says what it looks at.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
struct ReportPageTests {
    /// A page of several servers and systems, with what changed since the run before.
    private static func check(in folder: TemporaryDirectory) throws -> ProgramRun {
        let history = ["--history", folder.path("fleet.sqlite"), "--systems", "ios9,ios17,ios26,macos26"]
        // In the first run no certificate is valid yet.
        let kinds = ["expired", "tls11-only", "modern"]
        let before = try CheckTests.check(kinds, history + ["--at", "2026-01-01T00:00:00Z", "--format", "jsonl"])
        #expect(before.status != 64, "\(before.errors)")
        return try CheckTests.check(kinds, history + ["--format", "html"])
    }

    @Test func theSystemsAreAMatrixAndWhatChangedIsSaid() throws {
        let folder = try TemporaryDirectory()
        let page = try Self.check(in: folder)
        #expect(page.status == 1, "\(page.errors)")
        for part in [
            "<h2>Hosts by system</h2>", "<th>iOS 9</th><th>iOS 17</th>", "<h2>Since the previous run</h2>",
            "<h2>Certificates by expiry</h2>",
            "<span class=\"dim\">Fix:</span>",
        ] { #expect(page.output.contains(part), "\(part)") }
    }

    /// `SEALWARD_SCREENSHOTS` names a folder that keeps the pictures.
    @Test(.enabled(if: PythonPackages.canLookAtPages, "\(PythonPackages.pageNeeds)"))
    func aPersonFindsNothingWrong() throws {
        let folder = try TemporaryDirectory()
        let name = String(repeating: "very-long-name-", count: 12)
        try """
        <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowArbitraryLoads</key><true/>
        <key>NSExceptionDomains</key><dict><key>\(name).example</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict>
        </dict></dict></plist>
        """.write(toFile: folder.path("Info.plist"), atomically: true, encoding: .utf8)
        let pages = [
            ("check", try Self.check(in: folder)),
            ("history", try ProgramRun(["ats", "history", folder.path("fleet.sqlite"), "--format", "html"])),
            ("lint", try ProgramRun(["ats", "lint", folder.path("Info.plist"), "--format", "html"])),
        ]
        for (name, page) in pages { try page.data.write(to: folder.url.appending(path: "\(name).html")) }
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Scripts/report-check")
        var arguments = pages.map { folder.path("\($0.0).html") }
        if let kept = ProcessInfo.processInfo.environment["SEALWARD_SCREENSHOTS"] {
            arguments += ["--screenshots", kept]
        }
        let run = try PythonPackages.file(script, arguments, seconds: 300)
        #expect(run.status == 0, "\(run.errors)\(run.output)")
    }
}
