// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TrustStores

@testable import TrustService

/// How many lines refused calls get.
@Suite struct RefusedCallsTests {
    private func entry(_ name: String, _ second: Int) -> AuditEntry {
        AuditEntry(
            at: Date(timeIntervalSince1970: 1_795_000_020 + Double(second)), name: name, operation: "listKeys",
            target: "app=*", outcome: "refused:caller.unauthorized", address: "192.0.2.1")
    }

    @Test func strangersGetAFewLinesAMinuteWhateverTheyDo() {
        let calls = RefusedCalls()
        var lines: [AuditEntry] = []
        for index in 0..<20_000 { lines += calls.add(entry("", index % 40), from: "address \(index)") }
        #expect(lines.count == RefusedCalls.Limit.strangers)
        // They take no line of somebody with a credential.
        #expect(calls.add(entry("ops", 41), from: "x").count == 1)
        #expect(calls.repeated(before: entry("", 45).at).isEmpty)
        let rest = calls.repeated(before: entry("", 60).at)
        #expect(rest.map(\.target) == ["app=* repeated:\(20_000 - RefusedCalls.Limit.strangers)"])
        #expect(rest.map(\.name) == [""] && rest.map(\.operation) == ["several"])
        #expect(calls.repeated(before: entry("", 60).at).isEmpty)
    }

    @Test func callsThatAreAlikeAreOneLineAndTheirNumber() {
        let calls = RefusedCalls()
        #expect(calls.add(entry("ops", 0), from: "a").map(\.target) == ["app=*"])
        #expect(calls.add(entry("ops", 1), from: "a").isEmpty && calls.add(entry("ops", 2), from: "a").isEmpty)
        #expect(calls.add(entry("ops", 3), from: "b").count == 1)
        // The next minute begins with what is left of the last one.
        #expect(calls.add(entry("ops", 60), from: "b").map(\.target) == ["app=* repeated:2", "app=*"])
    }
}
