// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import sealward

/// The readers that the program has and no library, on damaged input: cuts and changes of each example. Nothing traps, and no secret is shown.
///
/// `SEALWARD_LONG=1` takes every cut and 500 changes of each; `SEALWARD_SEED` gives the changes another seed.
@Suite struct DamagedInputTests {
    private static let secret = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"

    private static let examples =
        DoctorCommandTests.examples.map { Array($0.2.utf8) }
        + [
            "NSURLErrorDomain Code=-1200 _kCFStreamErrorCodeKey=-9816", "tlsv1 alert 70", "com.firebase.appCheck 2",
            "com.apple.devicecheck.error 3", "POST /v1/attestationData 404", "AAGUID mismatch in the attestation",
            #"{"a": [{"challenge": "YQ==", "assertion": "omlz", "publicKey": 7}], "teamId": "A", "bundleId": "b"}"#,
            "password: a Bearer b -----BEGIN EC PRIVATE KEY-----\nMHcCAQEE https://u:p@a.example/",
        ].map { Array($0.utf8) }

    private func read(_ bytes: [UInt8]) {
        let input = Recogniser.Input(name: "-", head: bytes)
        _ = Recogniser.of(input)
        _ = ProofWords(bytes).code
        let text = String(decoding: bytes, as: UTF8.self)
        _ = ExplainedSubject(text)
        let request = ProofRequest(input)
        #expect(request.attested.count <= 4 && request.asserted.count <= 3)
        #expect(!SecretText.redacted("\(text) \(Self.secret) ", hidesUnnamed: false).contains(Self.secret))
    }

    @Test func cutsAndChanges() {
        var random = SplitMix(
            state: ProcessInfo.processInfo.environment["SEALWARD_SEED"].flatMap(UInt64.init) ?? 1)
        for (number, example) in Self.examples.enumerated() {
            for end in LongForm.share(of: Array(example.indices), one: 29, from: number) {
                read(Array(example[..<end]))
            }
            for _ in 0..<(LongForm.isAsked ? 500 : 1) { read(Self.changed(example, &random)) }
        }
    }

    /// One to five changes: a byte, a part that is missing or there twice, or the end of another example.
    private static func changed(_ example: [UInt8], _ random: inout SplitMix) -> [UInt8] {
        var bytes = example
        for _ in 0..<Int.random(in: 1...5, using: &random) where !bytes.isEmpty {
            let place = Int.random(in: bytes.indices, using: &random)
            let part = place..<min(bytes.count, place + Int.random(in: 1...64, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(part)
            case 2: bytes.insert(contentsOf: bytes[part], at: place)
            default: bytes.replaceSubrange(place..., with: examples.randomElement(using: &random)?.suffix(80) ?? [])
            }
        }
        return bytes
    }
}
