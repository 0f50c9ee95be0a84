// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Foundation
import TestSupport
import Testing

@testable import sealward

/// Every form in which people have a proof, a key or a hash, at every place of the command line that takes one.
@Suite struct PastedFormsTests {
    private static let folder = try? TemporaryDirectory()
    private static let app = SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "42")
    private static let key = P256.Signing.PrivateKey()
    private static let challenge = Array("a challenge from the server".utf8)
    private static let hash = Array(SHA256.hash(data: Data(challenge)))
    private static let keyId = Array(SHA256.hash(data: key.publicKey.x963Representation))
    private static let now = Date(timeIntervalSince1970: 1_795_262_400)

    private struct Objects {
        let attestation: [UInt8]
        let receipt: [UInt8]
        let assertion: [UInt8]
        let roots: String
    }

    private static let objects: Objects? = {
        var random = SimulatorRandom(seed: 22)
        guard let authority = try? SimulatedAuthority(random: &random),
            let made = try? authority.attest(
                SimulatedAttestationRequest(
                    publicKey: Array(key.publicKey.x963Representation), app: app, system: .iOS("27.0"),
                    clientDataHash: hash), at: now),
            let assertion = try? SimulatedAssertion.make(
                key: key, app: app, system: .iOS("27.0"), counter: 1, clientDataHash: hash),
            let roots = folder?.path("roots.pem"),
            (try? authority.rootsPEM.write(toFile: roots, atomically: true, encoding: .utf8)) != nil
        else { return nil }
        return Objects(attestation: made.object, receipt: made.receipt, assertion: assertion, roots: roots)
    }()

    private static func base64(_ bytes: some Sequence<UInt8>) -> String { Data(Array(bytes)).base64EncodedString() }

    /// A place that takes bytes: its words, in which `VALUE` stands for the text and `FILE` for a file with it.
    struct Place: Sendable, CustomStringConvertible {
        let bytes: [UInt8]
        let words: [String]
        var isHex = true
        /// What the answer must contain.
        let says: String
        var status: Int32 = 0
        var description: String { words.joined(separator: " ") }
    }

    private static let places: [Place] = {
        guard let objects else { return [] }
        let judged = ["--app-id", app.applicationId]
        let under = ["--at", "2026-11-21T12:00:00Z", "--trust-root", objects.roots]
        let (attestation, assertion) = (folder?.path("attestation") ?? "", folder?.path("assertion") ?? "")
        try? Data(objects.attestation).write(to: URL(fileURLWithPath: attestation))
        try? Data(objects.assertion).write(to: URL(fileURLWithPath: assertion))
        let receipt = folder?.path("receipt") ?? ""
        try? Data(objects.receipt).write(to: URL(fileURLWithPath: receipt))
        func verify(_ file: String, keyId: String = base64(Self.keyId), _ hashed: [String]) -> [String] {
            ["attest", "verify", file, "--environment", "production", "--key-id", keyId] + hashed + judged + under
        }
        func assert(_ file: String, key: String, _ hashed: [String]) -> [String] {
            ["attest", "verify-assertion", file, "--public-key", key, "--counter", "0"] + hashed + judged
        }
        let point = Array(Self.key.publicKey.x963Representation)
        let spki = Array(Self.key.publicKey.derRepresentation)
        let given = ["--client-data-hash", base64(hash)]
        return [
            Place(bytes: objects.attestation, words: verify("FILE", given), says: "accepted"),
            Place(bytes: keyId, words: verify(attestation, keyId: "VALUE", given), says: "accepted"),
            Place(
                bytes: challenge, words: verify(attestation, ["--challenge-base64", "VALUE"]), isHex: false,
                says: "accepted"),
            Place(bytes: hash, words: verify(attestation, ["--client-data-hash", "VALUE"]), says: "accepted"),
            Place(bytes: objects.attestation, words: ["attest", "inspect", "FILE"], says: "apple-appattest"),
            Place(bytes: objects.assertion, words: assert("FILE", key: base64(point), given), says: "accepted"),
            Place(bytes: point, words: assert(assertion, key: "VALUE", given), says: "accepted"),
            Place(bytes: spki, words: assert(assertion, key: "VALUE", given), says: "accepted"),
            Place(
                bytes: hash, words: assert(assertion, key: base64(point), ["--client-data-hash", "VALUE"]),
                says: "accepted"),
            Place(bytes: objects.receipt, words: ["receipt", "verify", "FILE"] + judged + under, says: "accepted"),
            Place(
                bytes: point, words: ["receipt", "verify", receipt, "--public-key", "VALUE"] + judged + under,
                says: "accepted"),
            Place(bytes: objects.receipt, words: ["receipt", "inspect", "FILE"], says: "ATTEST"),
            Place(bytes: objects.assertion, words: ["doctor", "FILE"], says: "an assertion", status: 2),
            Place(bytes: keyId, words: ["doctor", "FILE"], says: "32 bytes", status: 2),
            Place(bytes: point, words: ["doctor", "FILE"], says: "a public key", status: 2),
        ]
    }()

    @Test func thePlacesAreThere() { #expect(Self.places.count == 15) }

    @Test(arguments: places) func everyFormIsRead(_ place: Place) async throws {
        let folder = try TemporaryDirectory()
        for (name, text) in PastedForms.all(of: place.bytes, isHex: place.isHex) {
            // Of texts that are base64 of any bytes the first reading stands.
            if ["base64 twice", "PEM"].contains(name), place.words.contains("--challenge-base64") { continue }
            // A JSON document or a list of which nobody knows what its value is for is called that.
            if place.words.first == "doctor", place.bytes == Self.keyId,
                ["{", "[", "\"", "<"].contains(text.first.map { String(UnicodeScalar($0)) })
            {
                continue
            }
            // What doctor looks at as one line is short.
            if place.words.first == "doctor", text.count > 300 || text.contains(0x0A) || text.starts(with: [0xFF]) {
                continue
            }
            let file = folder.path("pasted")
            try Data(text).write(to: URL(fileURLWithPath: file))
            guard !place.words.contains("VALUE") || !text.starts(with: [0xFF]) else { continue }
            let value = String(decoding: text, as: UTF8.self)
            let words = place.words.map { $0 == "VALUE" ? value : $0 == "FILE" ? file : $0 }
            let result = await CommandCapture.run(ExplainCodeCommand.allowingMinus(words))
            let said = String(decoding: result.output, as: UTF8.self)
            #expect(
                result.status == place.status && said.contains(place.says),
                "\(name): \(said.prefix(200)) \(result.notes.joined())")
        }
    }
}
