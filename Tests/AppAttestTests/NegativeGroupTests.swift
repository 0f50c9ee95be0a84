// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Foundation
import TestSupport
import Testing

/// Each group of the list of things that must be refused has a test, and `docs/audit/negative-groups.md` says which.
/// `SEALWARD_REGENERATE=1` writes the page anew.
@Suite struct NegativeGroupTests {
    static let page = BuiltProgram.repository.appending(path: "docs/audit/negative-groups.md")

    @Test func noGroupIsLeftOut() {
        #expect(NegativeGroup.all.map(\.number) == Array(1...84))
        for group in NegativeGroup.all { #expect(!group.witnesses.isEmpty, "\(group.number)") }
    }

    /// Whatever case a table has is claimed by the list, and the other way round.
    @Test func theTablesAndTheListAgree() {
        let claimed = NegativeGroup.all.filter { $0.witnesses.contains { if case .table = $0 { true } else { false } } }
        #expect(Set(claimed.map(\.number)) == Set(NegativeGroupTests.tableCases.map(\.group)))
    }

    /// A test that the list names stands where it says, and its text holds what the list says.
    @Test(arguments: NegativeGroup.all.map(\.number))
    func namedTestsAreThere(_ number: Int) throws {
        let group = try #require(NegativeGroup.all.first { $0.number == number })
        for case .test(let file, let function, let texts) in group.witnesses {
            let source = try String(
                contentsOf: BuiltProgram.repository.appending(path: "Tests/\(file)"), encoding: .utf8)
            let body = try #require(
                NegativeGroupTests.body(of: function, in: source), "group \(number): \(file) has no test \(function)")
            for text in texts { #expect(body.contains(text), "group \(number): \(function) lacks \(text)") }
        }
    }

    @Test func everyFaultBelongsToAGroup() {
        var faults: Set<String> = []
        for witness in NegativeGroup.all.flatMap(\.witnesses) {
            switch witness {
            case .attestation(let fault): faults.insert("attestation " + fault.rawValue)
            case .assertion(let fault): faults.insert("assertion " + fault.rawValue)
            case .receipt(let fault): faults.insert("receipt " + fault.rawValue)
            case .table, .test: break
            }
        }
        // What these show is in the list under another kind of object, or is accepted and no part of the list.
        let others: Set = [
            "attestation corrupted-intermediate", "attestation corrupted-receipt", "assertion extensions-are-text",
            "assertion map-without-extension-flag", "assertion trailing-byte", "receipt signed-attributes",
            "receipt unknown-field",
        ]
        let all =
            AttestationFault.allCases.map { "attestation " + $0.rawValue }
            + AssertionFault.allCases.map { "assertion " + $0.rawValue }
            + ReceiptFault.allCases.map { "receipt " + $0.rawValue }
        #expect(Set(all).subtracting(faults) == others)
    }

    /// The simulator knows the group of a fault by the same number as the list.
    @Test func faultsKnowTheirGroups() {
        for group in NegativeGroup.all {
            for witness in group.witnesses {
                switch witness {
                case .attestation(let fault): #expect(fault.row.group == group.number, "\(fault)")
                case .assertion(let fault): #expect(fault.row.group == group.number, "\(fault)")
                case .receipt(let fault): #expect(fault.row.group == group.number, "\(fault)")
                case .table, .test: break
                }
            }
        }
    }

    @Test func thePageIsTheList() throws {
        let expected = NegativeGroupTests.rendered
        if ProcessInfo.processInfo.environment["SEALWARD_REGENERATE"] == "1" {
            try Data(expected.utf8).write(to: NegativeGroupTests.page)
        }
        #expect(try String(contentsOf: NegativeGroupTests.page, encoding: .utf8) == expected)
    }

    private static let tableCases: [(group: Int?, suite: String, what: String, code: String?)] =
        NegativeCases.objects.map { ($0.group, "NegativeCBORTests", $0.what, $0.code) }
        + (NegativeCases.chains + NegativeChainTests.times + NegativeCases.data).map {
            ($0.group, "NegativeChainTests", $0.what, $0.code)
        }
        + NegativeCases.receipts.map { ($0.group, "NegativeReceiptTests", $0.what, $0.code) }

    /// From the attribute before a test function to the next attribute; of a case of the store contract, which has none, its function.
    private static func body(of function: String, in source: String) -> String? {
        guard let start = source.range(of: "func \(function)(") else { return nil }
        let isContract = source.contains("extension StoreContract {")
        let attribute = source.range(of: "@Test", options: .backwards, range: source.startIndex..<start.lowerBound)
        guard let first = isContract ? start : attribute else { return nil }
        let next = isContract ? "\n    static func " : "\n    @Test"
        let end = source.range(of: next, range: start.upperBound..<source.endIndex)?.lowerBound
        return String(source[first.lowerBound..<(end ?? source.endIndex)])
    }

    private static func code(_ code: String?) -> String { code.map { "`\($0)`" } ?? "accepted" }

    private static func lines(_ group: NegativeGroup) -> [String] {
        group.witnesses.flatMap { witness -> [String] in
            switch witness {
            case .table:
                tableCases.filter { $0.group == group.number }.map { "\($0.suite), \($0.what): \(code($0.code))" }
            case .attestation(let fault):
                [
                    "FaultTests, attestation `\(fault.rawValue)`: \(code(fault.expectedCode))"
                        + (fault.row.receiptCode.map { ", its receipt `\($0)`" } ?? "")
                ]
            case .assertion(let fault):
                ["FaultTests, assertion `\(fault.rawValue)`: \(code(fault.expectedCode))"]
            case .receipt(let fault):
                ["FaultTests, receipt `\(fault.rawValue)`: \(code(fault.expectedCode))"]
            case .test(let file, let function, let texts):
                [
                    "\(file.split(separator: "/").last?.dropLast(6) ?? ""), `\(function)`: "
                        + texts.map { "`\($0)`" }.joined(separator: ", ")
                ]
            }
        }
    }

    private static var rendered: String {
        var text = """
            # What must be refused, and the test that shows it

            The groups of objects that a server must not accept from a lying device, by number, with each test and the code
            that it expects. A test writes this page from the tests' own tables and fails if a group has none.


            """
        for group in NegativeGroup.all {
            text += "**\(group.number)** \(group.what)\n\n"
            text += lines(group).map { "- \($0)\n" }.joined() + "\n"
        }
        return String(text.dropLast())
    }
}
