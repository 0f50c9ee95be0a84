// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import TestSupport
import Testing
import Vocabulary

/// An object of a real device or a published sample, as `../shared/vectors/README.md` describes it.
struct AppleVector: Decodable, CustomTestStringConvertible, Sendable {
    struct Assertion: Decodable {
        let assertion: String
        let clientDataHash: String
        let counter: UInt32
    }

    struct Dated: Decodable {
        let receipt: String
        let type: String
        let problems: [String]
        let fields: [String: Field]
    }

    struct Field: Decodable { let value: String }
    struct Check: Decodable { let problems: [String] }

    struct Verification: Decodable { let attestationReceipt: Check? }

    let name: String
    let appId: String
    let environment: String?
    let keyId: String
    let publicKeyX963: String
    let attestation: String?
    let clientDataHash: String?
    let validAt: String?
    let assertions: [Assertion]
    let receipts: [Dated]
    let verification: Verification

    var testDescription: String { name }

    var app: AppIdentity { get throws { try AppIdentity(appId) } }
    var keyIdentifier: KeyIdentifier { get throws { try #require(KeyIdentifier(base64: keyId)) } }
    var hash: ClientDataHash { get throws { try ClientDataHash(precomputed: bytes(clientDataHash)) } }
    var key: AttestationPublicKey { get throws { try AttestationPublicKey(x963Representation: bytes(publicKeyX963)) } }
    var instant: Date { get throws { try #require(validAt.flatMap(AppleVector.date)) } }
    var world: AttestationEnvironment {
        get throws { try #require(environment.flatMap(AttestationEnvironment.init(rawValue:))) }
    }

    func bytes(_ base64: String?) throws -> [UInt8] { Array(try #require(base64.flatMap { Data(base64Encoded: $0) })) }

    /// RFC 3339 with any number of digits of a second's fraction.
    static func date(_ text: String) -> Date? {
        let parts = text.dropLast().split(separator: ".")
        guard let whole = try? Date(String(parts[0]) + "Z", strategy: .iso8601) else { return nil }
        return whole.addingTimeInterval(parts.count > 1 ? Double("0." + parts[1]) ?? 0 : 0)
    }

    /// The folder of the objects that are not in this repository.
    static let folder = SharedVectors.appAttest

    /// Apple's published sample, which is in this repository, first; then the others where they are.
    static let all: [AppleVector] = {
        let own = BuiltProgram.repository.appending(path: "Tests/Vectors/appattest/apple-guide-2026-ios27.json")
        let others = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return ([own] + others.filter { $0.pathExtension == "json" && $0.lastPathComponent != own.lastPathComponent })
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .compactMap { try? JSONDecoder().decode(AppleVector.self, from: Data(contentsOf: $0)) }
    }()

    static let attestations = all.filter { $0.attestation != nil }
    static let withAssertions = all.filter { !$0.assertions.isEmpty }
    static let withReceipts = all.filter { !$0.receipts.isEmpty }
    /// Whether the objects outside this repository are there.
    static let areComplete = all.count > 1
}

/// The code of a refusal; nil for what is accepted.
extension AttestationVerdict {
    var code: String? { if case .refused(let refusal) = self { refusal.code.rawValue } else { nil } }
    var accepted: AttestedKey? { if case .accepted(let key) = self { key } else { nil } }
    var step: Int? { if case .refused(let refusal) = self { refusal.step } else { nil } }
}

extension AssertionVerdict {
    var code: String? { if case .refused(let refusal) = self { refusal.code.rawValue } else { nil } }
    var accepted: VerifiedAssertion? { if case .accepted(let assertion) = self { assertion } else { nil } }
}

extension ReceiptVerdict {
    var code: String? { refusal?.code.rawValue }
    var accepted: VerifiedReceipt? { if case .accepted(let receipt) = self { receipt } else { nil } }
}
