// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TestSupport
import Testing

@testable import DeviceSimulator

/// What the simulator makes is right for a program that shares nothing with it: openssl.
@Suite struct OpenSSLTests {
    let folder: TemporaryDirectory
    let authority: SimulatedAuthority
    let attestation: SimulatedAttestation
    let now = Date(timeIntervalSince1970: 1_795_262_400)

    init() throws {
        folder = try TemporaryDirectory()
        var random = SimulatorRandom(seed: 12)
        authority = try SimulatedAuthority(random: &random)
        let key = P256.Signing.PrivateKey()
        attestation = try authority.attest(
            SimulatedAttestationRequest(
                publicKey: Array(key.publicKey.x963Representation), app: SimulatedApp("ABCDE12345.com.example.app"),
                system: .iOS("27.0"), clientDataHash: [UInt8](repeating: 1, count: 32)), at: now)
        try Data(authority.receiptRootPEM.utf8).write(to: URL(fileURLWithPath: folder.path("receipt-root.pem")))
        try Data(authority.attestationRootPEM.utf8).write(to: URL(fileURLWithPath: folder.path("root.pem")))
        try Data(authority.attestationCA.certificate).write(to: URL(fileURLWithPath: folder.path("ca.der")))
        try Data(attestation.leafCertificate).write(to: URL(fileURLWithPath: folder.path("leaf.der")))
        try Data(attestation.receipt).write(to: URL(fileURLWithPath: folder.path("receipt.der")))
    }

    @Test func certificatesAreReadAndVerified() throws {
        let text = try OpenSSLProgram.run(["x509", "-inform", "DER", "-in", folder.path("leaf.der"), "-noout", "-text"])
        #expect(text.contains("AAA Certification SIMULATED"))
        #expect(text.contains("1.2.840.113635.100.8.2"))
        #expect(text.contains("prime256v1"))
        _ = try OpenSSLProgram.run(["asn1parse", "-inform", "DER", "-in", folder.path("leaf.der")])
        let ca = try OpenSSLProgram.run(["x509", "-inform", "DER", "-in", folder.path("ca.der")])
        try Data(ca.utf8).write(to: URL(fileURLWithPath: folder.path("ca.pem")))
        let verdict = try OpenSSLProgram.run([
            "verify", "-attime", "1795262400", "-CAfile", folder.path("root.pem"), "-untrusted",
            folder.path("ca.pem"), folder.path("leaf.der"),
        ])
        #expect(verdict.contains("OK"))
    }

    @Test(arguments: SimulatedReceipt.Encoding.allCases, [false, true])
    func receiptsAreVerified(_ encoding: SimulatedReceipt.Encoding, _ signsAttributes: Bool) throws {
        var content = SimulatedReceipt(
            type: .receipt, applicationId: "ABCDE12345.com.example.app", certificate: attestation.leafCertificate,
            clientHash: [UInt8](repeating: 1, count: 32), token: "token", isProduction: true, creation: now,
            riskMetric: 2, refreshNotBefore: now, expiration: now)
        content.encoding = encoding
        content.signsAttributes = signsAttributes
        func verify(_ receipt: [UInt8]) throws -> String {
            try Data(receipt).write(to: URL(fileURLWithPath: folder.path("r.der")))
            _ = try OpenSSLProgram.run(["asn1parse", "-inform", "DER", "-in", folder.path("r.der")])
            return try OpenSSLProgram.run([
                "cms", "-verify", "-inform", "DER", "-in", folder.path("r.der"), "-CAfile",
                folder.path("receipt-root.pem"), "-purpose", "any", "-attime", "1795262400", "-out",
                folder.path("payload.der"),
            ])
        }
        _ = try verify(try authority.receipt(content))
        let payload = try Data(contentsOf: URL(fileURLWithPath: folder.path("payload.der")))
        #expect(payload.range(of: Data("ABCDE12345.com.example.app".utf8)) != nil)
        for fault in [ReceiptFault.corruptedSignature, .changedField, .foreignRoot] {
            #expect(throws: OpenSSLProgram.Failure.self) { try verify(try authority.receipt(content, fault: fault)) }
        }
    }

    @Test func theReceiptInAnAttestationIsVerified() throws {
        _ = try OpenSSLProgram.run([
            "cms", "-verify", "-inform", "DER", "-in", folder.path("receipt.der"), "-CAfile",
            folder.path("receipt-root.pem"), "-purpose", "any", "-attime", "1795262400", "-out", folder.path("out"),
        ])
    }
}
