// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Testing
import Vocabulary

@testable import AppTransportSecurity

/// What depends on the SDK that an app is linked on.
@Suite("linked SDK")
struct LinkedSDKTests {
    static let open = #"{"NSAllowsArbitraryLoads":true}"#

    @Test(
        "the network stack begins at TLS 1.2 if system and SDK are both 26 or later",
        arguments: [
            ("ios26", nil, TLSVersion.tls12), ("macos26", 26, .tls12), ("ios26.4", 27, .tls12),
            ("macos27", nil, .tls12),
            ("ios18", nil, .tls10), ("ios18", 26, .tls10), ("macos15", 27, .tls10), ("macos26", 25, .tls10),
            ("ios27", 9, .tls10), ("macos10.11", nil, .tls10), ("published", nil, .tls10), ("published", 26, .tls10),
        ] as [(String, Int?, TLSVersion)]
    )
    func floor(os: String, sdk: Int?, minimum: TLSVersion) throws {
        let open = try decide("https://h.example/", Self.open, os: os, sdk: sdk).requirements
        #expect(open.minimumTLS == nil && open.effectiveMinimum == minimum)
        let entry = #"{"NSExceptionDomains":{"h.example":{"NSExceptionMinimumTLSVersion":"TLSv1.1"}}}"#
        let excepted = try decide("https://h.example/", entry, os: os, sdk: sdk).requirements
        #expect(excepted.minimumTLS == .tls11 && excepted.effectiveMinimum == max(.tls11, minimum))
        #expect(try decide("https://h.example/", os: os, sdk: sdk).requirements.effectiveMinimum == .tls12)
    }

    @Test(
        "every release has the SDK of its year",
        arguments: [
            ("ios9", 9), ("ios12.2", 12), ("ios18", 18), ("ios26.4", 26), ("ios27", 27), ("macos10.11", 9),
            ("macos10.15", 13),
            ("macos11", 14), ("macos15", 18), ("macos26", 26), ("macos26.1", 26), ("published", nil),
        ] as [(String, Int?)]
    )
    func ownSDK(os: String, number: Int?) throws {
        #expect(try #require(OSProfile.named(os)).sdk?.number == number)
    }

    @Test(
        "what an Info.plist says",
        arguments: [
            (["DTSDKName": "iphoneos18.5"], 18), (["DTSDKName": "iphonesimulator17.0"], 17),
            (["DTSDKName": "macosx14.2"], 17),
            (["DTSDKName": "macosx10.15"], 13), (["DTSDKName": "macosx11.3"], 14), (["DTSDKName": "macosx26.1"], 26),
            (["DTSDKName": "watchos10.1"], 17), (["DTSDKName": "appletvos17.0"], 17), (["DTSDKName": "xros2.0"], 18),
            (["DTSDKName": "iphoneos26.0.internal"], 26), (["DTSDKName": "iphoneos99.0"], 27),
            (["DTPlatformVersion": "18.5", "DTPlatformName": "iphoneos"], 18), (["DTPlatformVersion": "26.2"], 26),
            (["DTPlatformVersion": "15.2", "DTPlatformName": "macosx"], 18),
            (["DTPlatformVersion": "15.2", "LSMinimumSystemVersion": "12.0"], 18),
            (["DTSDKName": "nonsense", "DTPlatformVersion": "17.1"], 17),
            // Nothing is said, or nothing that there is.
            ([:], nil), (["DTSDKName": ""], nil), (["DTSDKName": "iphoneos"], nil), (["DTSDKName": "iphoneos8.0"], 8),
            (["DTSDKName": "macosx10.10"], 8), (["DTSDKName": "macosx10.4u"], 2), (["DTSDKName": "macosx10.0"], 1),
            (["DTSDKName": "watchos1.0"], 8), (["DTSDKName": "iphoneos3.2"], 3),
            (["DTSDKName": "iphoneos0"], nil), (["DTSDKName": "iphoneos-1"], nil), (["DTSDKName": "26.0"], nil),
            (["DTPlatformVersion": "99999999999999999999"], nil), (["DTPlatformVersion": ""], nil),
        ] as [([String: String], Int?)]
    )
    func infoPlist(list: [String: String], number: Int?) {
        #expect(LinkedSDK(infoPlist: { list[$0] })?.number == number)
    }

    @Test(
        "the option's text",
        arguments: [
            ("9", true), ("18", true), ("26", true), ("27", true), ("8", true), ("0", false), ("28", false),
            ("", false),
            ("026", false),
            ("+26", false), ("26.0", false), ("\u{661}\u{662}", false),
        ]
    )
    func text(text: String, exists: Bool) { #expect((LinkedSDK(text) != nil) == exists) }

    @Test("App Transport Security is off in apps that are linked on an SDK before 9", arguments: ["ios12", "macos26"])
    func off(os: String) throws {
        let json = #"{"NSExceptionDomains":{"h.example":{"NSExceptionMinimumTLSVersion":"TLSv1.3"}}}"#
        let old = try decide("http://h.example/", json, os: os, sdk: 8)
        #expect(old.verdict == .allowed && !old.applies && old.rule.source == .notCovered)
        #expect(old.because.map(\.code) == ["ats.rule.no-transport-security"])
        #expect(old.because.first?.message.contains("linked on SDK 8") == true)
        #expect(try decide("http://h.example/", json, os: os, sdk: 9).verdict == .blocked)
        // What is offered to a server is the same, whether it is asked for with the reasons or without.
        let profile = try #require(OSProfile.named(os)).linked(on: try #require(LinkedSDK("8")))
        let url = try LoadURL("https://h.example/")
        let policy = ATSPolicy(dictionary: try dictionary(json), profile: profile)
        for requirements in [policy.requirements(for: url), policy.decide(url).requirements] {
            #expect(requirements.minimumTLS == nil && requirements.suitePolicy == .system)
            #expect(requirements.serverTrust == .default)
        }
    }

    @Test("addresses are judged like names in apps that are linked on 17 or later")
    func addresses() throws {
        let url = "http://203.0.113.7/"
        #expect(try decide(url, os: "ios18").verdict == .blocked)
        let old = try decide(url, os: "ios18", sdk: 16)
        #expect(old.verdict == .allowed && old.rule.source == .local)
        #expect(old.because.contains { $0.code == "ats.note.sdk-inferred" })
        let entry = #"{"NSExceptionDomains":{"203.0.113.0/24":{"NSExceptionMinimumTLSVersion":"TLSv1.3"}}}"#
        #expect(try decide("https://203.0.113.7/", entry, os: "ios18").requirements.minimumTLS == .tls13)
        #expect(try decide("https://203.0.113.7/", entry, os: "ios18", sdk: 16).requirements.minimumTLS != .tls13)
        #expect(try decide(url, os: "ios16", sdk: 18).verdict == .allowed)
    }

    @Test("no key is proposed for a version that the network stack does not speak")
    func remedies() throws {
        var scene = Scene()
        scene.version = .tls11
        for (sdk, count) in [(26, 0), (18, 1)] {
            let decision = try decide("https://api.example.com/", sdk: sdk)
            let verdict = try scene.verdict(sdk: sdk)
            #expect(verdict.causes.map(\.code) == ["ats.tls.version-too-low"])
            #expect(verdict.error == .secureConnectionFailed(-9836))
            let remedies = Remedy.forRefused(decision, scene.facts, at: Scene.date("2026-06-01"), logs: nil)
            #expect(remedies.count == count)
        }
        let accepted = try scene.verdict(Self.open)
        #expect(accepted.causes.first?.message.contains("tlsMinimumSupportedProtocolVersion") == true)
    }
}
