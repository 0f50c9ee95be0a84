// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import BenchReport
import Crypto
import DeviceSimulator
import Foundation

/// How much of an App Attest verification is the signature itself: each verifier beside the bare swift-crypto operations on the same
/// keys and signatures, in the same run, on one core. A ratio of 1 would be a verifier that costs nothing beside its signatures.
///
///     swift run -c release --package-path Benchmarks attest-bench [--rounds 40] [--export FOLDER]
///
/// It ends with status 1 where a ratio is under its bound. `--export` writes the objects for other programs to measure.
@main
struct AttestBench {
    static let bounds = ["assertion": 0.9, "attestation": 0.85, "receipt": 0.75]
    static let instant = Date(timeIntervalSince1970: 1_795_262_400)
    static let app = SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "42")

    static func main() async throws {
        let arguments = BenchArguments()
        let rounds = arguments.number("--rounds") ?? 40
        var random = SimulatorRandom(seed: 1)
        let authority = try SimulatedAuthority(random: &random)
        if let folder = arguments["--export"] {
            let fresh = try (1...25).map { try Material(authority, app: app, seed: $0, at: Date()) }
            return try export(fresh, authority, to: folder)
        }
        let materials = try (1...25).map { try Material(authority, app: app, seed: $0, at: instant) }

        let identity = try AppIdentity(app.applicationId)
        let assertions = AssertionVerifier(app: identity)
        let attestations = AttestationVerifier(
            apps: [identity],
            environments: [.production],
            roots: try AttestationRoots(pem: authority.attestationRootPEM),
            receiptRoots: nil
        )
        let receipts = ReceiptVerifier(roots: try ReceiptRoots(pem: authority.receiptRootPEM))

        var results: [(String, Result)] = []
        results.append(
            (
                "assertion",
                try await measure(rounds, materials) { material in
                    let verdict = assertions.verify(
                        material.assertion,
                        publicKey: try AttestationPublicKey(x963Representation: material.publicKey),
                        clientDataHash: material.clientDataHash,
                        previousCounter: 6
                    )
                    guard case .accepted = verdict else { throw Refused(description: "\(verdict)") }
                } reference: {
                    try p256($0.assertionSignature)
                }
            )
        )
        results.append(
            (
                "attestation",
                try await measure(rounds, materials) { material in
                    let verdict = await attestations.verify(
                        material.attestation,
                        keyId: material.keyId,
                        clientDataHash: material.clientDataHash,
                        at: instant
                    )
                    guard case .accepted = verdict else { throw Refused(description: "\(verdict)") }
                } reference: {
                    try p384($0.leafSignature)
                }
            )
        )
        let expected = try materials.map {
            ReceiptExpectations(app: identity, publicKey: try AttestationPublicKey(x963Representation: $0.publicKey))
        }
        let pairs = Dictionary(uniqueKeysWithValues: zip(materials.map(\.publicKey), expected))
        results.append(
            (
                "receipt",
                try await measure(rounds, materials) { material in
                    guard let expectations = pairs[material.publicKey] else { throw Material.Unreadable() }
                    let verdict = await receipts.verify(material.receipt, expectations, at: instant)
                    guard case .accepted = verdict else { throw Refused(description: "\(verdict)") }
                } reference: {
                    for signature in $0.receiptSignatures { try p256(signature) }
                }
            )
        )
        var isGood = true
        for (name, result) in results {
            let bound = bounds[name] ?? 0
            print(
                String(
                    format: "%@ %8.1f us  reference %8.1f us",
                    name.padding(toLength: 12, withPad: " ", startingAt: 0),
                    result.subject * 1e6,
                    result.reference * 1e6
                )
            )
            isGood = figure("\(name) against the bare operations", result.ratio, .atLeast(bound)) && isGood
        }
        if !isGood { exit(1) }
    }

    struct Refused: Error, CustomStringConvertible { let description: String }

    struct Result {
        /// Seconds for each operation: the median of the rounds.
        let subject: Double
        let reference: Double
        var ratio: Double { reference / subject }
    }

    /// Both in turns, so that what slows the machine down slows both.
    private static func measure(
        _ rounds: Int,
        _ materials: [Material],
        subject: @Sendable (Material) async throws -> Void,
        reference: @Sendable (Material) throws -> Void
    ) async throws -> Result {
        let clock = ContinuousClock()
        var (subjects, references): ([Double], [Double]) = ([], [])
        for round in 0..<(rounds + 3) {
            var start = clock.now
            for material in materials { try reference(material) }
            let bare = clock.now - start
            start = clock.now
            for material in materials { try await subject(material) }
            let whole = clock.now - start
            // The first rounds warm up.
            if round >= 3 {
                references.append(bare / .seconds(1) / Double(materials.count))
                subjects.append(whole / .seconds(1) / Double(materials.count))
            }
        }
        return Result(subject: subjects.sorted()[rounds / 2], reference: references.sorted()[rounds / 2])
    }

    private static func p256(_ item: Material.Signature) throws {
        let key = try P256.Signing.PublicKey(x963Representation: item.key)
        let signature = try P256.Signing.ECDSASignature(derRepresentation: item.signature)
        guard key.isValidSignature(signature, for: item.message) else { throw Refused(description: "reference") }
    }

    /// The leaf is signed with SHA-256 by a P-384 key.
    private static func p384(_ item: Material.Signature) throws {
        let key = try P384.Signing.PublicKey(x963Representation: item.key)
        let signature = try P384.Signing.ECDSASignature(derRepresentation: item.signature)
        guard key.isValidSignature(signature, for: SHA256.hash(data: item.message)) else {
            throw Refused(description: "reference")
        }
    }

    private static func export(_ materials: [Material], _ authority: SimulatedAuthority, to folder: String) throws {
        let items = materials.map { material in
            [
                "attestation": Data(material.attestation).base64EncodedString(),
                "assertion": Data(material.assertion).base64EncodedString(),
                "publicKey": Data(material.publicKey).base64EncodedString(), "keyId": material.keyId.base64,
                "challenge": Data(material.challenge).base64EncodedString(),
                "clientDataHash": Data(material.clientDataHash.bytes).base64EncodedString(),
            ]
        }
        let document: [String: Any] = [
            "root": authority.attestationRootPEM, "appId": app.applicationId, "items": items,
        ]
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try JSONSerialization.data(withJSONObject: document)
            .write(to: URL(fileURLWithPath: folder).appending(path: "objects.json"))
    }
}
