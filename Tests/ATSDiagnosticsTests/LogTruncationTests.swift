// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import Foundation
import TestSupport
import Testing

/// Logs are text from anywhere: whole, cut, or not text at all.
@Suite struct LogTruncationTests {
    /// The corpus of the fuzz target, with each form that is read.
    static let corpus: [[UInt8]] = {
        let folder = URL(fileURLWithPath: LoopbackServers.repository + "/Fuzz/Corpus/log")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.compactMap { try? Array(Data(contentsOf: $0)) }
    }()

    @Test func everyTruncationIsReadToItsEnd() {
        #expect(Self.corpus.count > 6)
        for bytes in Self.corpus {
            for count in stride(from: 0, through: min(bytes.count, 1500), by: LongForm.isAsked ? 1 : 7) {
                var log = DeviceLog()
                log.read(Array(bytes.prefix(count)))
                let report = log.report()
                #expect(report.unknown <= report.lines)
            }
        }
    }

    @Test("Numbers, names and braces without end are bounded and make no failure of nothing")
    func hostileLines() {
        let lines = [
            String(repeating: "<cert(", count: 20000), String(repeating: "[C1 ", count: 20000),
            "com.apple.devicecheck.error " + String(repeating: "9", count: 400), "SSL alert number 99999",
            "errno = 999999",
            String(repeating: "{", count: 60000), "\u{201C}", "interface: " + String(repeating: "a", count: 60000),
        ]
        var log = DeviceLog()
        log.read(Array(lines.joined(separator: "\n").utf8))
        let report = log.report()
        #expect(!report.hasFindings && report.text.utf8.count < 2000, "\(report.text)")
    }

    @Test(
        "A line of any length is read to its end: text, JSON, and an archive of requests with what servers answered",
        arguments: [
            ("", "NSURLErrorDomain -1022 http://a.example/", "ats.cleartext.blocked"),
            (
                #"[{"eventMessage":"NSURLErrorDomain -1003 https://b.example/"},{"eventMessage":""#,
                #""},{"eventMessage":"NSURLErrorDomain -1022 http://a.example/"}]"#, "ats.cleartext.blocked"
            ),
            (
                #"{"log":{"creator":{},"entries":[{"request":{"url":"https://b.example/"},"response":{"text":"NSURLErrorDomain -1200 "#,
                #""}},{"request":{"url":"https://a.example/"},"response":{"_error":"net::ERR_CERT_DATE_INVALID"}}]}}"#,
                "ats.trust.expired"
            ),
            (
                #"{"config":{"data":""#, #""},"url":"http://a.example/","code":-1022,"domain":"NSURLErrorDomain"}"#,
                "ats.cleartext.blocked"
            ),
        ])
    func longLines(_ head: String, _ tail: String, _ code: String) {
        for filler in [String(repeating: "word ", count: 60_000), String(repeating: "a", count: 300_000)] {
            var log = DeviceLog()
            log.read(Array((head + filler + tail).utf8))
            let text = log.report().text
            #expect(text.contains("a.example") && text.contains(code), "\(text)")
            #expect(!text.contains("-1200"), "\(text)")
        }
    }

    @Test("A line that is read in parts is one line")
    func partsAreOneLine() {
        for filler in [String(repeating: "word ", count: 60_000), String(repeating: "a", count: 4 << 16)] {
            var log = DeviceLog()
            log.read(Array((filler + "\nNSURLErrorDomain -1022 http://a.example/").utf8))
            let report = log.report()
            #expect(report.lines == 2 && report.unknown == 1, "\(report.text)")
            #expect(report.text.contains("line 2"), "\(report.text)")
        }
    }
}
