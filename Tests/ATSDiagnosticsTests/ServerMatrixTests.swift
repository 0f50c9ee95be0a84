// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@testable import ATSDiagnostics

/// Every kind of loopback server against what was written down for it.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"), .serialized)
struct ServerMatrixTests {
    private static func session(
        _ servers: LoopbackServers, os: String, sdk: LinkedSDK? = nil,
        change: (inout CheckSession.Configuration) -> Void = { _ in }
    ) throws -> CheckSession {
        var configuration = CheckSession.Configuration()
        let profile = try #require(OSProfile.named(os))
        configuration.profile = sdk.map(profile.linked) ?? profile
        configuration.installedRoots = [servers.authority]
        configuration.overrides = try servers.resolveEntries.map { try AddressOverride($0) }
        configuration.connectTimeout = .seconds(3)
        change(&configuration)
        return try CheckSession(configuration)
    }

    /// Kinds that say nothing to any hello, or nothing to a large one: each question to them takes the whole limit.
    static let waiting: Set = ["silent", "half-record", "large-hello-silent"]

    private static func reports(
        _ servers: LoopbackServers, _ kinds: [String], os: String, sdk: LinkedSDK? = nil,
        change: (inout CheckSession.Configuration) -> Void = { _ in }
    ) async throws -> [String: TargetReport] {
        var reports: [String: TargetReport] = [:]
        // Who never answers is late on any machine.
        for (isSilent, limit) in [(false, Duration.seconds(3)), (true, .milliseconds(300))] {
            let kinds = kinds.filter { ["silent", "half-record"].contains($0) == isSilent }
            guard !kinds.isEmpty else { continue }
            let session = try session(servers, os: os, sdk: sdk) {
                $0.connectTimeout = limit
                change(&$0)
            }
            let targets = try kinds.map { try CheckTarget(servers.server($0).url) }
            try await session.run(targets, concurrency: 24) { reports[kinds[$0]] = $1 }
        }
        return reports
    }

    static func letters(_ report: TargetReport) -> String {
        String(report.results.map { String($0.result.rawValue.prefix(1)) }.joined())
    }

    @Test(arguments: [("macos26", nil), ("macos26", LinkedSDK(number: 18)), ("published", nil), ("macos10.11", nil)])
    func everyServerYieldsWhatWasWrittenDown(_ os: String, _ sdk: LinkedSDK?) async throws {
        let servers = try #require(LoopbackServers.shared)
        let expected = ServerExpectations.all.compactMap { expectation in
            let row =
                switch os {
                case "macos26": sdk == nil ? expectation.macos26 : expectation.macos26LinkedOn18
                case "published": expectation.published
                default: expectation.macos1011
                }
            return row.map { (expectation, $0) }
        }
        let reports = try await Self.reports(servers, expected.map(\.0.kind), os: os, sdk: sdk)
        #expect(reports.count == expected.count)
        for (expectation, row) in expected {
            guard let report = reports[expectation.kind] else { continue }
            let codes = report.results.map { $0.because.first?.code.rawValue ?? "-" }
            #expect(
                Self.letters(report) == ServerExpectation.letters(row),
                "\(expectation.kind) on \(os) \(sdk?.description ?? ""): \(expectation.reason) \(codes.joined(separator: " "))"
            )
            if os == "macos26" {
                #expect(report.decisive?.because.first?.code.rawValue == expectation.cause, "\(expectation.kind)")
            }
        }
    }

    /// The adaptive plan must say what ten hellos say. In `make test` each server meets three systems: the first two here, and one of the others.
    @Test(arguments: [
        ("macos26", nil, nil), ("macos26", LinkedSDK(number: 18), nil), ("ios9", nil, 0), ("macos10.14", nil, 1),
        ("macos11", nil, 2), ("ios12", nil, 3), ("ios18", nil, 4),
    ])
    func adaptiveAndExhaustivePlansAgree(_ os: String, _ sdk: LinkedSDK?, _ fifth: Int?) async throws {
        let servers = try #require(LoopbackServers.shared)
        // A box that is silent about large hellos is one that resets them, with longer waits.
        let all = ServerExpectations.all.map(\.kind).filter { LongForm.isAsked || $0 != "large-hello-silent" }
        let kinds = fifth.map { LongForm.share(of: all, one: 5, from: $0) } ?? all
        let adaptive = try await Self.reports(servers, kinds, os: os, sdk: sdk) { $0.loadsHTTP = false }
        let exhaustive = try await Self.reports(servers, kinds, os: os, sdk: sdk) {
            $0.loadsHTTP = false
            $0.isExhaustive = true
        }
        for kind in kinds {
            guard let one = adaptive[kind], let other = exhaustive[kind] else { continue }
            #expect(Self.letters(one) == Self.letters(other), "\(kind)")
            func numbers(_ report: TargetReport) -> [String] {
                report.results.map { "\($0.error?.summary ?? "-") \($0.because.first?.code.rawValue ?? "-")" }
            }
            #expect(numbers(one) == numbers(other), "\(kind) on \(os)")
            #expect(one.smallestException == other.smallestException, "\(kind)")
            #expect(one.handshakes <= other.handshakes, "\(kind)")
        }
        guard kinds.count == all.count else { return }
        let hellos = adaptive.values.map(\.handshakes)
        let mean = Double(hellos.reduce(0, +)) / Double(max(1, hellos.count))
        #expect(mean <= 1.6, "mean hellos \(mean)")
    }

    /// Below a root of the system a connection without one timestamp fails, with any list of logs; where there are some, their logs decide.
    @Test(arguments: [
        ("modern", "ats.ct.missing"), ("tls12-only", "ats.ct.missing"), ("timestamps-embedded-empty", "ats.ct.missing"),
        ("timestamps-embedded-malformed", "ats.ct.missing"), ("timestamps-embedded", nil),
        ("timestamps-extension", nil), ("staple-timestamps", nil), ("timestamps-empty", "ats.tls.handshake-failed"),
        ("timestamps-malformed", "ats.tls.handshake-failed"),
    ])
    func timestampsBelowARootOfTheSystem(_ kind: String, _ cause: String?) async throws {
        let servers = try #require(LoopbackServers.shared)
        let target = try CheckTarget(servers.server(kind).url)
        for (os, asks) in [("ios18", true), ("macos26", true), ("ios9", false)] {
            for isExhaustive in [false, true] {
                let session = try Self.session(servers, os: os) {
                    $0.installedRoots = []
                    $0.systemRoots = servers.authority
                    $0.isExhaustive = isExhaustive
                }
                let report = await session.check(target)
                let expected = asks || cause != "ats.ct.missing" ? cause : nil
                #expect(report.decisive?.because.first?.code.rawValue == expected, "\(kind) on \(os)")
                let isNoted = report.notes.contains { $0.code == "ats.note.ct-not-judged" }
                #expect(isNoted == (asks && cause == nil), "\(kind) on \(os)")
            }
        }
    }

    /// What the search found must pass when it is the app's own dictionary.
    @Test func smallestExceptionsPassAsTheAppsDictionary() async throws {
        let servers = try #require(LoopbackServers.shared)
        let kinds = ServerExpectations.all.map(\.kind).filter { !Self.waiting.contains($0) }
        let sdk = LinkedSDK(number: 18)
        let reports = try await Self.reports(servers, kinds, os: "macos26", sdk: sdk)
        for (kind, report) in reports {
            guard case .dictionary(let exception) = report.smallestException else { continue }
            let session = try Self.session(servers, os: "macos26", sdk: sdk) { $0.appDictionary = exception }
            let again = await session.check(try CheckTarget(servers.server(kind).url))
            #expect(again.decisive?.result == .pass, "\(kind) with \(exception.propertyListValue.oldStyleDescription)")
        }
    }

    @Test func aDeadHostDelaysNobody() async throws {
        let servers = try #require(LoopbackServers.shared)
        let session = try Self.session(servers, os: "macos26")
        let kinds = ["silent"] + Array(repeating: "modern", count: 40)
        let targets = try kinds.map { try CheckTarget(servers.server($0).url) }
        var order: [Int] = []
        try await session.run(targets, concurrency: 4) { index, _ in order.append(index) }
        #expect(order.last == 0)
        #expect(order.count == 41)
    }

    @Test func loadsTellTheStatusAndNotesTellWhatWasFetched() async throws {
        let servers = try #require(LoopbackServers.shared)
        let session = try Self.session(servers, os: "macos26")
        let missing = await session.check(try CheckTarget(servers.server("status-404").url))
        #expect(missing.status == 404)
        let fetched = await session.check(try CheckTarget(servers.server("missing-intermediate-aia").url))
        #expect(fetched.facts?.chain.fetched.count == 1)
        #expect(fetched.notes.contains { $0.code == "ats.note.intermediate-fetched" })
        let without = try Self.session(servers, os: "macos26") { $0.fetchesIntermediates = false }
        let bare = await without.check(try CheckTarget(servers.server("missing-intermediate-aia").url))
        #expect(bare.decisive?.because.first?.code == "ats.trust.missing-intermediate")
    }
}
