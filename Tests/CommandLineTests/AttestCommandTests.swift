// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Foundation
import TestSupport
import Testing

/// `sealward attest` and `sealward receipt` as programs see them: flags, JSON, codes, exit status.
@Suite struct AttestCommandTests {
    let folder: TemporaryDirectory
    let key = P256.Signing.PrivateKey()
    let app = SimulatedApp("ABCDE12345.com.example.app", bundleVersion: "42")
    let authority: SimulatedAuthority
    let attestation: SimulatedAttestation
    let now = Date(timeIntervalSince1970: 1_795_262_400)
    let challenge = "a challenge from the server"

    init() throws {
        folder = try TemporaryDirectory()
        var random = SimulatorRandom(seed: 21)
        authority = try SimulatedAuthority(random: &random)
        attestation = try authority.attest(
            SimulatedAttestationRequest(
                publicKey: Array(key.publicKey.x963Representation), app: app, system: .iOS("27.0"),
                clientDataHash: Array(SHA256.hash(data: Data(challenge.utf8)))), at: now)
        try write(attestation.object, "attestation")
        try write(attestation.receipt, "receipt")
        try write(
            Array(Data(attestation.object).base64EncodedString(options: .lineLength64Characters).utf8),
            "attestation.b64")
        try write(Array(authority.rootsPEM.utf8), "roots.pem")
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: folder.path(name)))
    }

    private var keyId: String { Data(SHA256.hash(data: key.publicKey.x963Representation)).base64EncodedString() }
    private var publicKey: String { Data(key.publicKey.x963Representation).base64EncodedString() }

    private func verify(_ file: String, changing changes: [String: String] = [:]) throws -> ProgramRun {
        var options = [
            "--app-id": app.applicationId, "--environment": "production", "--key-id": keyId, "--challenge": challenge,
            "--at": "2026-11-21T12:00:00Z", "--trust-root": folder.path("roots.pem"), "--format": "json",
        ]
        for (name, value) in changes { options[name] = value.isEmpty ? nil : value }
        return try ProgramRun(["attest", "verify", folder.path(file)] + options.flatMap { [$0, $1] })
    }

    @Test(arguments: ["attestation", "attestation.b64"])
    func anAttestationIsAccepted(_ file: String) throws {
        let result = try verify(file)
        #expect(result.status == 0, "\(result.errors)\(result.output)")
        #expect(result.string("schema") == "sealward.attestation/1")
        #expect(result.string("verdict") == "accepted")
        #expect(result.json["code"] is NSNull)
        #expect(result.string("keyId") == keyId)
        #expect(result.string("publicKey") == publicKey)
        #expect(result.string("environment") == "production")
        #expect(result.json["counter"] as? Int == 0)
        #expect(result.string("receipt") == Data(attestation.receipt).base64EncodedString())
        #expect((result.json["receiptVerdict"] as? [String: Any])?["verdict"] as? String == "accepted")
        #expect((result.json["extensions"] as? [String: Any])?["bundleVersion"] as? String == "42")
        #expect((result.json["extensions"] as? [String: Any])?["validationCategory"] as? Int == 4)
        #expect((result.json["leaf"] as? [String: Any])?["notBefore"] as? String == "2026-11-20T12:00:00Z")
        #expect((result.json["leaf"] as? [String: Any])?["osVersion"] as? String == "27.0")
    }

    @Test(
        arguments: [
            (["--challenge": "another"], 4, "attest.nonce.mismatch"),
            (["--app-id": "ABCDE12345.com.example.other"], 6, "attest.app-id.mismatch"),
            (["--environment": "development"], 8, "attest.environment.mismatch"),
            (["--key-id": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], 5, "attest.key-id.mismatch"),
            (["--at": "2026-12-21T12:00:00Z"], 1, "attest.chain.expired"),
            (["--at": "2026-11-01T12:00:00.5Z"], 1, "attest.chain.not-yet-valid"),
            (["--trust-root": ""], 1, "attest.chain.untrusted"),
            (["--validation-category": "2"], 12, "attest.policy.validation-category"),
            (["--bundle-version": "43"], 12, "attest.policy.bundle-version"),
        ] as [([String: String], Int, String)]
    )
    func anotherIsRefused(_ changes: [String: String], _ step: Int, _ code: String) throws {
        let result = try verify("attestation", changing: changes)
        #expect(result.status == 1)
        #expect(result.string("verdict") == "refused")
        #expect(result.string("code") == code)
        #expect(result.json["step"] as? Int == step)
        #expect(result.errors.isEmpty)
    }

    /// A part of an object, or a key, in place of the object.
    @Test func whatIsNoObjectIsNamed() throws {
        let hash = Array(SHA256.hash(data: Data(app.applicationId.utf8)))
        let data = hash + [0x40, 0, 0, 0, 0] + "appattest".utf8 + [UInt8](repeating: 0, count: 90)
        for (bytes, name) in [
            (Array(SHA256.hash(data: data)), "a key ID"), (Array(key.publicKey.x963Representation), "the public key"),
            (Array(data.prefix(37)), "the authenticator data of an assertion"),
            (data, "the authenticator data of an attestation"),
            (Array(try key.signature(for: data).derRepresentation), "a signature"),
        ] {
            for (form, text) in [("", bytes), ("base64 of ", Array(Data(bytes).base64EncodedString().utf8))] {
                try write(text, "part")
                let run = try verify("part")
                #expect(run.status == 1 && run.string("code") == "malformed.cbor", "\(run.output)\(run.errors)")
                #expect(run.output.contains("\"\(form)\(bytes.count) bytes: \(name)"), "\(run.output)")
            }
        }
        try write(Array(SHA256.hash(data: Data(data))), "part")
        let inspected = try ProgramRun(["receipt", "inspect", folder.path("part")])
        #expect(inspected.errors.contains("a key ID or another hash"), "\(inspected.errors)")
        // The signature of a token is as long as a hash.
        try write(Array("eyJhbGciOiJIUzI1NiJ9.e30.\(keyId.prefix(43))".utf8), "part")
        let token = try verify("part")
        #expect(token.string("code") == "malformed.base64" && !token.output.contains("a key ID"), "\(token.output)")
        for text in ["null", "undefined\n", "None"] {
            try write(Array(text.utf8), "part")
            #expect(try verify("part").output.contains("for no bytes at all"))
        }
    }

    @Test func malformedIsRefusedAndAbsentIsUndetermined() throws {
        try write(Array(attestation.object.dropLast()), "cut")
        let cut = try verify("cut")
        #expect(cut.string("code") == "malformed.cbor")
        // At which byte, and what is there.
        let message = try #require(cut.string("message"))
        #expect(message.hasPrefix("offset ") && message.contains("cut off; the byte there is 0x"), "\(message)")
        try write(Array("this is no base64!".utf8), "text")
        let text = try verify("text")
        #expect(text.status == 1)
        #expect(text.string("code") == "malformed.base64")
        let absent = try verify("absent")
        #expect(absent.status == 2)
        #expect(absent.output.isEmpty)
        #expect(absent.errors.contains("there is no such file"))
    }

    @Test(arguments: [
        ["--environment": "staging"], ["--key-id": "short"], ["--app-id": "nodot"], ["--at": "yesterday"],
        ["--challenge": ""], ["--client-data-hash": "AAAA"], ["--challenge-base64": "AAAA"],
    ])
    func badOptionsAreUsage(_ changes: [String: String]) throws {
        #expect(try verify("attestation", changing: changes).status == 64)
    }

    /// RFC 3339 as it is written, and no day that does not exist.
    @Test(
        arguments: [
            ("2026-11-21T12:00:00Z", 0), ("2026-11-21t12:00:00.25z", 0), ("2026-11-21T13:30:00+01:30", 0),
            ("2026-11-20T21:00:00.123456789-15:00", 0), ("2026-02-30T12:00:00Z", 64), ("2027-02-29T12:00:00Z", 64),
            ("2028-02-29T12:00:00Z", 1), ("2026-11-21T24:00:00Z", 64), ("2026-11-21T12:60:00Z", 64),
            ("2026-11-21T12:00:00", 64), ("2026-11-21", 64), ("2026-11-21 12:00:00Z", 64), ("1795262400", 64),
            ("12026-11-21T12:00:00Z", 64), ("2026-11-21T12:00:00+0130", 64), ("2026-11-21T12:00:00.Z", 64),
            ("2026-13-01T12:00:00Z", 64), ("2026-00-10T12:00:00Z", 64), ("-2026-11-21T12:00:00Z", 64),
        ] as [(String, Int32)]
    )
    func timesAreRFC3339(_ time: String, _ status: Int32) throws {
        #expect(try verify("attestation", changing: ["--at": time]).status == status)
    }

    /// The file is named, the place and the fix said.
    @Test(arguments: ["", "junk", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func aTrustRootThatIsNoneIsNamed(_ text: String) throws {
        try write(Array(text.utf8), "bad.pem")
        let result = try verify("attestation", changing: ["--trust-root": folder.path("bad.pem")])
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("bad.pem: a trust root"), "\(result.errors)")
    }

    @Test(
        arguments: [
            (nil, "6", 0, nil), (nil, "7", 1, "assert.counter.replayed"),
            (AssertionFault.singleHashing, "6", 1, "assert.signature.invalid"),
            (.otherApp, "6", 1, "assert.app-id.mismatch"),
        ] as [(AssertionFault?, String, Int32, String?)]
    )
    func assertions(_ fault: AssertionFault?, _ counter: String, _ status: Int32, _ code: String?) throws {
        let data = #"{"action":"buy"}"#
        let object = try SimulatedAssertion.make(
            key: key, app: app, system: .iOS("27.0"), counter: 7,
            clientDataHash: Array(SHA256.hash(data: Data(data.utf8))), fault: fault)
        try write(object, "assertion")
        let result = try ProgramRun([
            "attest", "verify-assertion", folder.path("assertion"), "--app-id", app.applicationId, "--public-key",
            publicKey, "--client-data", data, "--counter", counter, "--format", "json",
        ])
        #expect(result.status == status, "\(result.errors)")
        #expect(result.string("schema") == "sealward.assertion/1")
        #expect(result.string("code") == code)
        #expect(result.json["counter"] as? Int == 7)
        // The same of a request as apps send it, whose key stands before the object and begins as one too.
        let request: [(String, String)] = [
            ("publicKey", key.publicKey.derRepresentation.base64EncodedString()), ("appId", app.applicationId),
            ("clientData", Data(data.utf8).base64EncodedString()), ("counter", counter),
            ("assertion", Data(object).base64EncodedString()),
        ]
        let body = "{" + request.map { "\"\($0)\": \"\($1)\"" }.joined(separator: ", ") + "}"
        let doctor = try ProgramRun(["doctor", "--format", "json", "-"], input: body)
        let item = try #require((doctor.json["items"] as? [[String: Any]])?.first)
        #expect(item["what"] as? String == "assertion" && doctor.status == status, "\(doctor.output)")
        #expect((item["because"] as? [[String: Any]])?.first?["code"] as? String == code, "\(doctor.output)")
        #expect(status == 0 || (item["fix"] as? [String])?.isEmpty == false, "\(doctor.output)")
    }

    @Test func receipts() throws {
        let options = [
            "--app-id", app.applicationId, "--public-key", publicKey, "--at", "2026-11-21T12:05:00Z", "--trust-root",
            folder.path("roots.pem"), "--format", "json",
        ]
        let result = try ProgramRun(["receipt", "verify", folder.path("receipt")] + options)
        #expect(result.status == 0, "\(result.errors)\(result.output)")
        #expect(result.string("schema") == "sealward.receipt/1")
        #expect(result.string("type") == "ATTEST")
        #expect(result.string("appId") == app.applicationId)
        #expect(result.string("environment") == "production")
        #expect(result.string("creationTime") == "2026-11-21T12:00:00Z")
        #expect(result.string("expirationTime") == "2027-02-19T12:00:00Z")
        #expect((result.json["fields"] as? [String: Any])?["2"] as? String == app.applicationId)
        #expect(
            try ProgramRun(["receipt", "verify", folder.path("receipt"), "--max-age", "300"] + options)
                .status == 0)
        let old = try ProgramRun(["receipt", "verify", folder.path("receipt"), "--max-age", "299"] + options)
        #expect(old.status == 1)
        #expect(old.string("code") == "receipt.too-old")
    }

    /// One code is for every fault of Apple's side: the words say what came.
    @Test func aRefreshWithoutAnAnswerSaysSo() throws {
        try write(Array(key.pemRepresentation.utf8), "AuthKey.p8")
        let run = try ProgramRun([
            "receipt", "refresh", folder.path("receipt"), "--app-id", app.applicationId, "--team-id", "ABCDE12345",
            "--key-id", "KEY7890123", "--key-file", folder.path("AuthKey.p8"), "--base-url", "http://127.0.0.1:9",
        ])
        #expect(run.status == 2 && run.errors.contains("no answer came (receipt.refresh.unavailable)"), "\(run.errors)")
    }

    /// The key is good and the receipt is not: what that means is the caller's to say.
    @Test(
        arguments: [
            (nil, 0, "accepted", nil, "refused"), ("report", 0, "accepted", nil, "refused"),
            ("require", 1, "refused", "receipt.chain.untrusted", "refused"), ("ignore", 0, "accepted", nil, nil),
        ] as [(String?, Int32, String, String?, String?)]
    )
    func aRefusedReceiptCountsAsAsked(
        _ weight: String?, _ status: Int32, _ verdict: String, _ code: String?, _ receipt: String?
    ) throws {
        try write(Array(authority.attestationRootPEM.utf8), "attestation-root.pem")
        var changes = ["--trust-root": folder.path("attestation-root.pem")]
        changes["--receipt"] = weight
        let result = try verify("attestation", changing: changes)
        #expect(result.status == status, "\(result.errors)")
        #expect(result.string("verdict") == verdict)
        #expect(result.string("code") == code)
        let inside = result.json["receiptVerdict"] as? [String: Any]
        #expect(inside?["verdict"] as? String == receipt)
        // Both roots, in one form.
        for (member, root) in [("expected", "SIMULATED App Attestation Root CA"), ("found", "SIMULATED Root CA - G3")] {
            let values = inside?[member] as? [String: String]
            #expect(
                (values?["root"]?.hasPrefix("CN=\(root), O=") == true) == (receipt == "refused"), "\(values ?? [:])")
        }
        #expect(result.string("keyId") == keyId)
        // The steps are those of the attestation, and it passed them all.
        #expect(result.json["step"] is NSNull)
        changes["--format"] = "text"
        let text = try verify("attestation", changing: changes)
        #expect(text.status == status && text.output.hasPrefix(verdict), "\(text.output)")
    }

    @Test func aGoodReceiptIsEnoughForWhoRequiresIt() throws {
        #expect(try verify("attestation", changing: ["--receipt": "require"]).status == 0)
        #expect(try verify("attestation", changing: ["--receipt": "never"]).status == 64)
        // The key comes first, whatever the receipt counts for.
        let refused = try verify("attestation", changing: ["--receipt": "require", "--challenge": "another"])
        #expect(refused.string("code") == "attest.nonce.mismatch")
    }

    /// Every root counts, not the last one only.
    @Test(arguments: [true, false])
    func rootsMayStandInSeveralFiles(_ reversed: Bool) throws {
        try write(Array(authority.attestationRootPEM.utf8), "attestation-root.pem")
        try write(Array(authority.receiptRootPEM.utf8), "receipt-root.pem")
        let files = ["attestation-root.pem", "receipt-root.pem"].map(folder.path)
        let roots = (reversed ? files.reversed() : files).flatMap { ["--trust-root", $0] }
        let key = try ProgramRun(
            [
                "attest", "verify", folder.path("attestation"), "--app-id", app.applicationId, "--environment",
                "production", "--key-id", keyId, "--challenge", challenge, "--at", "2026-11-21T12:00:00Z", "--receipt",
                "require",
            ] + roots
        )
        #expect(key.status == 0, "\(key.output)")
        let receipt = try ProgramRun(
            [
                "receipt", "verify", folder.path("receipt"), "--app-id", app.applicationId, "--at",
                "2026-11-21T12:05:00Z",
            ]
                + roots
        )
        #expect(receipt.status == 0, "\(receipt.output)")
    }

    /// Between the limit of an object and that of the file the verdict is still a refusal.
    @Test func twoMegabytesAreTooLarge() throws {
        try write([UInt8](repeating: 0xA3, count: 2 << 20), "large")
        let result = try verify("large")
        #expect(result.status == 1)
        #expect(result.string("code") == "malformed.too-large")
    }

    @Test func theFaultsAreListed() throws {
        let result = try ProgramRun(["simulate", "faults", "--format", "json"])
        #expect(result.status == 0)
        func names(_ list: String) -> [String?] {
            (result.json[list] as? [[String: Any]] ?? []).map { $0["name"] as? String }
        }
        #expect(names("attestations") == AttestationFault.allCases.map(\.rawValue))
        #expect(names("assertions") == AssertionFault.allCases.map(\.rawValue))
        #expect(names("receipts") == ReceiptFault.allCases.map(\.rawValue))
    }

    @Test func inspecting() throws {
        let attestation = try ProgramRun([
            "attest", "inspect", folder.path("attestation"), "--format", "json",
        ])
        #expect(attestation.status == 0)
        #expect((attestation.json["x5c"] as? [Any])?.count == 2)
        let text = try ProgramRun(["attest", "inspect", folder.path("attestation.b64")])
        #expect(text.output.contains("SIMULATED App Attestation CA 1"))
        let receipt = try ProgramRun(["receipt", "inspect", folder.path("receipt")])
        #expect(receipt.output.contains("app id") && receipt.output.contains(app.applicationId))
        #expect(try ProgramRun(["receipt", "inspect", folder.path("attestation")]).status == 2)
    }
}
