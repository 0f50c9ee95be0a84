// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TLSModel
import TestSupport
import Testing

@testable import TLSProbe

/// Names of certificates are what a hostile server chooses: they cost no more than other bytes, and show no more than a line.
@Suite(.serialized) struct CertificateTextTests {
    static let identity = HostileIdentity.shared

    static func anchors() throws -> TrustAnchors {
        try TrustAnchors(pem: Array(identity.rootPEM.utf8), kind: .installed, store: "test")
    }

    static func seconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = processorTime()
        try await body()
        return processorTime() - start
    }

    /// Of this thread's process, seconds.
    static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test("A certificate whose names are 120 kB of marks costs about as much as any other of its size", Measuring.only)
    func cost() async throws {
        let anchors = try Self.anchors()
        func build(_ text: String) async throws -> Double {
            let leaf = Self.identity.certificate(
                subject: DER.name(text), extensions: HostileIdentity.names(["a.example"]))
            let issuer = Self.identity.certificate(subject: DER.name("Hostile Root"), extensions: [])
            let alternative = Self.identity.certificate(
                subject: DER.name("x"),
                extensions: HostileIdentity.names([text]) + HostileIdentity.issuers(["http://" + text]))
            return try await Self.seconds {
                for chain in [[leaf, issuer], [alternative, issuer, leaf], [issuer, leaf, alternative]] {
                    _ = await ChainBuilder(anchors: anchors).build(presented: chain, at: Date())
                }
                _ = try TrustAnchors(pem: leaf, kind: .installed, store: "a name")
            }
        }
        let plain = try await build(String(repeating: "abcdefghij klmnopqrst", count: 5700))
        let marks = try await build("a" + TLSMisbehaviour.marks(120_000))
        let spaces = try await build(String(repeating: " ", count: 120_000))
        // Other tests of this process run beside it: the figures are theirs too.
        #expect(marks < max(1.5, plain * 6), "\(marks) s against \(plain) s")
        #expect(spaces < max(1.5, plain * 6), "\(spaces) s against \(plain) s")
        print("certificate text: plain \(plain) s, marks \(marks) s, spaces \(spaces) s")
    }

    @Test("What is shown of a name is cut, and says so", arguments: ["a", "\u{301}\u{316}", " ", ",", "\u{1}", "😀"])
    func cut(_ unit: String) throws {
        let text = String(repeating: unit, count: 50_000 / unit.utf8.count)
        let facts = try CertificateFacts(decoding: Self.identity.certificate(subject: DER.name(text), extensions: []))
        #expect(facts.subject.utf8.count <= 1024 + 3)
        #expect(facts.subject.utf8.starts(with: "CN=".utf8) && facts.subject.utf8.suffix(3).elementsEqual("...".utf8))
        #expect(facts.commonNames.first?.utf8.count == text.utf8.count)
        let short = try CertificateFacts(
            decoding: Self.identity.certificate(subject: DER.name("b\(unit)"), extensions: []))
        #expect(!short.subject.utf8.suffix(3).elementsEqual("...".utf8))
    }

    @Test("Addresses, unknown extensions and identifiers are bounded")
    func bounds() throws {
        let facts = try CertificateFacts(
            decoding: Self.identity.certificate(
                subject: DER.name("x"),
                extensions: HostileIdentity.issuers(
                    [
                        "http://a.example/1", "HTTP://A.example/2", "https://a/",
                        "http://" + String(repeating: "a", count: 3000),
                    ]
                        + (0..<500).map { "http://b.example/\($0)" }
                ) + (0..<500).flatMap { DER.item(DER.identifier(1, 2, 3, $0), critical: true, [5, 0]) }
            )
        )
        #expect(facts.issuerAddresses.prefix(3) == ["http://a.example/1", "HTTP://A.example/2", "http://b.example/0"])
        #expect(facts.issuerAddresses.count == 8)
        #expect(facts.unknownCriticalExtensions.count == 16)
        let long = DER.value(0x06, [UInt8](repeating: 0x2A, count: 129))
        #expect(throws: (any Error).self) { try DERReader.parse(long[...], "x").objectIdentifier("x") }
    }

    @Test("Names compare by RFC 5280: case, runs of spaces and the type of the string do not matter")
    func comparison() {
        func key(_ text: String, tag: UInt8 = 0x0C) -> EncodedKey {
            DistinguishedName.comparisonKey(
                DER.sequence(DER.set(DER.sequence(DER.identifier(2, 5, 4, 3), DER.value(tag, Array(text.utf8))))))
        }
        #expect(key("Example  Root ") == key("example root", tag: 0x13))
        #expect(key("Ä") == key("ä"))
        #expect(key("a") != key("b"))
        let long = String(repeating: "a", count: 2000)
        #expect(key(long) == key(long))
        #expect(key(long) != key(long.uppercased()))
    }

    @Test("An OCSP response cut at any byte, or with any byte changed, is a refusal or a response", arguments: [1])
    func staples(seed: UInt64) throws {
        let day = DER.value(0x18, Array("20260101000000Z".utf8))
        let hash = DER.octets([UInt8](repeating: 1, count: 20))
        let single = DER.sequence(
            DER.sequence(DER.sequence(DER.identifier(1, 3, 14, 3, 2, 26)), hash, hash, DER.value(2, [1, 2, 3])),
            DER.value(0xA1, day + DER.value(0xA0, DER.value(0x0A, [1]))), day, DER.value(0xA0, day),
            DER.value(
                0xA1,
                DER.sequence(DER.item(DER.identifier(1, 3, 6, 1, 4, 1, 11129, 2, 4, 5), DER.octets([0, 3, 0, 1, 9])))))
        let basic = DER.sequence(
            DER.sequence(DER.value(0xA2, hash), day, DER.sequence(single)),
            DER.sequence(DER.identifier(1, 2, 840, 10045, 4, 3, 2)), DER.bits([0x30, 6, 2, 1, 1, 2, 1, 1]),
            DER.value(0xA0, DER.sequence(Self.identity.leaf)))
        let response = DER.sequence(
            DER.value(0x0A, [0]),
            DER.value(0xA0, DER.sequence(DER.identifier(1, 3, 6, 1, 5, 5, 7, 48, 1, 1), DER.octets(basic))))
        let whole = try StapledResponse(decoding: response)
        #expect(whole.singles.count == 1 && whole.singles.first?.timestamps == [0, 3, 0, 1, 9])
        for length in response.indices {
            #expect(throws: (any Error).self, "cut at \(length)") {
                try StapledResponse(decoding: Array(response[..<length]))
            }
        }
        for index in response.indices {
            for value: UInt8 in [0, 0x30, 0x7F, 0x80, 0x84, 0xFF] {
                var changed = response
                changed[index] = value
                _ = try? StapledResponse(decoding: changed)
            }
        }
    }
}
