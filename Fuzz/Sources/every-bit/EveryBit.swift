// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation

/// Every single-bit flip of every valid attestation that is there, and every truncation, in a release build.
///
/// Outside the receipt each flip is refused, by a verifier that remembers the intermediate and by one that never saw it, with the same
/// code. Inside it the key stands and the receipt's own verdict is a refusal. Each truncation is malformed. The run ends with status 1
/// where anything else happens. Two objects are tried at a time.
///
///     Fuzz/.build/release/every-bit [FOLDER...]
@main
struct EveryBit {
    struct Vector: Decodable {
        struct Verification: Decodable {
            struct Receipt: Decodable { let problems: [String] }
            let attestationReceipt: Receipt?
        }

        let name: String
        let appId: String
        let environment: String?
        let keyId: String
        let attestation: String?
        let clientDataHash: String?
        let validAt: String?
        let verification: Verification?
    }

    struct Failed: Error, CustomStringConvertible { let description: String }

    static func main() async throws {
        var folders = CommandLine.arguments.dropFirst().filter { !$0.hasPrefix("--") && Double($0) == nil }
        if folders.isEmpty {
            folders = ["../Tests/Vectors/appattest", "Tests/Vectors/appattest"]
            folders += [ProcessInfo.processInfo.environment["SEALWARD_VECTORS"] ?? "../../shared/vectors/appattest"]
        }
        var seen: Set<String> = []
        var vectors: [Vector] = []
        for folder in folders {
            for name in ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() {
                guard name.hasSuffix(".json"), seen.insert(name).inserted,
                    let data = try? Data(contentsOf: URL(fileURLWithPath: folder).appending(path: name)),
                    let vector = try? JSONDecoder().decode(Vector.self, from: data), vector.attestation != nil
                else { continue }
                vectors.append(vector)
            }
        }
        guard !seen.isEmpty else { throw Failed(description: "no objects found; name a folder") }
        let failures = try await withThrowingTaskGroup(of: Int.self) { group in
            var rest = vectors[...]
            for vector in rest.prefix(2) { group.addTask { try await judge(vector) } }
            rest = rest.dropFirst(2)
            var failures = 0
            for try await count in group {
                failures += count
                if let vector = rest.popFirst() { group.addTask { try await judge(vector) } }
            }
            return failures
        }
        if failures > 0 { exit(1) }
    }

    private static func judge(_ vector: Vector) async throws -> Int {
        func bytes(_ base64: String?) throws -> [UInt8] {
            guard let data = base64.flatMap({ Data(base64Encoded: $0) }) else { throw Failed(description: vector.name) }
            return Array(data)
        }
        let object = try bytes(vector.attestation)
        let hash = try ClientDataHash(precomputed: bytes(vector.clientDataHash))
        guard let keyId = KeyIdentifier(base64: vector.keyId),
            let environment = vector.environment.flatMap(AttestationEnvironment.init(rawValue:)),
            let instant = vector.validAt.flatMap(date)
        else { throw Failed(description: vector.name) }
        let app = try AppIdentity(vector.appId)
        func fresh(receiptRoots: ReceiptRoots?) -> AttestationVerifier {
            AttestationVerifier(apps: [app], environments: [environment], roots: .apple, receiptRoots: receiptRoots)
        }
        let remembering = fresh(receiptRoots: .apple)
        func verdict(_ object: [UInt8], _ verifier: AttestationVerifier? = nil) async -> AttestationVerdict {
            await (verifier ?? remembering).verify(object, keyId: keyId, clientDataHash: hash, at: instant)
        }
        guard case .accepted(let key) = await verdict(object) else {
            print("\(vector.name): not accepted as it is")
            return 1
        }
        let receipt = range(of: key.receipt, in: object)
        let receiptIsGood = key.receiptVerdict?.refusal == nil
        var failures = 0
        var unremembered = 0
        func fail(_ sentence: String) {
            failures += 1
            if failures < 20 { print("\(vector.name): \(sentence)") }
        }
        for index in object.indices {
            for bit in 0..<8 {
                var changed = object
                changed[index] ^= 1 << UInt8(bit)
                switch await verdict(changed) {
                case .accepted(let key):
                    guard receipt.contains(index) else {
                        fail("bit \(bit) of byte \(index) changes nothing")
                        continue
                    }
                    if receiptIsGood, key.receiptVerdict?.refusal == nil {
                        fail("bit \(bit) of byte \(index) changes nothing in the receipt's verdict")
                    }
                case .refused(let refusal):
                    if receipt.contains(index) {
                        fail("byte \(index) of the receipt takes the key along: \(refusal)")
                        continue
                    }
                    unremembered += 1
                    guard case .refused(let other) = await verdict(changed, fresh(receiptRoots: nil)) else {
                        fail("bit \(bit) of byte \(index) changes nothing where nothing is remembered")
                        continue
                    }
                    if other != refusal { fail("bit \(bit) of byte \(index) has two verdicts: \(refusal), \(other)") }
                }
            }
            if case .refused(let refusal) = await verdict(Array(object[..<index])),
                refusal.code.rawValue.hasPrefix("malformed.")
            {
                continue
            }
            fail("\(index) bytes of it are not malformed")
        }
        print(
            "\(vector.name): \(object.count * 8) flips, \(unremembered) of them twice, \(object.count) truncations, \(failures) failures"
        )
        return failures
    }

    private static func range(of part: [UInt8], in whole: [UInt8]) -> Range<Int> {
        Data(whole).range(of: Data(part)) ?? 0..<0
    }

    /// RFC 3339 with any number of digits of a second's fraction.
    private static func date(_ text: String) -> Date? {
        let parts = text.dropLast().split(separator: ".")
        guard let first = parts.first, let whole = try? Date(String(first) + "Z", strategy: .iso8601) else {
            return nil
        }
        return whole.addingTimeInterval(parts.count > 1 ? Double("0." + parts[1]) ?? 0 : 0)
    }
}
