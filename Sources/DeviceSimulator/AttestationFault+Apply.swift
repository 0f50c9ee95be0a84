// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

extension AttestationFault {
    /// What each fault changes. Whatever a fault needs at random it draws from `random`, so that one seed gives one object.
    func apply(
        to recipe: inout AttestationRecipe, _ authority: SimulatedAuthority, _ request: SimulatedAttestationRequest,
        _ instant: Date, _ random: inout SimulatorRandom
    ) throws {
        let nonceId = ASN1.apple(8, 2)
        let map = AttestationRecipe.extensionMap(request.app)
        let category = CBOR.text("apple_validation_category_01")
        switch self {
        case .wrongNonce: recipe.adjustNonce = { [($0.first ?? 0) ^ 1] + $0.dropFirst() }
        case .missingNonce: recipe.adjustLeaf = { leaf in leaf.extensions.removeAll { $0.id == nonceId } }
        case .duplicateNonce:
            recipe.adjustLeaf = { leaf in leaf.extensions += leaf.extensions.filter { $0.id == nonceId } }
        case .malformedNonce: recipe.encodeNonce = { ASN1.sequence(ASN1.tagged(2, ASN1.octets($0))) }

        case .expiredLeaf: recipe.leaf.notAfter = instant.addingTimeInterval(-60)
        case .leafNotYetValid: recipe.leaf.notBefore = instant.addingTimeInterval(60)
        case .leafIsAuthority: recipe.leaf.extensions[0] = .basicConstraints(authority: true)
        case .unknownCriticalExtension:
            recipe.leaf.extensions.append(CertificateExtension(ASN1.apple(99, 1), critical: true, ASN1.null))
        case .otherAlgorithmOutside: recipe.leaf.namesOtherAlgorithmOutside = true
        case .compressedLeafKey: recipe.leaf.keyInfo = AttestationFault.compressedKeyInfo(request.publicKey)
        case .largerLeafKey: recipe.leaf.keyInfo = SimulatorKey.p384(random.p384()).keyInfo
        // The last byte belongs to s, so the signature stays well formed.
        case .corruptedLeafSignature: recipe.leaf.adjustSignature = AttestationFault.withLastBitFlipped

        case .corruptedIntermediate:
            recipe.adjustChain = { Array($0.dropLast()) + $0.suffix(1).map(AttestationFault.withLastBitFlipped) }
        case .foreignChain:
            let foreign = try SimulatedAuthority(random: &random, validity: authority.validity)
            recipe.leafSigner = foreign.attestationCA.key
            recipe.adjustChain = { $0.prefix(1) + [foreign.attestationCA.certificate] }
        case .missingIntermediate: recipe.adjustChain = { Array($0.prefix(1)) }
        case .rootAppended: recipe.adjustChain = { $0 + [authority.attestationRoot.certificate] }
        case .swappedCertificates: recipe.adjustChain = { $0.reversed() }
        case .leafAsIssuer:
            let signer = SimulatorKey.p256(random.p256())
            try AttestationFault.issue(&recipe, by: signer, authority, request, instant)

        case .otherApp: recipe.relyingPartyIdHash = Array(SHA256.hash(data: Array("OTHER12345.com.example.other".utf8)))
        case .otherEnvironment: recipe.aaguid = AttestationRecipe.aaguid(isProduction: !request.app.isProduction)
        case .unknownEnvironment: recipe.aaguid = Array("appattest".utf8) + [0, 0, 0, 0, 0, 0, 1]
        case .sandboxEnvironment: recipe.aaguid = Array("appattestsandbox".utf8)
        case .counterNotZero: recipe.counter = 1
        case .otherCredentialId: recipe.credentialId[0] ^= 1
        case .otherPublicKey: recipe.coseKey = AttestationRecipe.cose(point: SimulatorKey.p256(random.p256()).point)
        case .noCredentialFlag: recipe.flags = 0x00
        case .extensionFlagWithoutMap: recipe.send([])
        case .mapWithoutExtensionFlag:
            recipe.send(map)
            recipe.flags = 0x40
        case .extensionFlagAndMap: recipe.send(map)
        case .truncatedExtensions: recipe.send(map.dropLast())
        case .extensionsFollowedByJunk: recipe.send(map + [0x00])
        case .extensionsAreText: recipe.send(CBOR.text("extensions"))
        case .shortCategory: recipe.send(CBOR.map([(category, CBOR.bytes([4, 0, 0]))]))
        case .textCategory: recipe.send(CBOR.map([(category, CBOR.text("4"))]))
        case .unknownCategory: recipe.send(CBOR.map([(category, CBOR.bytes([99, 0, 0, 0]))]))
        case .unknownExtensionKey:
            recipe.send(
                CBOR.map([(category, CBOR.bytes([4, 0, 0, 0])), (CBOR.text("apple_new_01"), CBOR.unsigned(7))]))

        case .otherFormat: recipe.format = CBOR.text("apple")
        case .trailingByte: recipe.adjustObject = { $0 + [0x00] }
        // A second `fmt` and one more entry in the head of the map.
        case .duplicateKey:
            recipe.adjustObject = { [0xA4] + $0.dropFirst() + CBOR.text("fmt") + CBOR.text("apple-appattest") }

        case .otherReceiptType:
            recipe.receipt.type = .receipt
            recipe.receipt.riskMetric = 1
        case .otherReceiptEnvironment: recipe.receipt.isProduction.toggle()
        case .corruptedReceipt: recipe.receiptFault = .corruptedSignature
        }
    }

    @Sendable private static func withLastBitFlipped(_ bytes: [UInt8]) -> [UInt8] {
        bytes.dropLast() + [(bytes.last ?? 0) ^ 1]
    }

    /// The SubjectPublicKeyInfo of P-256 with the point in 33 bytes.
    private static func compressedKeyInfo(_ publicKey: [UInt8]) -> [UInt8] {
        let parity: UInt8 = (publicKey.last ?? 0) & 1
        return ASN1.sequence(
            ASN1.sequence(ASN1.object(1, 2, 840, 10045, 2, 1), ASN1.object(1, 2, 840, 10045, 3, 1, 7)),
            ASN1.bits([0x02 | parity] + publicKey.dropFirst().prefix(32)))
    }

    /// A leaf of a real attestation signs another leaf.
    private static func issue(
        _ recipe: inout AttestationRecipe, by signer: SimulatorKey, _ authority: SimulatedAuthority,
        _ request: SimulatedAttestationRequest, _ instant: Date
    ) throws {
        var other = request
        other.publicKey = signer.point
        // It lasts as long as the leaf below it, so that its time is not what refuses it.
        let end = recipe.leaf.notAfter
        let issuer = try authority.attest(other, at: instant) { $0.leaf.notAfter = end }.leafCertificate
        recipe.leafSigner = signer
        recipe.leaf.issuer = SimulatedAuthority.name(
            hexadecimal(SHA256.hash(data: signer.point)), unit: "AAA Certification SIMULATED")
        recipe.adjustChain = { $0.prefix(1) + [issuer] }
    }
}

extension AttestationRecipe {
    /// Sets the flag of extensions, and what follows the key.
    fileprivate mutating func send(_ trailer: [UInt8]) {
        flags = 0xC0
        self.trailer = trailer
    }
}
