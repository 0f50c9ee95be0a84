// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
import Testing
import Vocabulary

@Suite struct PropertyListValueTests {
    @Test func everyKindOfValueIsRead() throws {
        let text = #"{"a":[1,-2.5,true,"x"],"b":{"NSAllowsArbitraryLoads":false}}"#
        let expected: PropertyListValue = .dictionary([
            "a": .array([.integer(1), .real(-2.5), .boolean(true), .string("x")]),
            "b": .dictionary(["NSAllowsArbitraryLoads": .boolean(false)]),
        ])
        #expect(try PropertyListValue(json: Array(text.utf8)) == expected)
        #expect(try PropertyListValue(json: Array("\u{FEFF}\(text)".utf8)) == expected)
    }

    /// What a message says about the place and the reason.
    @Test(arguments: [
        ("{", "line 1, column 2: expected the name of a member"), ("", "line 1, column 1: the document ends too early"),
        (#"{"a":1,"a":2}"#, "`a` is given twice"), (#"{"x":{"a":1,"\u0061":2}}"#, "x: `a` is given twice"),
        (#"{"x":[{"y":null}]}"#, "x[0].y: null is not allowed here; a value is expected"),
        ("{} {}", "line 1, column 4: something follows the document"),
        ("{\n  \"é\": 1,\r\n  \"ü\": x}", "line 3, column 8: not a JSON value"),
    ])
    func whatIsNoDictionaryIsRefusedWithItsPlace(_ text: String, _ message: String) {
        let error = #expect(throws: MalformedInput.self) { try PropertyListValue(json: Array(text.utf8)) }
        #expect(error?.description == message)
        #expect(error?.code == "malformed.json")
    }

    @Test func sixtyFourLevelsAreReadAndNotOneMore() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(throws: Never.self) { try PropertyListValue(json: nested(64)) }
        #expect(throws: MalformedInput.self) { try PropertyListValue(json: nested(65)) }
    }
}
