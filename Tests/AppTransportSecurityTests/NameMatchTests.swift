// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import TestSupport
import Testing

@testable import AppTransportSecurity

/// Names of certificates against hosts, by bytes.
@Suite struct NameMatchTests {
    static func matches(_ names: [String], _ host: String) -> Bool {
        let leaf = CertificateFacts(
            der: [], subject: "", issuer: "", subjectDER: [], issuerDER: [], serialNumber: "01",
            notBefore: .distantPast, notAfter: .distantFuture,
            publicKey: PublicKeyFacts(kind: .rsa(bits: 2048), sha256: [], der: []),
            signature: SignatureFacts(algorithm: "1.2.3", hash: .sha256),
            alternativeNames: AlternativeNames(dnsNames: names, addresses: [[127, 0, 0, 1]]))
        if case .matches = NameMatch.judge(leaf, host: host, mayUseCommonName: false) { return true }
        return false
    }

    @Test(
        arguments: [
            ("a.example", "a.example", true), ("A.EXAMPLE.", "a.example", true), ("a.example", "A.example.", true),
            ("*.b.example", "a.b.example", true), ("*.b.example", "b.example", false),
            ("*.b.example", "c.a.b.example", false),
            ("*.example", "a.example", false), ("*", "a", false), ("*.", "a.", false), ("", "a", false),
            ("*.b.example", ".b.example", false), ("a*.b.example", "ab.b.example", false),
            ("*.*.example", "a.b.example", false),
            ("a.example\u{301}", "a.example", false), ("a\u{316}.example", "a.example", false),
            ("127.0.0.1", "127.0.0.1", true),
            // The Kelvin sign is no k, and a soft hyphen is no nothing.
            ("\u{212A}.example", "k.example", false), ("a\u{AD}.example", "a.example", false),
            ("\u{301}*.b.example", "a.b.example", false),
        ]
    )
    func pairs(_ name: String, _ host: String, _ matches: Bool) {
        #expect(Self.matches([name], host) == matches)
    }

    @Test("Names of marks cost no more than other names, and are cut where they are shown")
    func cost() {
        let marks = String(repeating: "\u{301}\u{316}", count: 30_000)
        let start = ContinuousClock.now
        for _ in 0..<50 { #expect(!Self.matches([marks, "*." + marks, "a." + marks], "a.example")) }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(3))
    }
}

/// The log list that a browser publishes, cut and changed at every byte.
@Suite struct CTLogListTests {
    static let list = Array(
        """
        {"version":"3","operators":[{"name":"One","logs":[{"log_id":"AAAA","key":"x","state":{"usable":{"timestamp":"2026-01-01T00:00:00Z"}}},
        {"log_id":"AQID","state":{"rejected":{}}}],"tiled_logs":[{"log_id":"BBBB","state":{"qualified":{}}}]},{"name":"Two"}]}
        """.utf8
    )

    @Test func everyCutIsRefused() throws {
        #expect(try CTLogList(json: Self.list, verifier: AnySignature()).count == 3)
        for length in Self.list.indices {
            #expect(throws: (any Error).self, "cut at \(length)") {
                try CTLogList(json: Array(Self.list[..<length]), verifier: AnySignature())
            }
        }
    }

    @Test func anyByteMayBeAnyOther() {
        for index in Self.list.indices {
            for value: UInt8 in [0, 0x22, 0x2C, 0x5B, 0x5D, 0x7B, 0x7D, 0x80, 0xFF] {
                var changed = Self.list
                changed[index] = value
                _ = try? CTLogList(json: changed, verifier: AnySignature())
            }
        }
    }
}
