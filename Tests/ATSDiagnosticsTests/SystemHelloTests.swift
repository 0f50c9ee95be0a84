// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import PropertyLists
import TLSModel
import TLSProbe
import TestSupport
import Testing

@testable import ATSDiagnostics

/// The hello of each system beside what was captured from it.
@Suite struct SystemHelloTests {
    /// A hello without what differs from one connection to the next: GREASE is 0x0A0A, randoms and keys are left out.
    struct Structure: Equatable {
        var recordVersion = 0
        var clientVersion = 0
        var sessionLength = 0
        var suites: [Int] = []
        var extensions: [Int] = []
        var versions: [Int] = []
        var groups: [Int] = []
        var schemes: [Int] = []
        /// Group and length.
        var shares: [[Int]] = []
        /// The bodies that say the same in every connection, by number.
        var bodies: [Int: [UInt8]] = [:]
        var length = 0
        var serverName = ""
        var protocols: [String] = []

        init(_ bytes: [UInt8]) throws {
            var reader = Reader(bytes)
            length = bytes.count
            _ = try reader.number(1)
            recordVersion = try reader.number(2)
            var hello = Reader(try reader.vector(2))
            _ = try hello.number(1)
            var body = Reader(try hello.vector(3))
            clientVersion = try body.number(2)
            _ = try body.bytes(32)
            sessionLength = try body.vector(1).count
            suites = try Reader.numbers(try body.vector(2)).map(Self.plain)
            _ = try body.vector(1)
            var list = Reader(try body.vector(2))
            while !list.rest.isEmpty {
                let number = Self.plain(try list.number(2))
                let content = try list.vector(2)
                // A resumed session is none of the system's; with it the padding is shorter.
                if number == 0x0029 { continue }
                extensions.append(number)
                try take(number, content)
            }
        }

        private mutating func take(_ number: Int, _ content: [UInt8]) throws {
            var reader = Reader(content)
            switch number {
            case 0x0000: serverName = String(decoding: content.dropFirst(5), as: UTF8.self)
            case 0x000A: groups = try Reader.numbers(try reader.vector(2)).map(Self.plain)
            case 0x000D: schemes = try Reader.numbers(try reader.vector(2))
            case 0x0010:
                var names = Reader(try reader.vector(2))
                while !names.rest.isEmpty { protocols.append(String(decoding: try names.vector(1), as: UTF8.self)) }
            case 0x0015: break
            case 0x002B: versions = try Reader.numbers(try reader.vector(1)).map(Self.plain)
            case 0x0033:
                var entries = Reader(try reader.vector(2))
                while !entries.rest.isEmpty {
                    shares.append([Self.plain(try entries.number(2)), try entries.vector(2).count])
                }
            case 0x0A0A: bodies[bodies[0x0A0A] == nil ? 0x0A0A : 0x1A1A] = content
            default: bodies[number] = content
            }
        }

        private static func plain(_ number: Int) -> Int {
            number & 0x0F0F == 0x0A0A && number >> 8 == number & 255 ? 0x0A0A : number
        }
    }

    struct Reader {
        struct Short: Error {}

        var rest: ArraySlice<UInt8>

        init(_ bytes: [UInt8]) { rest = bytes[...] }

        mutating func bytes(_ count: Int) throws -> [UInt8] {
            guard rest.count >= count else { throw Short() }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }

        mutating func number(_ size: Int) throws -> Int { try bytes(size).reduce(0) { $0 << 8 | Int($1) } }
        mutating func vector(_ size: Int) throws -> [UInt8] { try bytes(try number(size)) }

        static func numbers(_ bytes: [UInt8]) throws -> [Int] {
            var reader = Reader(bytes)
            var all: [Int] = []
            while !reader.rest.isEmpty { all.append(try reader.number(2)) }
            return all
        }
    }

    /// The captures that say something about a profile, by their names in the file.
    static let captures = [
        ("Safari 9 iOS 9", "ios9"), ("Safari 9 OS X 10.11", "macos10.11"), ("Safari 10 iOS 10", "ios10"),
        ("Safari 10 OS X 10.12", "macos10.12"), ("Safari 12.1 (macOS 10.13.6)", "macos10.13"),
        ("Safari 12.1 (iOS 12.2)", "ios12.2"), ("Safari 13.0 (macOS 10.14.6)", "macos10.14"),
        ("Safari 15.4 (macOS 12.3.1)", "macos12"), ("Safari 18.4 (iOS 18.4)", "ios18"),
        ("Safari 18.4 (macOS 15.4/iOS 18.4)", "macos15"), ("Safari 26.4 (iOS+iPadOS 26.4)", "ios26.4"),
        ("Safari 26.4 (macOS/iOS/iPadOS 26.4)", "macos26.4"),
    ]

    static let file = SharedVectors.file("apple-hellos/hellos.json")

    /// The captures that say nothing about a profile, with the reason.
    static let others = [
        "before iOS 9 and OS X 10.11, which have no App Transport Security": [
            "Safari 5.1.9 OS X 10.6.8", "Safari 5 iOS 5.1.1", "Safari 6.0.4 OS X 10.8.4", "Safari 6 iOS 6.0.1",
            "Safari 7 iOS 7.1", "Safari 7 OS X 10.9", "Safari 8 iOS 8.0 Beta", "Safari 8 iOS 8.4",
            "Safari 8 OS X 10.10",
        ],
        "the suites of Apple's page in its order, with a record version that no capture has": ["Apple ATS 9 iOS 9"],
        "of other programs than those that load a URL": [
            "LibreSSL 2.8.3 (Apple)", "LibreSSL 3.3.6 (macOS)", "Apple Mail (16.0)",
        ],
    ]

    private struct List: Decodable {
        struct Hello: Decodable {
            let name: String
            let hello: String
        }
        let hellos: [Hello]
    }

    private static func list() throws -> [List.Hello] {
        try JSONDecoder().decode(List.self, from: Data(contentsOf: try #require(file))).hellos
    }

    @Test(
        "Each capture of the file is compared, or has a reason why not",
        .enabled(if: file != nil, "vectors/apple-hellos is needed"))
    func everyCaptureIsAccountedFor() throws {
        #expect(Set(try Self.list().map(\.name)) == Set(Self.captures.map(\.0) + Self.others.values.joined()))
    }

    static func captured(_ name: String) throws -> Structure {
        let text = try #require(try list().first { $0.name == name }).hello
        let digits = text.compactMap(\.hexDigitValue)
        return try Structure(stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    /// The hello of a system under a dictionary, as it goes out.
    static func sent(
        _ id: String, _ json: String, name: String, protocols: [String], sdk: Int? = nil
    ) throws -> (hello: Structure, length: Int) {
        let system = try #require(OSProfile.named(id))
        let profile = sdk.flatMap { LinkedSDK(number: $0) }.map(system.linked) ?? system
        let policy = ATSPolicy(
            dictionary: ATSDictionary(try PropertyListValue(json: Array(json.utf8))), profile: profile)
        var offer = HelloOffer(policy.decide(try LoadURL("https://\(name)/")).requirements).named(name)
        offer.applicationProtocols = protocols
        var handshake = ClientHandshake(offer: offer, secrets: .fresh())
        return (try Structure(handshake.start()), offer.length)
    }

    @Test(
        "Where ATS restricts nothing the hello is the captured one, to the byte in length",
        .enabled(if: file != nil, "vectors/apple-hellos is needed"), arguments: captures)
    func capturedHellos(_ name: String, _ id: String) throws {
        let captured = try Self.captured(name)
        let (sent, length) = try Self.sent(
            id, #"{"NSAllowsArbitraryLoads":true}"#, name: captured.serverName, protocols: captured.protocols)
        #expect(sent == captured)
        #expect(length == captured.length)
    }

    @Test("The dictionary takes suites and versions away, and changes no order", arguments: captures.map(\.1))
    func restricted(_ id: String) throws {
        let open = try Self.sent(id, #"{"NSAllowsArbitraryLoads":true}"#, name: "api.example.com", protocols: ["h2"])
            .hello
        let closed = try Self.sent(id, "{}", name: "api.example.com", protocols: ["h2"]).hello
        #expect(closed.suites == open.suites.filter(closed.suites.contains))
        #expect(closed.suites.count < open.suites.count)
        #expect(!closed.suites.contains(0x002F) && !closed.suites.contains(0x000A) && !closed.suites.contains(0x0004))
        #expect(closed.versions == open.versions.filter { $0 == 0x0A0A || $0 >= 0x0303 })
        #expect((closed.groups, closed.schemes.count) == (open.groups, open.schemes.count))
        #expect(closed.extensions.filter { $0 != 0x0015 } == open.extensions.filter { $0 != 0x0015 })
    }

    @Test("An app that is linked on 18 offers TLS 1.0 and 1.1 on 26 too, with the share of ML-KEM")
    func olderApp() throws {
        let allow = #"{"NSAllowsArbitraryLoads":true}"#
        let sent = try Self.sent("macos26", allow, name: "api.example.com", protocols: ["h2"], sdk: 18).hello
        #expect(sent.versions == [0x0A0A, 0x0304, 0x0303, 0x0302, 0x0301])
        #expect(sent.shares == [[0x0A0A, 1], [0x11EC, 1216], [0x001D, 32]])
    }

    @Test(
        "Before iOS 13 and macOS 10.15 the hello to an address names the address; a name is always sent",
        arguments: [("ios12", true), ("macos10.14", true), ("ios13", false), ("macos26", false)])
    func addressNames(_ id: String, _ isSent: Bool) throws {
        let profile = try #require(OSProfile.named(id))
        let policy = ATSPolicy(dictionary: ATSDictionary(), profile: profile)
        for (host, name) in [("192.0.2.7", isSent ? "192.0.2.7" : ""), ("api.example.com", "api.example.com")] {
            let url = try LoadURL("https://\(host)/")
            let offer = HelloOffer(policy.requirements(for: url)).named(host)
            var handshake = ClientHandshake(offer: offer, secrets: .fresh())
            #expect(try Structure(handshake.start()).serverName == name, "\(id) \(host)")
        }
    }

    @Test("Without its post-quantum group the hello fits into one TCP segment")
    func smaller() throws {
        let profile = try #require(OSProfile.named("macos26"))
        let policy = ATSPolicy(dictionary: ATSDictionary(), profile: profile)
        let offer = HelloOffer(policy.decide(try LoadURL("https://api.example.com/")).requirements)
        let smaller = try #require(offer.smaller)
        #expect(offer.named("api.example.com").length > 1460)
        #expect(smaller.named("api.example.com").length == 517)
        #expect(smaller.smaller == nil && smaller != offer)
        #expect((smaller.suites, smaller.groups) == (offer.suites, Array(offer.groups.dropFirst())))
    }

    @Test("Every system before 26 has no post-quantum group, and every one since has")
    func hybrids() {
        for profile in OSProfile.all where profile.id != "published" {
            let isNew = (profile.sdk?.number ?? 0) >= 26
            #expect(profile.groups.contains(.x25519MLKEM768) == isNew, "\(profile.id)")
            #expect(Set(profile.facts.hello.value.keyShareGroups).isSubset(of: profile.groups), "\(profile.id)")
            #expect(profile.tls13Suites.isEmpty != profile.facts.supportsTLS13.value, "\(profile.id)")
            let all = Set(profile.facts.unrestrictedSuites.value)
            #expect(
                all.isSuperset(of: profile.facts.forwardSecretSuites.value + profile.facts.rsaSuites.value),
                "\(profile.id)")
        }
    }
}
