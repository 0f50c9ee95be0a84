// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Testing
import Vocabulary

@testable import AppTransportSecurity

/// What TLS must be like for a host: `transformed_options`, and the suites of each era.
@Suite("Transport requirements")
struct RequirementsTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let entry: String
        let minimum: TLSVersion?
        let suites: TransportRequirements.SuitePolicy
        let trust: TransportRequirements.ServerTrust
        var testDescription: String { entry }
    }

    static let cases: [Case] = [
        Case(entry: "{}", minimum: .tls12, suites: .ats, trust: .ats),
        Case(entry: #"{"NSExceptionAllowsInsecureHTTPLoads":true}"#, minimum: .tls12, suites: .ats, trust: .default),
        Case(entry: #"{"NSExceptionRequiresForwardSecrecy":false}"#, minimum: .tls12, suites: .atsPlusRSA, trust: .ats),
        Case(entry: #"{"NSExceptionRequiresForwardSecrecy":"NO"}"#, minimum: .tls12, suites: .ats, trust: .ats),
        Case(
            entry: #"{"NSExceptionRequiresForwardSecrecy":false,"NSExceptionAllowsInsecureHTTPLoads":true}"#,
            minimum: .tls12, suites: .system, trust: .default),
        Case(entry: #"{"NSExceptionMinimumTLSVersion":"TLSv1.0"}"#, minimum: .tls10, suites: .ats, trust: .ats),
        Case(entry: #"{"NSExceptionMinimumTLSVersion":"TLSv1.1"}"#, minimum: .tls11, suites: .ats, trust: .ats),
        Case(entry: #"{"NSExceptionMinimumTLSVersion":"TLSv1.3"}"#, minimum: .tls13, suites: .ats, trust: .ats),
        Case(entry: #"{"NSExceptionMinimumTLSVersion":"1.0"}"#, minimum: .tls12, suites: .ats, trust: .ats),
        Case(entry: #"{"NSExceptionMinimumTLSVersion":"TLSV1.0"}"#, minimum: .tls12, suites: .ats, trust: .ats),
        Case(entry: #"{"NSExceptionMinimumTLSVersion":"TLSv1.00"}"#, minimum: .tls12, suites: .ats, trust: .ats),
        Case(entry: #"{"NSExceptionMinimumTLSVersion":"TLSv1.4"}"#, minimum: .tls12, suites: .ats, trust: .ats),
        Case(entry: #"{"NSExceptionMinimumTLSVersion":"SSLv3.0"}"#, minimum: .tls12, suites: .ats, trust: .ats),
        Case(entry: #"{"NSExceptionMinimumTLSVersion":1.1}"#, minimum: .tls12, suites: .ats, trust: .ats),
    ]

    @Test("an entry's effect", arguments: RequirementsTests.cases)
    func entry(_ one: Case) throws {
        let requirements = try decide("https://h.example/", #"{"NSExceptionDomains":{"h.example":\#(one.entry)}}"#)
            .requirements
        #expect(requirements.minimumTLS == one.minimum)
        #expect(requirements.suitePolicy == one.suites)
        #expect(requirements.serverTrust == one.trust)
        #expect(requirements.delegateMayAccept == (one.trust == .default))
    }

    @Test("without an entry and without need for TLS nothing is set")
    func untouched() throws {
        let requirements = try decide("https://h.example/", #"{"NSAllowsArbitraryLoads":true}"#).requirements
        #expect(requirements.minimumTLS == nil)
        #expect(requirements.effectiveMinimum == .tls12)
        #expect(
            try decide("https://h.example/", #"{"NSAllowsArbitraryLoads":true}"#, sdk: 18).requirements.effectiveMinimum
                == .tls10)
        #expect(requirements.suitePolicy == .system)
        #expect(requirements.serverTrust == .default)
    }

    @Test("the documents know the NIAP packages, and ask for key sizes in every certificate")
    func publishedKeys() throws {
        let hardened = try decide(
            "https://h.example/", #"{"NSRequiresNIAPTLSPackageVersion":"FCP_v2.1"}"#, os: "published")
        #expect(hardened.requirements.isHardened)
        let loose = #"{"NSExceptionDomains":{"h.example":{"NSExceptionRequiresForwardSecrecy":false}}}"#
        #expect(try decide("https://h.example/", loose, os: "published").requirements.judgesKeySize)
    }

    @Test("the published eleven and six, to the number")
    func published() throws {
        let strict = try decide("https://h.example/", os: "published").requirements.suites.filter {
            $0.keyExchange != .tls13
        }
        #expect(
            Set(strict.map(\.rawValue))
                == [0xC02C, 0xC02B, 0xC024, 0xC023, 0xC00A, 0xC009, 0xC030, 0xC02F, 0xC028, 0xC027, 0xC013])
        let json = #"{"NSExceptionDomains":{"h.example":{"NSExceptionRequiresForwardSecrecy":false}}}"#
        let loose = try decide("https://h.example/", json, os: "published").requirements.suites.filter {
            $0.keyExchange != .tls13
        }
        #expect(
            Set(loose.map(\.rawValue)).subtracting(strict.map(\.rawValue)) == [
                0x009D, 0x009C, 0x003D, 0x0035, 0x003C, 0x002F,
            ]
        )
    }

    @Test("the current list: ten with ChaCha20, and four with RSA key exchange")
    func current() throws {
        let strict = try decide("https://h.example/").requirements.suites.map(\.rawValue)
        #expect(strict.prefix(3) == [0x1302, 0x1303, 0x1301])
        #expect(
            Set(strict.dropFirst(3)) == [
                0xC02C, 0xC02B, 0xCCA9, 0xC00A, 0xC009, 0xC030, 0xC02F, 0xCCA8, 0xC014, 0xC013,
            ]
        )
        let json = #"{"NSExceptionDomains":{"h.example":{"NSExceptionRequiresForwardSecrecy":false}}}"#
        let loose = Set(try decide("https://h.example/", json).requirements.suites.map(\.rawValue))
        #expect(loose.subtracting(strict) == [0x009D, 0x009C, 0x0035, 0x002F])
    }

    @Test(
        "TLS 1.3 by release",
        arguments: [
            ("ios12", false), ("ios12.1", false), ("ios12.2", true), ("macos10.13", false), ("macos10.14", true),
        ]
    )
    func tls13(id: String, has: Bool) throws {
        let requirements = try decide("https://h.example/", os: id).requirements
        #expect((requirements.maximum == .tls13) == has)
        #expect(requirements.suites.contains(.aes128GCMSHA256) == has)
    }

    @Test("a minimum of TLS 1.3 is unknown to systems without it")
    func tls13Unknown() throws {
        let json = #"{"NSExceptionDomains":{"h.example":{"NSExceptionMinimumTLSVersion":"TLSv1.3"}}}"#
        let decision = try decide("https://h.example/", json, os: "ios11")
        #expect(decision.requirements.minimumTLS == .tls12)
        #expect(decision.because.contains { $0.code == "ats.note.tls13-unknown" })
    }

    @Test(
        "what is known of a minimum of TLS 1.3 is said before any load, and as a property of the system",
        arguments: [
            ("ios12", "ats.note.tls13-unknown", "the minimum stays TLSv1.2"),
            ("ios12.2", "ats.note.tls13-minimum", "no"),
            ("macos10.15", "ats.note.tls13-minimum", "no"), ("ios14", nil, "yes"), ("macos26", nil, "yes"),
        ] as [(String, Code?, String)]
    )
    func tls13Minimum(os: String, note: Code?, words: String) throws {
        let json = #"{"NSExceptionDomains":{"h.example":{"NSExceptionMinimumTLSVersion":"TLSv1.3"}}}"#
        let codes = try decide("https://h.example/", json, os: os).because.map(\.code)
        #expect(codes.filter { $0.rawValue.hasPrefix("ats.note.tls13") } == [note].compactMap(\.self))
        #expect(SystemProperty.tls13Minimum.fact(try OSProfile.asked(os)).words == words)
    }

    @Test("hardening: only from 26.4 on, only ECDHE with AES-GCM, and an entry can carve a host out")
    func hardening() throws {
        let json = #"""
            {"NSRequiresNIAPTLSPackageVersion":"FCP_v2.1",
             "NSExceptionDomains":{"old.example":{"NSExceptionRequiresNIAPTLSPackageVersion":"none"}}}
            """#
        #expect(try !decide("https://h.example/", json, os: "macos26").requirements.isHardened)
        let hardened = try decide("https://h.example/", json, os: "macos26.4").requirements
        #expect(hardened.isHardened)
        #expect(
            Set(hardened.suites.filter { $0.keyExchange != .tls13 }.map(\.rawValue)) == [
                0xC02C, 0xC02B, 0xC030, 0xC02F,
            ]
        )
        #expect(!hardened.signatureSchemes.contains(.rsaPKCS1SHA1))
        #expect(try !decide("https://old.example/", json, os: "macos26.4").requirements.isHardened)
        #expect(
            try decide("https://h.example/", #"{"NSRequiresNIAPTLSPackageVersion":"v9"}"#, os: "ios27").requirements
                .isHardened == false)
    }

    @Test(
        "the hellos of the sixteen configurations: ten, or four if the network stack begins at TLS 1.2",
        arguments: [(18, 10), (26, 4)])
    func distinctHellos(sdk: Int, count: Int) throws {
        var hellos: Set<String> = []
        for version in ["TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1.0"] {
            for rest in [
                "", #","NSExceptionRequiresForwardSecrecy":false"#,
                #","NSExceptionRequiresForwardSecrecy":false,"NSExceptionAllowsInsecureHTTPLoads":true"#,
            ] {
                let json =
                    #"{"NSExceptionDomains":{"h.example":{"NSExceptionMinimumTLSVersion":"\#(version)"\#(rest)}}}"#
                let requirements = try decide("https://h.example/", json, sdk: sdk).requirements
                hellos.insert("\(requirements.effectiveMinimum) \(requirements.suites.map(\.rawValue))")
            }
        }
        #expect(hellos.count == count)
    }

    @Test("every profile has a name, suites and a distinct id")
    func profiles() {
        #expect(Set(OSProfile.all.map(\.id)).count == OSProfile.all.count)
        for profile in OSProfile.all {
            #expect(!profile.facts.forwardSecretSuites.value.isEmpty && !profile.name.isEmpty)
            #expect(profile.facts.forwardSecretSuites.value.allSatisfy { $0.hasForwardSecrecy })
            #expect(profile.facts.rsaSuites.value.allSatisfy { $0.keyExchange == .rsa })
        }
    }

    @Test(
        "ids",
        arguments: [
            ("ios17.4", true), ("macos26.1", true), ("IOS18", true), ("ios8", false), ("ios19", false),
            ("macos10.10", false),
            ("macos10.16", false), ("macos16", false), ("", false), ("ios", false), ("ios-1", false),
            ("windows11", false), ("published", true),
        ]
    )
    func ids(id: String, exists: Bool) { #expect((OSProfile.named(id) != nil) == exists) }
}
