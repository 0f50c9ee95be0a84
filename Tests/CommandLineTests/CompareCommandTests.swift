// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats compare`: a transcript of nscurl beside what a check finds.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"))
struct CompareCommandTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func options(_ kind: String) throws -> [String] {
        let servers = try #require(LoopbackServers.shared)
        return ["--ca-file", servers.authority, "--resolve", try servers.server(kind).resolve]
    }

    /// What the program itself prints in nscurl's form, as a file.
    private func transcript(_ kind: String, verbose: Bool = true) throws -> String {
        let url = try #require(LoopbackServers.shared).server(kind).url
        let arguments = ["ats", "check", url, "--format", "nscurl"] + (verbose ? ["--verbose"] : [])
        return try ProgramRun(arguments + options(kind)).output
    }

    private func compare(_ text: String, _ kind: String, _ more: [String] = []) throws -> ProgramRun {
        let file = folder.path("transcript")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return try ProgramRun(["ats", "compare", file] + options(kind) + more)
    }

    @Test(arguments: ["modern", "tls11-only", "suite-static-aes128-gcm-sha256", "key-rsa1024"], [true, false])
    func whatWasRecordedHereAgrees(_ kind: String, _ verbose: Bool) throws {
        let run = try compare(transcript(kind, verbose: verbose), kind)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(run.output.contains("0 of 16 rows differ"), "\(run.output)")
    }

    @Test("What an editor on Windows saved agrees too")
    func aByteOrderMarkIsPassedOver() throws {
        let run = try compare("\u{FEFF}" + transcript("modern").replacingOccurrences(of: "\n", with: "\r\n"), "modern")
        #expect(run.status == 0 && run.output.contains("0 of 16 rows differ"), "\(run.output)\(run.errors)")
    }

    /// A verdict, a number and a row that are not as here, log lines in between, and a system with fewer rows.
    @Test func everyDifferenceIsPrinted() throws {
        var text = try transcript("tls11-only")
        text = text.replacingOccurrences(
            of: "Allow All Loads\n", with: "Allow All Loads\nCFNetwork SSLHandshake failed (-9824)\n")
        let first = try #require(text.range(of: "Result : FAIL"))
        text.replaceSubrange(first, with: "Result : PASS")
        let stream = try #require(text.range(of: "_kCFStreamErrorCodeKey=-9836", options: .backwards))
        text.replaceSubrange(stream, with: "_kCFStreamErrorCodeKey=-9800")
        text += "---\nA row of tomorrow\nResult : PASS\n---\n"
        let run = try compare(text, "tls11-only", ["--format", "json"])
        #expect(run.status == 1, "\(run.errors)")
        #expect(run.string("schema") == "sealward.ats-compare/1")
        #expect(run.json["differences"] as? Int == 3, "\(run.output)")
        let rows = run.json["rows"] as? [[String: Any]] ?? []
        let names = rows.filter { $0["agrees"] as? Bool == false }.map { $0["name"] as? String }
        #expect(
            names == [
                "ATS Default Connection", "TLSv1.0 with PFS disabled and insecure HTTP allowed", "A row of tomorrow",
            ]
        )
        let older = try compare(transcript("tls11-only"), "tls11-only", ["--os", "macos10.12"])
        #expect(older.status == 1 && older.output.contains("no such row"), "\(older.output)")
    }

    /// nscurl has rows for a NIAP package from 26.4 on; their words are not known, but name or dictionary names the package.
    @Test(arguments: [
        "---\nFCP_v2.1\nResult : FAIL\n---\n",
        "---\nA row\nATS Dictionary:\n{\n    NSRequiresNIAPTLSPackageVersion = recommended;\n}\nResult : PASS\n---\n",
    ])
    func rowsForAPackageAreNamedAndNotCompared(_ row: String) throws {
        let run = try compare(transcript("modern") + row, "modern")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("0 of 16 rows differ") && run.output.contains("not compared"), "\(run.output)")
        let json = try compare(transcript("modern") + row, "modern", ["--format", "json"])
        #expect(json.json["differences"] as? Int == 0)
        let last = try #require((json.json["rows"] as? [[String: Any]])?.last)
        #expect(last["compared"] as? Bool == false && last["here"] is NSNull)
    }

    @Test("A server that cannot be asked now contradicts no transcript")
    func aServerThatIsGone() throws {
        let gone = try transcript("modern")
            .replacingOccurrences(
                of: #"HTTPS loads to https://[^/\n]*/"#, with: "HTTPS loads to https://127.0.0.1:1/",
                options: .regularExpression)
        let run = try compare(gone, "modern")
        #expect(run.status == 2 && run.output.contains("16 of 16 rows differ"), "\(run.output)\(run.errors)")
    }

    @Test(arguments: [
        "", "---\nx\nResult : PASS\n---\n", "\u{0}\u{1}",
        "Configuring ATS Info.plist keys and displaying the result of HTTPS loads to https://a.example.\n",
    ])
    func textThatIsNoTranscriptIsNamed(_ text: String) throws {
        let run = try compare(text, "modern")
        #expect(run.status == 2)
        #expect(run.errors.contains("nscurl --ats-diagnostics --verbose URL"), "\(run.errors)")
    }

    @Test("A folder is named once, with what is wrong with it") func aFolderIsNamedOnce() throws {
        let folder = try TemporaryDirectory()
        let run = try ProgramRun(["ats", "compare", folder.url.path])
        #expect(run.status == 2)
        #expect(run.errors.components(separatedBy: folder.url.path).count == 2, "\(run.errors)")
    }
}
