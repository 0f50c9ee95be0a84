// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// Named faults of attestations, for tests, the command line and the documentation alike.
public enum AttestationFault: String, Sendable, CaseIterable {
    /// The leaf contains the nonce of other client data.
    case wrongNonce = "wrong-nonce"
    /// The leaf has no nonce extension.
    case missingNonce = "missing-nonce"
    /// The leaf has the nonce extension twice.
    case duplicateNonce = "duplicate-nonce"
    /// The nonce extension does not have Apple's form.
    case malformedNonce = "malformed-nonce"
    /// Made for another app.
    case otherApp = "other-app"
    /// Made in the other environment.
    case otherEnvironment = "other-environment"
    /// The AAGUID is none of Apple's.
    case unknownEnvironment = "unknown-environment"
    /// The AAGUID is `appattestsandbox`.
    case sandboxEnvironment = "sandbox-environment"
    /// The leaf has expired.
    case expiredLeaf = "expired-leaf"
    /// The leaf is not valid yet.
    case leafNotYetValid = "leaf-not-yet-valid"
    /// One bit of the leaf's signature is changed.
    case corruptedLeafSignature = "corrupted-leaf-signature"
    /// One bit of the intermediate's signature is changed.
    case corruptedIntermediate = "corrupted-intermediate"
    /// Both certificates come from another CA.
    case foreignChain = "foreign-chain"
    /// Only the leaf is there.
    case missingIntermediate = "missing-intermediate"
    /// The root is there as well.
    case rootAppended = "root-appended"
    /// The intermediate comes first.
    case swappedCertificates = "swapped-certificates"
    /// The leaf is issued by another leaf.
    case leafAsIssuer = "leaf-as-issuer"
    /// The leaf claims to be a CA.
    case leafIsAuthority = "leaf-is-authority"
    /// The leaf has an unknown critical extension.
    case unknownCriticalExtension = "unknown-critical-extension"
    /// The leaf names one signature algorithm inside and another outside.
    case otherAlgorithmOutside = "other-algorithm-outside"
    /// The leaf's point is compressed.
    case compressedLeafKey = "compressed-leaf-key"
    /// The leaf's key is on P-384.
    case largerLeafKey = "larger-leaf-key"
    /// The counter is 1.
    case counterNotZero = "counter-not-zero"
    /// The credential id is not the hash of the key.
    case otherCredentialId = "other-credential-id"
    /// The COSE key is not the leaf's.
    case otherPublicKey = "other-public-key"
    /// The flag for attested credential data is clear.
    case noCredentialFlag = "no-credential-flag"
    /// The extension flag is set, but no map follows.
    case extensionFlagWithoutMap = "extension-flag-without-map"
    /// The extension map is present but its flag is clear, as Apple's systems send it.
    case mapWithoutExtensionFlag = "map-without-extension-flag"
    /// The extension map is present and its flag is set.
    case extensionFlagAndMap = "extension-flag-and-map"
    /// The extension map ends early.
    case truncatedExtensions = "truncated-extensions"
    /// Bytes follow the extension map.
    case extensionsFollowedByJunk = "extensions-followed-by-junk"
    /// The extensions are a text instead of a map.
    case extensionsAreText = "extensions-are-text"
    /// The validation category has fewer than four bytes.
    case shortCategory = "short-category"
    /// The validation category is a text.
    case textCategory = "text-category"
    /// The validation category is a number that Apple has not named.
    case unknownCategory = "unknown-category"
    /// The extension map has an additional key.
    case unknownExtensionKey = "unknown-extension-key"
    /// `fmt` is not `apple-appattest`.
    case otherFormat = "other-format"
    /// A byte follows the object.
    case trailingByte = "trailing-byte"
    /// A key occurs twice in the object's map.
    case duplicateKey = "duplicate-key"
    /// The receipt inside is of type RECEIPT.
    case otherReceiptType = "other-receipt-type"
    /// The receipt inside belongs to the other environment.
    case otherReceiptEnvironment = "other-receipt-environment"
    /// One bit of the receipt's signature is changed.
    case corruptedReceipt = "corrupted-receipt"

    /// The code with which a correct verifier refuses; nil if the attestation is accepted.
    public var expectedCode: String? { row.code }
}

extension AttestationFault: CataloguedFault {
    /// The row of the catalogue: group, code and change. What a fault needs at random comes from the authority, so one seed gives one object.
    package var row: NegativeCase<AttestationRecipe> {
        switch self {
        case .wrongNonce:
            row(49, "attest.nonce.mismatch") { $0.adjustNonce = { [($0.first ?? 0) ^ 1] + $0.dropFirst() } }
        case .missingNonce:
            row(35, "attest.nonce.missing") {
                $0.adjustLeaf = { leaf in leaf.extensions.removeAll { $0.id == nonceId } }
            }
        case .duplicateNonce:
            row(33, "malformed.certificate") {
                $0.adjustLeaf = { leaf in leaf.extensions += leaf.extensions.filter { $0.id == nonceId } }
            }
        case .malformedNonce:
            row(34, "malformed.certificate") { $0.encodeNonce = { ASN1.sequence(ASN1.tagged(2, ASN1.octets($0))) } }
        case .otherApp:
            row(43, "attest.app-id.mismatch") { $0.relyingPartyIdHash = sha256(SimulatedApp.other) }
        case .otherEnvironment:
            row(42, "attest.environment.mismatch") {
                $0.aaguid = AttestationRecipe.aaguid(isProduction: !$0.request.app.isProduction)
            }
        case .unknownEnvironment:
            row(42, "attest.environment.unknown") { $0.aaguid = Array("appattest".utf8) + [0, 0, 0, 0, 0, 0, 1] }
        case .sandboxEnvironment:
            row(42, "attest.environment.mismatch") { $0.aaguid = Array("appattestsandbox".utf8) }
        case .expiredLeaf: row(27, "attest.chain.expired") { $0.leaf.notAfter = $0.instant.addingTimeInterval(-60) }
        case .leafNotYetValid:
            row(27, "attest.chain.not-yet-valid") { $0.leaf.notBefore = $0.instant.addingTimeInterval(60) }
        // The last byte belongs to s, so the signature stays well formed.
        case .corruptedLeafSignature: row(29, "attest.chain.signature") { $0.leaf.adjustSignature = lastBitFlipped }
        case .corruptedIntermediate:
            row(nil, "attest.chain.untrusted") {
                $0.adjustChain = { Array($0.dropLast()) + $0.suffix(1).map(lastBitFlipped) }
            }
        case .foreignChain:
            row(23, "attest.chain.untrusted") { recipe in
                var random = random(recipe)
                let foreign = try SimulatedAuthority(random: &random, validity: recipe.authority.validity)
                recipe.leafSigner = foreign.attestationCA.key
                recipe.adjustChain = { $0.prefix(1) + [foreign.attestationCA.certificate] }
            }
        case .missingIntermediate: row(20, "attest.chain.count") { $0.adjustChain = { Array($0.prefix(1)) } }
        case .rootAppended:
            row(22, "attest.chain.count") { recipe in
                let root = recipe.authority.attestationRoot.certificate
                recipe.adjustChain = { $0 + [root] }
            }
        case .swappedCertificates: row(21, "attest.chain.untrusted") { $0.adjustChain = { $0.reversed() } }
        case .leafAsIssuer:
            row(24, "attest.chain.untrusted") { recipe in
                var random = random(recipe)
                try AttestationFault.issue(&recipe, by: SimulatorKey.p256(random.p256()))
            }
        case .leafIsAuthority:
            row(24, "attest.chain.untrusted") { $0.leaf.extensions[0] = .basicConstraints(authority: true) }
        case .unknownCriticalExtension:
            row(32, "attest.chain.untrusted") {
                $0.leaf.extensions.append(CertificateExtension(ASN1.apple(99, 1), critical: true, ASN1.null))
            }
        case .otherAlgorithmOutside: row(30, "malformed.certificate") { $0.leaf.namesOtherAlgorithmOutside = true }
        case .compressedLeafKey:
            row(36, "malformed.certificate") {
                let point = $0.request.publicKey
                $0.leaf.keyInfo = SimulatorKey.keyInfo([0x02 | (point.last ?? 0) & 1] + point.dropFirst().prefix(32))
            }
        case .largerLeafKey:
            row(36, "malformed.certificate") {
                var random = random($0)
                $0.leaf.keyInfo = SimulatorKey.p384(random.p384()).keyInfo
            }
        case .counterNotZero: row(41, "attest.counter.not-zero") { $0.counter = 1 }
        case .otherCredentialId: row(45, "attest.credential-id.mismatch") { $0.credentialId[0] ^= 1 }
        case .otherPublicKey:
            row(46, "attest.public-key.mismatch") {
                var random = random($0)
                $0.coseKey = AttestationRecipe.cose(point: SimulatorKey.p256(random.p256()).point)
            }
        case .noCredentialFlag: row(40, "malformed.authenticator-data") { $0.flags = 0x00 }
        case .extensionFlagWithoutMap: row(47, "malformed.authenticator-data") { $0.send([]) }
        case .mapWithoutExtensionFlag:
            row(47, nil) {
                $0.send($0.extensionMap)
                $0.flags = 0x40
            }
        case .extensionFlagAndMap: row(47, nil) { $0.send($0.extensionMap) }
        case .truncatedExtensions: row(47, "malformed.authenticator-data") { $0.send($0.extensionMap.dropLast()) }
        case .extensionsFollowedByJunk: row(47, "malformed.authenticator-data") { $0.send($0.extensionMap + [0x00]) }
        case .extensionsAreText: row(47, "attest.extensions.unknown-shape") { $0.send(CBOR.text("extensions")) }
        case .shortCategory:
            row(47, "attest.extensions.unknown-shape") { $0.send(CBOR.map([(category, CBOR.bytes([4, 0, 0]))])) }
        case .textCategory:
            row(47, "attest.extensions.unknown-shape") { $0.send(CBOR.map([(category, CBOR.text("4"))])) }
        case .unknownCategory: row(47, nil) { $0.send(CBOR.map([(category, CBOR.bytes([99, 0, 0, 0]))])) }
        case .unknownExtensionKey:
            row(47, nil) {
                $0.send(
                    CBOR.map([(category, CBOR.bytes([4, 0, 0, 0])), (CBOR.text("apple_new_01"), CBOR.unsigned(7))]))
            }
        case .otherFormat: row(7, "attest.format.unknown") { $0.format = CBOR.text("apple") }
        case .trailingByte: row(3, "malformed.cbor") { $0.adjustObject = { $0 + [0x00] } }
        // A second `fmt` and one more entry in the head of the map.
        case .duplicateKey:
            row(5, "malformed.cbor") {
                $0.adjustObject = { [0xA4] + $0.dropFirst() + CBOR.text("fmt") + CBOR.text("apple-appattest") }
            }
        case .otherReceiptType:
            row(80, nil, receipt: "receipt.type.mismatch") {
                $0.receipt.type = .receipt
                $0.receipt.riskMetric = 1
            }
        case .otherReceiptEnvironment:
            row(81, nil, receipt: "receipt.environment.mismatch") { $0.receipt.isProduction.toggle() }
        case .corruptedReceipt:
            row(nil, nil, receipt: "receipt.signature.invalid") { $0.receiptFault = .corruptedSignature }
        }
    }

    /// The same for the same authority, fault and key.
    private func random(_ recipe: AttestationRecipe) -> SimulatorRandom {
        recipe.authority.random(for: rawValue, of: recipe.request.publicKey)
    }

    /// A leaf of a real attestation signs another leaf.
    private static func issue(_ recipe: inout AttestationRecipe, by signer: SimulatorKey) throws {
        var other = recipe.request
        other.publicKey = signer.point
        // It lasts as long as the leaf below it, so that its time is not what refuses it.
        let end = recipe.leaf.notAfter
        let issuer = try recipe.authority.attest(other, at: recipe.instant) { $0.leaf.notAfter = end }.leafCertificate
        recipe.leafSigner = signer
        recipe.leaf.issuer = SimulatedAuthority.leafName(of: signer.point)
        recipe.adjustChain = { $0.prefix(1) + [issuer] }
    }
}

private let nonceId = ASN1.apple(8, 2)
private let category = CBOR.text("apple_validation_category_01")

extension AttestationRecipe {
    fileprivate var extensionMap: [UInt8] { AttestationRecipe.extensionMap(request.app) }

    /// Sets the flag of extensions, and what follows the key.
    fileprivate mutating func send(_ trailer: [UInt8]) {
        flags = 0xC0
        self.trailer = trailer
    }
}
