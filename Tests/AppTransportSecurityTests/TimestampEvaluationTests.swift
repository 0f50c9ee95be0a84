// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import Foundation
import TLSFacts
import Testing

@Suite("Judging the timestamps of Certificate Transparency")
struct TimestampEvaluationTests {
    @Test("Certificate Transparency is a note without a log list, and a verdict with one")
    func transparency() throws {
        func logs(_ state: String) throws -> CTLogList {
            let entries = (1...3).map { index in
                #"{"log_id":"\#(Data(repeating: UInt8(index), count: 32).base64EncodedString())","state":{"\#(state)":{}}}"#
            }
            return try CTLogList(
                json: Array(#"{"operators":[{"name":"one","logs":[\#(entries.joined(separator: ","))]}]}"#.utf8)
            )
        }
        func list(_ ids: [UInt8]) -> [UInt8] {
            let entries = ids.flatMap { identifier -> [UInt8] in
                let entry: [UInt8] =
                    [0] + [UInt8](repeating: identifier, count: 32) + [0, 0, 1, 0x90, 0, 0, 0, 0] + [0, 0, 4, 3, 0, 0]
                return [UInt8(entry.count >> 8), UInt8(entry.count & 0xFF)] + entry
            }
            return [UInt8(entries.count >> 8), UInt8(entries.count & 0xFF)] + entries
        }
        var scene = Scene()
        scene.anchor = .system
        let unjudged = try scene.verdict()
        #expect(unjudged.passed && unjudged.notes.contains { $0.code == "ats.note.ct-not-judged" })
        #expect(try scene.verdict(logs: try logs("usable")).causes.map(\.code) == ["ats.ct.missing"])
        scene.timestamps = list([1, 2, 3])
        #expect(try scene.verdict(logs: try logs("usable")).passed)
        #expect(try !scene.verdict(logs: try logs("retired")).passed)
        scene.timestamps = list([1, 1, 1])
        #expect(try !scene.verdict(logs: try logs("usable")).passed)
        // Two logs in the stapled response are enough beside nothing else.
        scene.timestamps = nil
        scene.stapledTimestamps = list([1, 2])
        #expect(try scene.verdict(logs: try logs("usable")).passed)
        #expect(try !scene.verdict(logs: try logs("retired")).passed)
        scene.stapledTimestamps = list([1])
        #expect(try !scene.verdict(logs: try logs("usable")).passed)
        scene.anchor = .installed
        #expect(try scene.verdict(logs: try logs("usable")).passed)
    }

    @Test("lists of timestamps, cut at every byte, are refused or read, and nothing ends the process")
    func truncation() {
        let entry: [UInt8] = [0] + [UInt8](repeating: 9, count: 40) + [0, 0, 4, 3, 0, 0]
        let whole: [UInt8] = [0, UInt8(entry.count + 2), 0, UInt8(entry.count)] + entry
        #expect(SignedTimestamp.list(decoding: whole)?.count == 1)
        for length in 0..<whole.count { #expect(SignedTimestamp.list(decoding: Array(whole.prefix(length))) == nil) }
    }
}
