// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TrustStores

@Suite struct PromotionTextTests {
    @Test("texts that a database cannot keep are refused before any backend sees them")
    func texts() {
        #expect(PromotionSubject(user: "bob\0") == nil)
        #expect(PromotionSubject(user: String(repeating: "x", count: 1025)) == nil)
        let subject = PromotionSubject.unnamed
        for (promotion, app, transaction) in [("p\0", "a", "t"), ("p", "a\0", "t"), ("p", "a", "t\0")] {
            #expect(PromotionClaim(promotion: promotion, app: app, subject: subject, transactionId: transaction) == nil)
        }
        let long = String(repeating: "x", count: 513)
        #expect(PromotionClaim(promotion: "p", app: "a", subject: subject, transactionId: long) == nil)
        #expect(!StoreText.isUser("a\0b") && StoreText.isUser("é"))
        // Two names that look alike are two names.
        #expect(PromotionSubject(user: "e\u{301}") != PromotionSubject(user: "\u{E9}"))
    }
}
