// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension NegativeCases {
    /// Other certificates in place of leaf and intermediate.
    private static func chain(
        _ group: Int, _ what: String, _ code: String,
        _ adjust: @escaping @Sendable ([[UInt8]], SimulatedAuthority) -> [[UInt8]]
    ) -> NegativeCase<AttestationRecipe> {
        NegativeCase(group, what, code) { recipe in
            let authority = recipe.authority
            recipe.adjustChain = { adjust($0, authority) }
        }
    }

    private static func signature(
        _ what: String, _ adjust: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) -> NegativeCase<AttestationRecipe> {
        NegativeCase(31, what, "attest.chain.signature") { $0.leaf.adjustSignature = adjust }
    }

    private static func nonce(
        _ what: String, _ encode: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) -> NegativeCase<AttestationRecipe> {
        NegativeCase(34, what, "malformed.certificate") { $0.encodeNonce = encode }
    }

    private static func key(_ group: Int, _ what: String, _ keyInfo: [UInt8]) -> NegativeCase<AttestationRecipe> {
        NegativeCase(group, what, "malformed.certificate") { $0.leaf.keyInfo = keyInfo }
    }

    /// The entries of the right COSE key, changed.
    private static func cose(
        _ what: String, _ change: @escaping @Sendable (inout [([UInt8], [UInt8])]) -> Void
    ) -> NegativeCase<AttestationRecipe> {
        NegativeCase(46, what, "malformed.authenticator-data") {
            var entries = AttestationRecipe.coseEntries(point: $0.request.publicKey)
            change(&entries)
            $0.coseKey = CBOR.map(entries)
        }
    }

    /// What is wrong with the certificates.
    package static let chains: [NegativeCase<AttestationRecipe>] = [
        chain(20, "no certificate", "attest.chain.count") { _, _ in [] },
        chain(20, "the leaf twice and the intermediate", "attest.chain.count") { chain, _ in chain.prefix(1) + chain },
        chain(21, "the intermediate twice", "attest.chain.untrusted") { chain, _ in [chain[1], chain[1]] },
        chain(25, "the receipts' authority as intermediate", "attest.chain.untrusted") {
            [$0[0], $1.receiptCA.certificate]
        },
        chain(25, "the root as intermediate", "attest.chain.untrusted") { [$0[0], $1.attestationRoot.certificate] },
        chain(26, "an empty certificate", "malformed.certificate") { chain, _ in [[], chain[1]] },
        chain(26, "a certificate that is not DER", "malformed.certificate") { chain, _ in [[1, 2, 3], chain[1]] },
        chain(26, "a byte after the leaf", "malformed.certificate") { chain, _ in [chain[0] + [0], chain[1]] },
        signature("a signature with r = 0") { _ in ASN1.sequence(ASN1.integer(0), ASN1.integer(1)) },
        signature("a negative r") { _ in ASN1.sequence([0x02, 0x01, 0x80], ASN1.integer(1)) },
        signature("a signature in BER") { [0x30, 0x81] + $0.dropFirst() },
        signature("an empty signature") { _ in [] },
        NegativeCase(32, "a critical unknown extension in front", "attest.chain.untrusted") {
            $0.leaf.extensions.insert(CertificateExtension(ASN1.apple(8, 77), critical: true, ASN1.null), at: 0)
        },
        NegativeCase(32, "the key may not sign", "attest.chain.untrusted") { $0.leaf.extensions[1] = .keyUsage(0x20) },
        nonce("a nonce with another element") { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0)), ASN1.null) },
        nonce("a nonce with the tag [0]") { ASN1.sequence(ASN1.tagged(0, ASN1.octets($0))) },
        nonce("a nonce of 31 bytes") { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0.dropLast()))) },
        nonce("a nonce of 33 bytes") { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0 + [0]))) },
        nonce("a byte after the nonce") { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0))) + [0] },
        nonce("a nonce with a long length") { ASN1.sequence(ASN1.tagged(1, [0x04, 0x81, 0x20] + $0)) },
        nonce("an empty nonce") { _ in [] },
        key(
            36, "an RSA key",
            ASN1.sequence(
                ASN1.sequence(ASN1.object(1, 2, 840, 113549, 1, 1, 1), ASN1.null),
                ASN1.bits(
                    ASN1.sequence(
                        ASN1.integer(magnitude: [UInt8](repeating: 0xC3, count: 256)), ASN1.integer(65537))))),
        key(36, "explicit parameters", SimulatorKey.keyInfo(point(of: 1), curve: ASN1.sequence(ASN1.integer(1)))),
        key(37, "a point that is not on the curve", SimulatorKey.keyInfo(point(of: 1))),
        key(37, "the point at infinity", SimulatorKey.keyInfo([0x00])),
        key(37, "x is not below p", SimulatorKey.keyInfo(point(of: 0xFF))),
    ]

    private static func point(of byte: UInt8) -> [UInt8] { [0x04] + [UInt8](repeating: byte, count: 64) }

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
        cose("a COSE key without y") { $0.removeLast() },
        cose("a COSE key with x twice") { $0.append($0[3]) },
        cose("a COSE key for RS256") { $0[1].1 = CBOR.negative(256) },
        cose("a COSE key on P-384") { $0[2].1 = CBOR.unsigned(2) },
        cose("an x of 33 bytes") { $0[3].1 = CBOR.bytes([UInt8](repeating: 1, count: 33)) },
        cose("another entry in the COSE key") { $0.append((CBOR.unsigned(4), CBOR.unsigned(1))) },
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
        NegativeCase(44, "the app '\(identifier)'", "attest.app-id.mismatch") {
            $0.relyingPartyIdHash = sha256(identifier)
        }
    }

    /// What is wrong with the authenticator data.
    package static let data = lengths + identifiers + flags + forms + apps
}
