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
        let builder = Builder(validity: validity)
        attestationRoot = try builder.root("SIMULATED App Attestation Root CA", .p384(random.p384()), [1])
        attestationCA = try builder.authority(
            "SIMULATED App Attestation CA 1", .p384(random.p384()), [2], below: attestationRoot, pathLength: 0)
        receiptRoot = try builder.root("SIMULATED Root CA - G3", .p384(random.p384()), [3])
        receiptCA = try builder.authority(
            "SIMULATED Application Integration CA 5 - G1", .p256(random.p256()), [4], below: receiptRoot,
            marker: CertificateExtension(ASN1.apple(6, 2, 3), ASN1.null))
        let signer = SimulatorKey.p256(random.p256())
        let marker = CertificateExtension(ASN1.apple(12, 15), ASN1.null)
        receiptSigner = try builder.signer(signer, [5], below: receiptCA, marker: marker)
        unmarkedSigner = try builder.signer(signer, [6], below: receiptCA, marker: nil)
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
    package static let commonName = 3
    package static let country = 6
    package static let state = 8
    package static let organization = 10
    package static let unit = 11

    package static func name(_ common: String, unit: String? = nil) -> [UInt8] {
        CertificateRecipe.name(
            [(commonName, common)] + (unit.map { [(SimulatedAuthority.unit, $0)] } ?? [])
                + [(organization, "SIMULATED by Sealward"), (state, "California")])
    }

    /// The subject of the leaf of a key.
    static func leafName(of point: [UInt8]) -> [UInt8] {
        let keyId = SHA256.hash(data: point).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return name(keyId, unit: "AAA Certification SIMULATED")
    }

    /// Makes the certificates of the authorities themselves.
    private struct Builder {
        let validity: ClosedRange<Date>

        func root(_ name: String, _ key: SimulatorKey, _ serial: [UInt8]) throws -> Certified {
            let subject = SimulatedAuthority.name(name)
            var recipe = recipe(serial, issuer: subject, subject: subject, key)
            recipe.extensions = [
                .basicConstraints(authority: true), .subjectKeyIdentifier(key.point), .keyUsage(0x06),
            ]
            return Certified(key: key, certificate: try recipe.signed(by: key), subject: subject)
        }

        func authority(
            _ name: String, _ key: SimulatorKey, _ serial: [UInt8], below issuer: Certified, pathLength: Int? = nil,
            marker: CertificateExtension? = nil
        ) throws -> Certified {
            let subject = SimulatedAuthority.name(name)
            var recipe = recipe(serial, issuer: issuer.subject, subject: subject, key)
            recipe.extensions =
                [
                    .basicConstraints(authority: true, pathLength: pathLength),
                    .authorityKeyIdentifier(issuer.key.point), .subjectKeyIdentifier(key.point), .keyUsage(0x06),
                ] + (marker.map { [$0] } ?? [])
            return Certified(key: key, certificate: try recipe.signed(by: issuer.key), subject: subject)
        }

        func signer(
            _ key: SimulatorKey, _ serial: [UInt8], below issuer: Certified, marker: CertificateExtension?
        ) throws -> Certified {
            let subject = SimulatedAuthority.name("SIMULATED Application Attestation Fraud Receipt Signing")
            var recipe = recipe(serial, issuer: issuer.subject, subject: subject, key)
            recipe.usesSHA384 = false
            recipe.extensions =
                [
                    .basicConstraints(authority: false), .authorityKeyIdentifier(issuer.key.point),
                    .subjectKeyIdentifier(key.point), .keyUsage(0x80),
                ] + (marker.map { [$0] } ?? [])
            return Certified(key: key, certificate: try recipe.signed(by: issuer.key), subject: subject)
        }

        private func recipe(
            _ serial: [UInt8], issuer: [UInt8], subject: [UInt8], _ key: SimulatorKey
        ) -> CertificateRecipe {
            CertificateRecipe(
                serialNumber: [0x51, 0x4D] + serial, issuer: issuer, subject: subject, notBefore: validity.lowerBound,
                notAfter: validity.upperBound, keyInfo: key.keyInfo, extensions: [], usesSHA384: true)
        }
    }
}
