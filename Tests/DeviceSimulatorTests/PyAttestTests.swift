// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Foundation
import TestSupport
import Testing

/// An independent verifier, `pyattest` from PyPI, with the simulator's root in place of Apple's.
///
/// It accepts what the simulator makes and refuses the faults that it looks for. `differences` lists the others: it judges no
/// extensions, no COSE key, no flags, no surplus in the CBOR, and of assertions the signature alone.
@Suite struct PyAttestTests {
    static let python = """
        import asyncio, base64, json, sys
        from pyattest.configs.apple import AppleConfig
        from pyattest.attestation import Attestation
        from pyattest.assertion import Assertion
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey, SECP256R1
        out = {}
        job = json.load(open(sys.argv[1]))
        d = base64.b64decode
        for case in job["cases"]:
            config = AppleConfig(key_id=d(job["keyId"]), app_id=job["appId"], production=True, root_ca=job["root"].encode())
            try:
                if case["kind"] == "attestation":
                    a = Attestation(d(case["object"]), d(job["challenge"]), config)
                    r = a.verify()
                    if asyncio.iscoroutine(r): asyncio.run(r)
                else:
                    key = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), d(job["publicKey"]))
                    Assertion(d(case["object"]), d(job["hash"]), key, config).verify()
                out[case["name"]] = "accepted"
            except Exception as e:
                out[case["name"]] = type(e).__name__
        print(json.dumps(out))
        """

    /// Faults that our verifier refuses and pyattest 1.0.5 accepts.
    static let differences: Set<String> = [
        // It takes the first extension that matches, and anything that ends in the nonce.
        "duplicate-nonce", "malformed-nonce",
        // It reads neither the COSE key nor what follows it, nor the flags.
        "other-public-key", "no-credential-flag", "extension-flag-without-map", "truncated-extensions",
        "extensions-followed-by-junk", "extensions-are-text", "short-category", "text-category",
        // It takes any format, any surplus, and the last of two equal keys.
        "other-format", "trailing-byte", "duplicate-key",
        // It takes the root along, and a leaf that could sign others.
        "root-appended", "leaf-is-authority",
    ]
    /// Of assertions it judges the signature alone.
    static let assertionDifferences: Set<String> = [
        "counter-goes-back", "counter-is-zero", "other-app", "junk-after-data", "extensions-are-text", "trailing-byte",
    ]

    static let isThere = PythonPackages.has("pyattest")

    @Test(.enabled(if: isThere, "pyattest is not installed: pip install pyattest"))
    func agrees() throws {
        var random = SimulatorRandom(seed: 77)
        let authority = try SimulatedAuthority(random: &random)
        let key = P256.Signing.PrivateKey()
        let publicKey = Array(key.publicKey.x963Representation)
        let app = SimulatedApp("ABCDE12345.com.example.app")
        let challenge = Array("a challenge".utf8)
        let hash = Array(SHA256.hash(data: challenge))
        // It judges at the present time and takes no other.
        let now = Date()
        var cases: [[String: String]] = []
        for system in SimulatedSystem.catalog {
            let request = SimulatedAttestationRequest(
                publicKey: publicKey, app: app, system: system, clientDataHash: hash)
            func add(_ name: String, _ object: [UInt8], _ kind: String) {
                cases.append(["name": name, "kind": kind, "object": Data(object).base64EncodedString()])
            }
            let name = "\(system.platform) \(system.version)"
            add("attestation \(name)", try authority.attest(request, at: now).object, "attestation")
            func assertion(_ fault: AssertionFault?) throws -> [UInt8] {
                try SimulatedAssertion.make(
                    key: key, app: app, system: system, counter: 7, clientDataHash: hash, fault: fault)
            }
            add("assertion \(name)", try assertion(nil), "assertion")
            guard system == .iOS("27.0") else { continue }
            for fault in AttestationFault.allCases {
                add(
                    "fault " + fault.rawValue, try authority.attest(request, at: now, fault: fault).object,
                    "attestation")
            }
            for fault in AssertionFault.allCases {
                add("assertion fault " + fault.rawValue, try assertion(fault), "assertion")
            }
        }
        let job: [String: Any] = [
            "cases": cases, "keyId": Data(SHA256.hash(data: publicKey)).base64EncodedString(),
            "publicKey": Data(publicKey).base64EncodedString(), "appId": app.applicationId,
            "root": authority.attestationRootPEM, "challenge": Data(challenge).base64EncodedString(),
            "hash": Data(hash).base64EncodedString(),
        ]
        let folder = try TemporaryDirectory()
        try JSONSerialization.data(withJSONObject: job).write(to: URL(fileURLWithPath: folder.path("job.json")))
        let text = try PythonPackages.run(PyAttestTests.python, [folder.path("job.json")])
        let results = try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
        #expect(results.count == cases.count)
        for (name, result) in results where !name.contains("fault ") { #expect(result == "accepted", "\(name)") }
        for fault in AttestationFault.allCases {
            let accepts = fault.expectedCode == nil || PyAttestTests.differences.contains(fault.rawValue)
            let result = results["fault " + fault.rawValue]
            #expect((result == "accepted") == accepts, "\(fault.rawValue): \(result ?? "")")
        }
        for fault in AssertionFault.allCases {
            let accepts = fault.expectedCode == nil || PyAttestTests.assertionDifferences.contains(fault.rawValue)
            let result = results["assertion fault " + fault.rawValue]
            #expect((result == "accepted") == accepts, "\(fault.rawValue): \(result ?? "")")
        }
    }
}
