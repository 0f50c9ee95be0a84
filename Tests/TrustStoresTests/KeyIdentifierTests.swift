// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Testing

@testable import TrustStores

@Suite struct KeyIdentifierTests {
    @Test("one key id has one spelling in each alphabet")
    func spellings() throws {
        let id = try #require(KeyIdentifier(bytes: [UInt8](repeating: 0xFB, count: 32)))
        #expect(id.base64URL.count == 43 && !id.base64URL.contains("+") && !id.base64URL.contains("/"))
        #expect(KeyIdentifier(base64URL: id.base64URL) == id)
        #expect(KeyIdentifier(strictBase64: id.base64) == id)
        #expect(id.logPrefix.count == 8)
    }

    @Test(
        "other spellings are no key ids",
        arguments: ["", "AAAA", String(repeating: "A", count: 44), String(repeating: "A", count: 42) + "B=", "A b"])
    func refused(_ text: String) {
        #expect(KeyIdentifier(strictBase64: text) == nil)
        #expect(KeyIdentifier(base64URL: text) == nil)
    }
}
