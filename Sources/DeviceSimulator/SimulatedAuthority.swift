// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import FoundationEssentials
import SwiftASN1

/// Apple's side of App Attest in software: the CAs that certify keys and sign receipts, with certificates of Apple's form.
///
/// Every subject says SIMULATED. Nothing that trusts Apple's roots accepts what this authority signs.
public struct SimulatedAuthority: Sendable {
    package struct Certified: Sendable {
        package let key: SimulatorKey
        package let certificate: [UInt8]
        package let subject: [UInt8]
    }

    package let attestationRoot: Certified
    package let attestationCA: Certified
    package let receiptRoot: Certified
    package let receiptCA: Certified
    package let receiptSigner: Certified
    /// A signer without the marker, for receipts that must be refused.
    package let unmarkedSigner: Certified
    /// When all of it is valid.
    package let validity: ClosedRange<Date>
    private let tokenKey: SymmetricKey

    /// 2020-01-01 to 2045-01-01.
    public static let defaultValidity =
        Date(timeIntervalSince1970: 1_577_836_800)...Date(timeIntervalSince1970: 2_366_841_600)

    /// Makes the keys and certificates of a new authority.
    ///
    /// - Parameter random: with the same seed the same keys come out.
    public init(random: inout SimulatorRandom, validity: ClosedRange<Date> = SimulatedAuthority.defaultValidity) throws
    {
        self.validity = validity
        attestationRoot = try Self.certified("App Attestation Root CA", .p384(random.p384()), 1, validity: validity)
        attestationCA = try Self.certified(
            "App Attestation CA 1", .p384(random.p384()), 2, validity: validity, below: attestationRoot, pathLength: 0)
        receiptRoot = try Self.certified("Root CA - G3", .p384(random.p384()), 3, validity: validity)
        receiptCA = try Self.certified(
            "Application Integration CA 5 - G1", .p256(random.p256()), 4, validity: validity, below: receiptRoot,
            marker: CertificateExtension(ASN1.apple(6, 2, 3), ASN1.null))
        let (name, signer) = ("Application Attestation Fraud Receipt Signing", SimulatorKey.p256(random.p256()))
        receiptSigner = try Self.certified(
            name, signer, 5, validity: validity, below: receiptCA, isAuthority: false,
            marker: CertificateExtension(ASN1.apple(12, 15), ASN1.null))
        unmarkedSigner = try Self.certified(name, signer, 6, validity: validity, below: receiptCA, isAuthority: false)
        tokenKey = SymmetricKey(data: random.bytes(32))
    }

    /// The root that a verifier of this authority's attestations must trust.
    public var attestationRootPEM: String { SimulatedAuthority.pem(attestationRoot.certificate) }

    /// The root that a verifier of this authority's receipts must trust.
    public var receiptRootPEM: String { SimulatedAuthority.pem(receiptRoot.certificate) }

    /// Both roots, for programs that take one file.
    package var rootsPEM: String { attestationRootPEM + receiptRootPEM }

    package static func pem(_ der: [UInt8]) -> String {
        PEMDocument(type: "CERTIFICATE", derBytes: der).pemString + "\n"
    }

    /// Field 5 of a receipt: the same for a key in all its receipts, 64 bytes in base64.
    package func token(for publicKey: [UInt8]) -> String {
        Data(HMAC<SHA512>.authenticationCode(for: publicKey, using: tokenKey)).base64EncodedString()
    }

    /// What a fault of a key draws from: the same for the same authority, fault and key.
    func random(for fault: String, of publicKey: [UInt8]) -> SimulatorRandom {
        SimulatorRandom(digest: HMAC<SHA256>.authenticationCode(for: Array(fault.utf8) + publicKey, using: tokenKey))
    }
}

extension SimulatedAuthority {
    /// Common name, unit, organization and state: the last arcs of their identifiers.
    package static func name(_ common: String, unit: String? = nil) -> [UInt8] {
        CertificateRecipe.name(
            [(3, common)] + (unit.map { [(11, $0)] } ?? []) + [(10, "SIMULATED by Sealward"), (8, "California")])
    }

    /// The subject of the leaf of a key.
    static func leafName(of point: [UInt8]) -> [UInt8] {
        let keyId = SHA256.hash(data: point).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return name(keyId, unit: "AAA Certification SIMULATED")
    }

    /// Makes one of the authorities, or a signer of receipts; a root signs itself.
    private static func certified(
        _ name: String, _ key: SimulatorKey, _ serial: UInt8, validity: ClosedRange<Date>,
        below issuer: Certified? = nil,
        isAuthority: Bool = true, pathLength: Int? = nil, marker: CertificateExtension? = nil
    ) throws -> Certified {
        let subject = SimulatedAuthority.name("SIMULATED " + name)
        var extensions: [CertificateExtension] = [.basicConstraints(authority: isAuthority, pathLength: pathLength)]
        if let issuer { extensions.append(.authorityKeyIdentifier(issuer.key.point)) }
        extensions += [.subjectKeyIdentifier(key.point), .keyUsage(isAuthority ? 0x06 : 0x80)]
        if let marker { extensions.append(marker) }
        let recipe = CertificateRecipe(
            serialNumber: [0x51, 0x4D, serial], issuer: issuer?.subject ?? subject, subject: subject,
            notBefore: validity.lowerBound, notAfter: validity.upperBound, keyInfo: key.keyInfo, extensions: extensions,
            usesSHA384: isAuthority)
        return Certified(key: key, certificate: try recipe.signed(by: issuer?.key ?? key), subject: subject)
    }
}
