// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

extension AttestationFault {
    func apply(
        to recipe: inout AttestationRecipe,
        _ authority: SimulatedAuthority,
        _ request: SimulatedAttestationRequest,
        _ instant: Date
    ) throws {
        switch self {
        case .wrongNonce, .missingNonce, .duplicateNonce, .malformedNonce: applyToNonce(&recipe)
        case .expiredLeaf, .leafNotYetValid, .leafIsAuthority, .unknownCriticalExtension, .otherAlgorithmOutside,
            .compressedLeafKey, .largerLeafKey, .corruptedLeafSignature:
            applyToLeaf(&recipe, request, instant)
        case .corruptedIntermediate, .foreignChain, .missingIntermediate, .rootAppended, .swappedCertificates,
            .leafAsIssuer:
            try applyToChain(&recipe, authority, request, instant)
        case .otherFormat, .trailingByte, .duplicateKey: applyToObject(&recipe)
        case .otherReceiptType:
            recipe.receipt.type = .receipt
            recipe.receipt.riskMetric = 1
        case .otherReceiptEnvironment: recipe.receipt.isProduction.toggle()
        case .corruptedReceipt: recipe.receiptFault = .corruptedSignature
        default: applyToAuthenticatorData(&recipe, request)
        }
    }

    private func applyToNonce(_ recipe: inout AttestationRecipe) {
        let nonceId = ASN1.apple(8, 2)
        switch self {
        case .wrongNonce: recipe.adjustNonce = { [($0.first ?? 0) ^ 1] + $0.dropFirst() }
        case .missingNonce: recipe.adjustLeaf = { leaf in leaf.extensions.removeAll { $0.id == nonceId } }
        case .duplicateNonce:
            recipe.adjustLeaf = { leaf in leaf.extensions += leaf.extensions.filter { $0.id == nonceId } }
        default: recipe.encodeNonce = { ASN1.sequence(ASN1.tagged(2, ASN1.octets($0))) }
        }
    }

    private func applyToLeaf(
        _ recipe: inout AttestationRecipe,
        _ request: SimulatedAttestationRequest,
        _ instant: Date
    ) {
        switch self {
        case .expiredLeaf: recipe.leaf.notAfter = instant.addingTimeInterval(-60)
        case .leafNotYetValid: recipe.leaf.notBefore = instant.addingTimeInterval(60)
        case .leafIsAuthority: recipe.leaf.extensions[0] = .basicConstraints(authority: true)
        case .unknownCriticalExtension:
            recipe.leaf.extensions.append(CertificateExtension(ASN1.apple(99, 1), critical: true, ASN1.null))
        case .otherAlgorithmOutside: recipe.leaf.namesOtherAlgorithmOutside = true
        case .compressedLeafKey:
            let parity: UInt8 = (request.publicKey.last ?? 0) & 1
            let point = [0x02 | parity] + request.publicKey.dropFirst().prefix(32)
            let curve = ASN1.object(1, 2, 840, 10045, 3, 1, 7)
            recipe.leaf.keyInfo = ASN1.sequence(
                ASN1.sequence(ASN1.object(1, 2, 840, 10045, 2, 1), curve),
                ASN1.bits(point)
            )
        case .largerLeafKey: recipe.leaf.keyInfo = SimulatorKey.p384(P384.Signing.PrivateKey()).keyInfo
        default:
            // The last byte belongs to s, so the signature stays well formed.
            recipe.leaf.adjustSignature = { $0.dropLast() + [($0.last ?? 0) ^ 1] }
        }
    }

    private func applyToChain(
        _ recipe: inout AttestationRecipe,
        _ authority: SimulatedAuthority,
        _ request: SimulatedAttestationRequest,
        _ instant: Date
    ) throws {
        switch self {
        case .corruptedIntermediate:
            recipe.adjustChain = { chain in
                var chain = chain
                if var last = chain.popLast() {
                    last[last.count - 1] ^= 1
                    chain.append(last)
                }
                return chain
            }
        case .foreignChain:
            var random = SimulatorRandom()
            let foreign = try SimulatedAuthority(random: &random, validity: authority.validity)
            recipe.leafSigner = foreign.attestationCA.key
            recipe.adjustChain = { $0.prefix(1) + [foreign.attestationCA.certificate] }
        case .missingIntermediate: recipe.adjustChain = { Array($0.prefix(1)) }
        case .rootAppended: recipe.adjustChain = { $0 + [authority.attestationRoot.certificate] }
        case .swappedCertificates: recipe.adjustChain = { $0.reversed() }
        default:
            // A leaf of a real attestation signs another leaf.
            let signer = SimulatorKey.p256(P256.Signing.PrivateKey())
            var other = request
            other.publicKey = signer.point
            let issuer = try authority.attest(other, at: instant)
            recipe.leafSigner = signer
            recipe.leaf.issuer = SimulatedAuthority.name(
                hexadecimal(SHA256.hash(data: signer.point)),
                unit: "AAA Certification SIMULATED"
            )
            recipe.adjustChain = { $0.prefix(1) + [issuer.leafCertificate] }
        }
    }

    private func applyToAuthenticatorData(_ recipe: inout AttestationRecipe, _ request: SimulatedAttestationRequest) {
        let map = AttestationRecipe.extensionMap(request.app)
        let category = CBOR.text("apple_validation_category_01")
        func sent(_ trailer: [UInt8]) {
            recipe.flags = 0xC0
            recipe.trailer = trailer
        }
        switch self {
        case .otherApp: recipe.relyingPartyIdHash = Array(SHA256.hash(data: Array("OTHER12345.com.example.other".utf8)))
        case .otherEnvironment:
            recipe.aaguid = Array((request.app.isProduction ? "appattestdevelop" : "appattest").utf8)
            recipe.aaguid += [UInt8](repeating: 0, count: 16 - recipe.aaguid.count)
        case .unknownEnvironment: recipe.aaguid = Array("appattest".utf8) + [0, 0, 0, 0, 0, 0, 1]
        case .sandboxEnvironment: recipe.aaguid = Array("appattestsandbox".utf8)
        case .counterNotZero: recipe.counter = 1
        case .otherCredentialId: recipe.credentialId[0] ^= 1
        case .otherPublicKey:
            let point = P256.Signing.PrivateKey().publicKey.x963Representation
            recipe.coseKey = AttestationRecipe.cose(x: Array(point.dropFirst().prefix(32)), y: Array(point.suffix(32)))
        case .noCredentialFlag: recipe.flags = 0x00
        case .extensionFlagWithoutMap: sent([])
        case .mapWithoutExtensionFlag:
            sent(map)
            recipe.flags = 0x40
        case .extensionFlagAndMap: sent(map)
        case .truncatedExtensions: sent(map.dropLast())
        case .extensionsFollowedByJunk: sent(map + [0x00])
        case .extensionsAreText: sent(CBOR.text("extensions"))
        case .shortCategory: sent(CBOR.map([(category, CBOR.bytes([4, 0, 0]))]))
        case .textCategory: sent(CBOR.map([(category, CBOR.text("4"))]))
        case .unknownCategory: sent(CBOR.map([(category, CBOR.bytes([99, 0, 0, 0]))]))
        default: sent(CBOR.map([(category, CBOR.bytes([4, 0, 0, 0])), (CBOR.text("apple_new_01"), CBOR.unsigned(7))]))
        }
    }

    private func applyToObject(_ recipe: inout AttestationRecipe) {
        switch self {
        case .otherFormat: recipe.format = CBOR.text("apple")
        case .trailingByte: recipe.adjustObject = { $0 + [0x00] }
        default:
            // A second `fmt` and one more entry in the head of the map.
            recipe.adjustObject = {
                [0xA4] + $0.dropFirst() + CBOR.text("fmt") + CBOR.text("apple-appattest")
            }
        }
    }
}
