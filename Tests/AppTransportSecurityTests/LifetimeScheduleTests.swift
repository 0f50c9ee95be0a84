// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import TLSModel
import Testing
import Vocabulary

/// How long authorities may issue, by the day of issue: a note with the date from which it bites, and never a refusal.
@Suite struct LifetimeScheduleTests {
    struct Case: Sendable {
        let issued: String
        let days: Double
        /// Words of the note; nil for none.
        let words: String?
    }

    static let cases = [
        Case(
            issued: "2026-03-14", days: 398,
            words: "successor cannot be: from 2027-03-15 on, public CAs may issue for at most 100"),
        Case(
            issued: "2026-03-15", days: 201,
            words: "on 2026-03-15 for 201 days; since 2026-03-15 public CAs may issue for at most 200"),
        Case(issued: "2026-03-15", days: 200, words: nil), Case(issued: "2026-11-01", days: 90, words: nil),
        Case(issued: "2026-11-01", days: 198, words: "from 2027-03-15 on, public CAs may issue for at most 100 days"),
        Case(issued: "2027-03-15", days: 101, words: "since 2027-03-15"),
        Case(issued: "2027-03-15", days: 100, words: nil),
        Case(issued: "2029-03-14", days: 48, words: "from 2029-03-15 on, public CAs may issue for at most 47 days"),
        Case(issued: "2029-03-15", days: 48, words: "on 2029-03-15 for 48 days; since 2029-03-15"),
        Case(issued: "2029-03-15", days: 47, words: nil), Case(issued: "2025-01-01", days: 398, words: nil),
    ]

    @Test(arguments: cases) func theDateIsNamed(_ one: Case) throws {
        var scene = Scene()
        scene.issued = Scene.date(one.issued)
        scene.days = one.days
        scene.timestamps = Scene.someTimestamp
        for (anchor, isNoted) in [(AnchorKind.system, one.words != nil), (.installed, false)] {
            scene.anchor = anchor
            let verdict = try scene.verdict(at: one.issued)
            let note = verdict.notes.first { $0.code == "ats.note.lifetime" }
            #expect((note != nil) == isNoted, "\(one) \(anchor)")
            if let note, let words = one.words {
                #expect(note.message.contains(words), "\(note.message)")
                #expect(note.citation != nil)
            }
            #expect(verdict.passed, "\(verdict.causes)")
        }
    }
}
