// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto

extension NegativeCases {
    private static let rsaKey = ASN1.sequence(
        ASN1.sequence(ASN1.object(1, 2, 840, 113549, 1, 1, 1), ASN1.null),
        ASN1.bits(ASN1.sequence(ASN1.integer(magnitude: [UInt8](repeating: 0xC3, count: 256)), ASN1.integer(65537))))

    private static func keyInfo(_ point: [UInt8]) -> [UInt8] {
        let curve = ASN1.object(1, 2, 840, 10045, 3, 1, 7)
        return ASN1.sequence(ASN1.sequence(ASN1.object(1, 2, 840, 10045, 2, 1), curve), ASN1.bits(point))
    }

    private static func cose(_ entries: [([UInt8], [UInt8])]) -> [UInt8] { CBOR.map(entries) }

    private static func coseEntries(_ recipe: AttestationRecipe) -> [([UInt8], [UInt8])] {
        let x = Array(recipe.coseKey.dropFirst(10).prefix(32))
        let y = Array(recipe.coseKey.suffix(32))
        return [
            (CBOR.unsigned(1), CBOR.unsigned(2)), (CBOR.unsigned(3), CBOR.negative(6)),
            (CBOR.negative(0), CBOR.unsigned(1)), (CBOR.negative(1), CBOR.bytes(x)), (CBOR.negative(2), CBOR.bytes(y)),
        ]
    }

    /// What is wrong with the certificates.
    package static let chains: [NegativeCase<AttestationRecipe>] = [
        NegativeCase(20, "no certificate", "attest.chain.count") { $0.adjustChain = { _ in [] } },
        NegativeCase(20, "the leaf twice and the intermediate", "attest.chain.count") {
            $0.adjustChain = { $0.prefix(1) + $0 }
        },
        NegativeCase(21, "the intermediate twice", "attest.chain.untrusted") { $0.adjustChain = { [$0[1], $0[1]] } },
        NegativeCase(
            25,
            "the receipts' authority as intermediate",
            "attest.chain.untrusted",
            taking: { recipe, authority in
                recipe.adjustChain = { [$0[0], authority.receiptCA.certificate] }
            }
        ),
        NegativeCase(
            25,
            "the root as intermediate",
            "attest.chain.untrusted",
            taking: { recipe, authority in
                recipe.adjustChain = { [$0[0], authority.attestationRoot.certificate] }
            }
        ),
        NegativeCase(26, "an empty certificate", "malformed.certificate") { $0.adjustChain = { [[], $0[1]] } },
        NegativeCase(26, "a certificate that is not DER", "malformed.certificate") {
            $0.adjustChain = { [[1, 2, 3], $0[1]] }
        },
        NegativeCase(26, "a byte after the leaf", "malformed.certificate") {
            $0.adjustChain = { [$0[0] + [0], $0[1]] }
        },
        NegativeCase(31, "a signature with r = 0", "attest.chain.signature") {
            $0.leaf.adjustSignature = { _ in ASN1.sequence(ASN1.integer(0), ASN1.integer(1)) }
        },
        NegativeCase(31, "a negative r", "attest.chain.signature") {
            $0.leaf.adjustSignature = { _ in ASN1.sequence([0x02, 0x01, 0x80], ASN1.integer(1)) }
        },
        NegativeCase(31, "a signature in BER", "attest.chain.signature") {
            $0.leaf.adjustSignature = { [0x30, 0x81] + $0.dropFirst() }
        },
        NegativeCase(31, "an empty signature", "attest.chain.signature") { $0.leaf.adjustSignature = { _ in [] } },
        NegativeCase(32, "a critical unknown extension in front", "attest.chain.untrusted") {
            $0.leaf.extensions.insert(CertificateExtension(ASN1.apple(8, 77), critical: true, ASN1.null), at: 0)
        },
        NegativeCase(32, "the key may not sign", "attest.chain.untrusted") { $0.leaf.extensions[1] = .keyUsage(0x20) },
        NegativeCase(34, "a nonce with another element", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0)), ASN1.null) }
        },
        NegativeCase(34, "a nonce with the tag [0]", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(0, ASN1.octets($0))) }
        },
        NegativeCase(34, "a nonce of 31 bytes", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0.dropLast()))) }
        },
        NegativeCase(34, "a nonce of 33 bytes", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0 + [0]))) }
        },
        NegativeCase(34, "a byte after the nonce", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0))) + [0] }
        },
        NegativeCase(34, "a nonce with a long length", "malformed.certificate") {
            $0.encodeNonce = { ASN1.sequence(ASN1.tagged(1, [0x04, 0x81, 0x20] + $0)) }
        },
        NegativeCase(34, "an empty nonce", "malformed.certificate") { $0.encodeNonce = { _ in [] } },
        NegativeCase(36, "an RSA key", "malformed.certificate") { $0.leaf.keyInfo = rsaKey },
        NegativeCase(36, "explicit parameters", "malformed.certificate") { recipe in
            let point = ASN1.bits([0x04] + [UInt8](repeating: 1, count: 64))
            recipe.leaf.keyInfo = ASN1.sequence(
                ASN1.sequence(ASN1.object(1, 2, 840, 10045, 2, 1), ASN1.sequence(ASN1.integer(1))), point)
        },
        NegativeCase(37, "a point that is not on the curve", "malformed.certificate") {
            $0.leaf.keyInfo = keyInfo([0x04] + [UInt8](repeating: 1, count: 64))
        },
        NegativeCase(37, "the point at infinity", "malformed.certificate") { $0.leaf.keyInfo = keyInfo([0x00]) },
        NegativeCase(37, "x is not below p", "malformed.certificate") {
            $0.leaf.keyInfo = keyInfo([0x04] + [UInt8](repeating: 0xFF, count: 64))
        },
    ]

    private static let lengths: [NegativeCase<AttestationRecipe>] = [0, 36, 37, 54, 163].map { length in
        NegativeCase(38, "\(length) bytes", "malformed.authenticator-data") {
            $0.adjustAuthenticatorData = { Array($0.prefix(length)) }
        }
    }

    private static let identifiers: [NegativeCase<AttestationRecipe>] = [0, 31, 33, 65535].map { length in
        NegativeCase(39, "an identifier of \(length) bytes", "malformed.authenticator-data") {
            $0.credentialIdLength = length
        }
    }

    private static let flags: [NegativeCase<AttestationRecipe>] = ([0x00, 0x80, 0xFF, 0x41, 0x01] as [UInt8]).map {
        flags in
        NegativeCase(40, "the flags \(flags)", "malformed.authenticator-data") { $0.flags = flags }
    }

    private static let forms: [NegativeCase<AttestationRecipe>] = [
        NegativeCase(41, "the largest counter", "attest.counter.not-zero") { $0.counter = .max },
        NegativeCase(42, "an empty environment", "attest.environment.unknown") {
            $0.aaguid = [UInt8](repeating: 0, count: 16)
        },
        NegativeCase(46, "a COSE key without y", "malformed.authenticator-data") {
            $0.coseKey = cose(coseEntries($0).dropLast())
        },
        NegativeCase(46, "a COSE key with x twice", "malformed.authenticator-data") {
            $0.coseKey = cose(coseEntries($0) + [coseEntries($0)[3]])
        },
        NegativeCase(46, "a COSE key for RS256", "malformed.authenticator-data") {
            var entries = coseEntries($0)
            entries[1].1 = CBOR.negative(256)
            $0.coseKey = cose(entries)
        },
        NegativeCase(46, "a COSE key on P-384", "malformed.authenticator-data") {
            var entries = coseEntries($0)
            entries[2].1 = CBOR.unsigned(2)
            $0.coseKey = cose(entries)
        },
        NegativeCase(46, "an x of 33 bytes", "malformed.authenticator-data") {
            var entries = coseEntries($0)
            entries[3].1 = CBOR.bytes([UInt8](repeating: 1, count: 33))
            $0.coseKey = cose(entries)
        },
        NegativeCase(46, "another entry in the COSE key", "malformed.authenticator-data") {
            $0.coseKey = cose(coseEntries($0) + [(CBOR.unsigned(4), CBOR.unsigned(1))])
        },
        NegativeCase(47, "a number as extension key", "attest.extensions.unknown-shape") {
            $0.trailer = CBOR.map([(CBOR.unsigned(1), CBOR.unsigned(1))])
        },
        NegativeCase(47, "a number as bundle version", "attest.extensions.unknown-shape") {
            $0.trailer = CBOR.map([(CBOR.text("apple_bundle_version_01"), CBOR.unsigned(1))])
        },
        NegativeCase(47, "an empty map", nil) { $0.trailer = CBOR.map([]) },
    ]

    /// The app is the whole identifier, byte by byte.
    private static let apps: [NegativeCase<AttestationRecipe>] = [
        "ABCDE12345.com.example.ap", "ABCDE12345.com.example.app2", "ABCDE12345.com.example.app.Clip",
        "abcde12345.com.example.app", "com.example.app", "ABCDE12345.com.example.App", "ABCDE12345.com.example.app ",
    ].map { identifier in
        // The app is the whole identifier, byte by byte.
        NegativeCase(44, "the app '\(identifier)'", "attest.app-id.mismatch") {
            $0.relyingPartyIdHash = Array(SHA256.hash(data: Array(identifier.utf8)))
        }
    }

    /// What is wrong with the authenticator data.
    package static let data = lengths + identifiers + flags + forms + apps
}
