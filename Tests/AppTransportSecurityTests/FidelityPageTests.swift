// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Vocabulary

@testable import AppTransportSecurity

/// `docs/fidelity.md`: how everything in the profiles is known.
@Suite("fidelity")
struct FidelityPageTests {
    @Test func thePageIsCurrent() throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let page = root.appendingPathComponent("docs/fidelity.md")
        #expect(try String(contentsOf: page, encoding: .utf8) == FidelityPage.markdown(), "run: make docs")
    }

    /// Each cell is named on the page, and no other load claims to have been measured.
    @Test func everyCellIsOnThePage() {
        let loads = Measurement.all.filter { !$0.id.hasPrefix("hello ") }
        #expect(Set(loads.map(\.id)) == Set(MeasuredCellTests.settings.keys))
        let page = FidelityPage.markdown()
        for cell in loads { #expect(page.contains(cell.id), "\(cell.id)") }
        for measurement in Measurement.all {
            for system in measurement.systems { #expect(OSProfile.all.contains { $0.id == system }, "\(system)") }
        }
    }

    @Test(
        arguments: [
            ("macos26", SystemProperty.stackMinimum, [Basis.appleText, .measured]),
            ("macos26", .stackMinimumOfOlderApps, [.inferred]), ("ios27", .localHostsOfOlderApps, [.inferred]),
            ("macos26.4", .stackMinimum, [.appleText, .captured]),
            ("macos11", .transparencyKey, [.unknown, .measured]),
            ("ios14", .transparencyKey, [.unknown]), ("macos26", .forwardSecretSuites, [.appleText, .measured]),
            ("macos13", .forwardSecretSuites, [.inferred]), ("macos11", .tls13Minimum, [.measured]),
            ("ios27", .hardening, [.appleText]), ("ios27", .ownProcesses, [.appleText, .measured]),
            ("published", .hardening, [.appleText]),
            ("published", .unrestrictedSuites, [.inferred]), ("published", .keySizeWithoutForwardSecrecy, [.appleText]),
        ]
    )
    func bases(_ os: String, _ property: SystemProperty, _ bases: [Basis]) throws {
        let fact = FidelityPage.Fact(try #require(OSProfile.named(os)), property)
        #expect(fact.bases == bases, "\(fact.sources)")
    }

    /// What decides about certificates is named, for each kind of root.
    @Test(
        arguments: [
            (
                "macos26",
                ["398 days (roots of the system, issued since 2020-09-01)", "serverAuth (roots of the system)"]
            ),
            ("macos26", ["825 days (installed roots and anchors of the app, issued since 2019-07-01)"]),
            (
                "published",
                ["serverAuth (roots of the system and installed roots and anchors of the app, issued since 2019-07-01)"]
            ),
            ("ios12", []),
        ]
    )
    func certificates(_ os: String, _ words: [String]) throws {
        let fact = FidelityPage.Fact(try #require(OSProfile.named(os)), .transportSecurityRules)
        for words in words { #expect(fact.words.contains(words), "\(fact.words)") }
        #expect(fact.words.contains("days") == !words.isEmpty)
    }

    /// What public records show and holds on every system has its rows too.
    @Test(
        arguments: [
            ("ios26", SystemProperty.cutHandshake, "-1200, stream code -9816"),
            ("ios26", .clientCertificateRequest, "-1206"), ("macos26", .timestampList, "ends"),
            ("ios26", .topLevelWildcard, "one report"), ("ios26", .installedRoots, "switched on"),
            ("ios9", .installedRoots, "as soon as"), ("macos26", .installedRoots, "keychain"),
            ("ios12", .addressNames, "sent"), ("ios26", .localHosts, "not 100.64.0.0/10"),
            ("macos26", .plainRules, "any number of days for a leaf that the user trusts itself"),
        ] as [(String, SystemProperty, String)]
    )
    func records(_ os: String, _ property: SystemProperty, _ words: String) throws {
        let fact = FidelityPage.Fact(try #require(OSProfile.named(os)), property)
        #expect(fact.words.contains(words) && fact.sources.contains { !$0.isEmpty }, "\(fact.words)")
    }

    /// No property rests on what is unknown but those whose verdicts name both sources.
    @Test func unknownIsRare() {
        for system in OSProfile.all {
            for fact in FidelityPage.facts(system) where fact.bases.contains(.unknown) {
                #expect([.transparencyKey, .legacyKeys].contains(fact.property), "\(system.id)")
            }
        }
    }
}
