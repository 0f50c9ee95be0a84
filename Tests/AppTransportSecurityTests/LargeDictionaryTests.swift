// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
import TLSModel
import TestSupport
import Testing
import Vocabulary

@testable import AppTransportSecurity

/// Dictionaries with very many entries: what is looked up in a table is what a look at every entry finds.
struct LargeDictionaryTests {
    private static let pin = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    private static func pins(_ entries: [(name: String, subdomains: Bool)]) -> ATSDictionary {
        let members = entries.map { entry -> (String, PropertyListValue) in
            let identity: PropertyListValue = .dictionary(["SPKI-SHA256-BASE64": .string(pin)])
            return (
                entry.name,
                .dictionary([
                    "NSIncludesSubdomains": .boolean(entry.subdomains), "NSPinnedLeafIdentities": .array([identity]),
                ])
            )
        }
        return ATSDictionary(
            .dictionary(["NSPinnedDomains": .dictionary(Dictionary(members, uniquingKeysWith: { $1 }))]))
    }

    @Test func theTableOfPinsFindsWhatEveryEntrySays() {
        let labels = ["a", "b", "c", "EXAMPLE", "com"]
        var random = SplitMix(state: 5)
        func name() -> String {
            (0..<(1 + random.below(3))).map { _ in labels[random.below(labels.count)] }.joined(separator: ".")
        }
        for _ in 0..<200 {
            let entries = (0..<4).map { _ in (name() + (random.below(4) == 0 ? "." : ""), random.below(2) == 0) }
            let domains = Self.pins(entries).pinnedDomains
            let index = PinIndex(domains)
            for _ in 0..<20 {
                let host = name() + (random.below(4) == 0 ? "." : "")
                #expect(index.pins(for: host) == PinSet(domains, host: host))
            }
        }
    }

    @Test func theTableOfRangesFindsTheSmallest() throws {
        var random = SplitMix(state: 6)
        for _ in 0..<200 {
            let keys = (0..<6).map { _ in "10.\(random.below(3)).\(random.below(3)).0/\(8 + random.below(25))" }
            let entry: PropertyListValue = .dictionary(["NSExceptionAllowsInsecureHTTPLoads": .boolean(true)])
            let members = Dictionary(keys.map { ($0, entry) }, uniquingKeysWith: { $1 })
            let dictionary = ATSDictionary(.dictionary(["NSExceptionDomains": .dictionary(members)]))
            let lookup = ExceptionLookup(dictionary, .standard)
            let url = try LoadURL("http://10.\(random.below(3)).\(random.below(3)).\(random.below(256))/")
            let address = try #require(url.literalAddress)
            let wanted = keys.compactMap { AddressRange($0) }.filter { $0.contains(address) }.map(\.prefixLength).max()
            #expect(lookup.match(url).flatMap { AddressRange($0.key) }?.prefixLength == wanted)
        }
    }

    @Test(Measuring.only) func decisionsDoNotDependOnTheNumberOfEntries() throws {
        func cost(_ count: Int) throws -> Double {
            let policy = ATSPolicy(dictionary: Self.pins((0..<count).map { ("h\($0).x", true) }), profile: .standard)
            let url = try LoadURL("https://h1.x/")
            return CPUTime.measure { for _ in 0..<200 { _ = policy.decide(url) } }
        }
        #expect(try cost(4_000) < 10 * cost(40) + 0.1)
    }

    @Test func remarksEndAtALimitAndSaySo() {
        let members = Dictionary(uniqueKeysWithValues: (0..<11_000).map { ("h\($0)", PropertyListValue.integer(1)) })
        let remarks = ATSDictionary(.dictionary(["NSExceptionDomains": .dictionary(members)])).remarks
        #expect(remarks.count == 10_001)
        #expect(remarks.last?.cause.code == "ats.dictionary.more-remarks")
    }

    @Test func namesOfJSONHaveLimits() {
        for name in [String(repeating: "k", count: 1_025), "a" + String(repeating: "\u{301}\u{316}", count: 100)] {
            #expect(throws: MalformedInput(code: "malformed.json", reason: "")) {
                try PropertyListValue(json: Array(#"{"\#(name)":1}"#.utf8))
            }
        }
        let fault = #expect(throws: MalformedInput.self) {
            try PropertyListValue(json: Array(#"{"a":{"b":[1,[true,null]]}}"#.utf8))
        }
        #expect(fault?.place == "a.b[1][1]")
    }

    /// The place of a value is written for a fault alone: with long names around it took longer than all the rest.
    @Test(Measuring.only) func deepNamesAreNotWrittenForEveryValue() throws {
        let name = String(repeating: "k", count: 1_000)
        func json(_ depth: Int) -> [UInt8] {
            let open = String(repeating: "{\"\(name)\":", count: depth)
            let zeros = Array(repeating: "0", count: 20_000).joined(separator: ",")
            return Array("\(open)[\(zeros)]\(String(repeating: "}", count: depth))".utf8)
        }
        let flat = try CPUTime.measure { _ = try PropertyListValue(json: json(1)) }
        let deep = try CPUTime.measure { _ = try PropertyListValue(json: json(60)) }
        #expect(deep < 5 * flat + 0.1)
    }
}
