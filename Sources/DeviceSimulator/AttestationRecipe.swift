// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What a phone asks Apple to certify.
public struct SimulatedAttestationRequest: Sendable {
    /// The key as `0x04`, x, y: 65 bytes.
    public var publicKey: [UInt8]
    /// The app that asks.
    public var app: SimulatedApp
    /// The device's system.
    public var system: SimulatedSystem
    /// What the app passed to `attestKey`, 16 bytes or more.
    public var clientDataHash: [UInt8]

    /// A request for one key.
    public init(publicKey: [UInt8], app: SimulatedApp, system: SimulatedSystem, clientDataHash: [UInt8]) {
        self.publicKey = publicKey
        self.app = app
        self.system = system
        self.clientDataHash = clientDataHash
    }
}

/// An attestation made by the simulator.
public struct SimulatedAttestation: Sendable {
    /// The object as the app gets it.
    public let object: [UInt8]
    /// The receipt in it.
    public let receipt: [UInt8]
    /// The leaf certificate in it, which later receipts for the key repeat.
    public let leafCertificate: [UInt8]
}

/// Every part of an attestation on its way to becoming one, so that faults and tests can change any of them.
package struct AttestationRecipe: Sendable {
    package let authority: SimulatedAuthority
    package let request: SimulatedAttestationRequest
    package var instant: Date

    package var format = CBOR.text("apple-appattest")
    package var relyingPartyIdHash: [UInt8]
    package var flags: UInt8
    package var counter: UInt32 = 0
    package var aaguid: [UInt8]
    package var credentialIdLength: UInt16 = 32
    package var credentialId: [UInt8]
    package var coseKey: [UInt8]
    /// What follows the key: the extension map, or nothing.
    package var trailer: [UInt8]
    /// The nonce is made of the authenticator data and this.
    package var clientDataHash: [UInt8]
    /// Changes the nonce before it goes into the leaf.
    package var adjustNonce: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    /// The extension's value from the nonce.
    package var encodeNonce: @Sendable ([UInt8]) -> [UInt8] = { ASN1.sequence(ASN1.tagged(1, ASN1.octets($0))) }
    package var leaf: CertificateRecipe
    /// Changes the leaf's recipe after the nonce went in.
    package var adjustLeaf: @Sendable (inout CertificateRecipe) -> Void = { _ in }
    package var leafSigner: SimulatorKey
    /// The certificates after the leaf was signed: leaf and intermediate.
    package var adjustChain: @Sendable ([[UInt8]]) throws -> [[UInt8]] = { $0 }
    package var receipt: SimulatedReceipt
    package var receiptFault: ReceiptFault?
    package var adjustAuthenticatorData: @Sendable ([UInt8]) -> [UInt8] = { $0 }
    /// Changes the finished object.
    package var adjustObject: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    /// The entries of the COSE key of an uncompressed point, with the leading zeros of its coordinates or, as devices write them, without.
    static func coseEntries(point: [UInt8], withZeros: Bool = true) -> [([UInt8], [UInt8])] {
        func coordinate(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            CBOR.bytes(Array(withZeros ? bytes : bytes.drop { $0 == 0 }))
        }
        return [
            (CBOR.unsigned(1), CBOR.unsigned(2)), (CBOR.unsigned(3), CBOR.negative(6)),
            (CBOR.negative(0), CBOR.unsigned(1)), (CBOR.negative(1), coordinate(point.dropFirst().prefix(32))),
            (CBOR.negative(2), coordinate(point.suffix(32))),
        ]
    }

    package static func cose(point: [UInt8], withZeros: Bool = true) -> [UInt8] {
        CBOR.map(coseEntries(point: point, withZeros: withZeros))
    }

    /// The 16 bytes that name an environment.
    static func aaguid(isProduction: Bool) -> [UInt8] {
        let name = isProduction ? "appattest" : "appattestdevelop"
        return Array(name.utf8) + [UInt8](repeating: 0, count: 16 - name.utf8.count)
    }

    /// The map of iOS 27.
    package static func extensionMap(_ app: SimulatedApp) -> [UInt8] {
        CBOR.map([
            (CBOR.text("apple_bundle_version_01"), CBOR.text(app.bundleVersion)),
            (CBOR.text("apple_validation_category_01"), CBOR.bytes([UInt8(app.distribution.rawValue), 0, 0, 0])),
        ])
    }

    package var authenticatorData: [UInt8] {
        adjustAuthenticatorData(
            relyingPartyIdHash + [flags] + counter.bigEndianBytes + aaguid + credentialIdLength.bigEndianBytes
                + credentialId + coseKey + trailer)
    }
}

extension FixedWidthInteger {
    var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }
}

extension SimulatedAuthority {
    /// Certifies a key, with a fault if one is named.
    public func attest(
        _ request: SimulatedAttestationRequest, at instant: Date, fault: AttestationFault? = nil
    ) throws -> SimulatedAttestation {
        try attest(request, at: instant) { try fault?.row.change(&$0) }
    }

    /// Certifies a key after anything in the recipe was changed.
    package func attest(
        _ request: SimulatedAttestationRequest, at instant: Date,
        changing adjust: (inout AttestationRecipe) throws -> Void
    ) throws -> SimulatedAttestation {
        var recipe = recipe(for: request, at: instant)
        try adjust(&recipe)
        let authenticatorData = recipe.authenticatorData
        var leaf = recipe.leaf
        let nonce = recipe.adjustNonce(sha256(authenticatorData + recipe.clientDataHash))
        let position = leaf.extensions.firstIndex { $0.id == ASN1.apple(8, 6) } ?? leaf.extensions.endIndex
        leaf.extensions.insert(CertificateExtension(ASN1.apple(8, 2), recipe.encodeNonce(nonce)), at: position)
        recipe.adjustLeaf(&leaf)
        let certificate = try leaf.signed(by: recipe.leafSigner)
        recipe.receipt.certificate = certificate
        let receipt = try self.receipt(recipe.receipt, fault: recipe.receiptFault)
        let chain = try recipe.adjustChain([certificate, attestationCA.certificate])
        let object = CBOR.map([
            (CBOR.text("fmt"), recipe.format),
            (
                CBOR.text("attStmt"),
                CBOR.map([
                    (CBOR.text("x5c"), CBOR.array(chain.map(CBOR.bytes))), (CBOR.text("receipt"), CBOR.bytes(receipt)),
                ])
            ),
            (CBOR.text("authData"), CBOR.bytes(authenticatorData)),
        ])
        return SimulatedAttestation(object: recipe.adjustObject(object), receipt: receipt, leafCertificate: certificate)
    }

    private func recipe(for request: SimulatedAttestationRequest, at instant: Date) -> AttestationRecipe {
        let keyId = sha256(request.publicKey)
        let system = request.system
        return AttestationRecipe(
            authority: self, request: request, instant: instant, relyingPartyIdHash: sha256(request.app.applicationId),
            flags: system.sendsExtensions ? 0xC0 : 0x40,
            aaguid: AttestationRecipe.aaguid(isProduction: request.app.isProduction), credentialId: keyId,
            coseKey: AttestationRecipe.cose(point: request.publicKey),
            trailer: system.sendsExtensions ? AttestationRecipe.extensionMap(request.app) : [],
            clientDataHash: request.clientDataHash, leaf: leafRecipe(request, at: instant),
            leafSigner: attestationCA.key,
            receipt: SimulatedReceipt(
                type: .attest, applicationId: request.app.applicationId, certificate: [],
                clientHash: request.clientDataHash, token: token(for: request.publicKey),
                isProduction: request.app.isProduction, creation: instant,
                expiration: instant.addingTimeInterval(90 * 86_400)))
    }

    /// A leaf of three days that began a day before the attestation.
    private func leafRecipe(_ request: SimulatedAttestationRequest, at instant: Date) -> CertificateRecipe {
        let start = Date(timeIntervalSince1970: instant.timeIntervalSince1970.rounded(.down) - 86_400)
        let milliseconds = UInt64(min(max(0, instant.timeIntervalSince1970 * 1000), 1e18))
        return CertificateRecipe(
            serialNumber: Array(milliseconds.bigEndianBytes.suffix(6)),
            issuer: attestationCA.subject, subject: SimulatedAuthority.leafName(of: request.publicKey),
            notBefore: start, notAfter: start.addingTimeInterval(3 * 86_400),
            keyInfo: SimulatorKey.keyInfo(request.publicKey), extensions: leafExtensions(request, at: instant))
    }

    /// What real leaves have, by the version of the device's system and the day.
    private func leafExtensions(_ request: SimulatedAttestationRequest, at instant: Date) -> [CertificateExtension] {
        let system = request.system
        func number(_ tag: Int, _ value: Int) -> [UInt8] { ASN1.tagged(tag, ASN1.integer(value)) }
        func text(_ tag: Int, _ value: String) -> [UInt8] { ASN1.tagged(tag, ASN1.octets(Array(value.utf8))) }

        var extensions: [CertificateExtension] = [.basicConstraints(authority: false), .keyUsage(0xF0)]
        // Since February 2026 there is an extended key usage.
        if instant >= Date(timeIntervalSince1970: 1_769_904_000) {
            extensions.append(CertificateExtension(ASN1.object(2, 5, 29, 37), ASN1.sequence(ASN1.apple(4, 24))))
        }
        var usage = number(4, 10) + number(1200, 0) + number(1201, 0) + number(1202, 0) + number(1203, 0)
        usage += text(1204, request.app.applicationId)
        if system.namesKeyStore { usage += text(5, "sks ") }
        usage += number(1206, 4) + number(1207, 0) + number(1209, 0) + number(1210, 0) + number(1211, 0)
        if !system.namesKeyStore { usage += number(10, 0) }
        extensions.append(CertificateExtension(ASN1.apple(8, 5), ASN1.node(0x30, usage)))

        var information = text(1400, system.version)
        if system.major > 14 {
            information += number(1104, 2)
            if system.sendsAccessControl { information += text(1401, "1.0.248") }
            information += text(1403, system.build) + text(1404, system.version) + text(1405, system.version)
            information += number(1406, 0)
        }
        if system.sendsAccessControl { information += text(1026, system.platform) }
        extensions.append(CertificateExtension(ASN1.apple(8, 7), ASN1.node(0x30, information)))

        if system.sendsAccessControl {
            let list = system.isMac ? SimulatedAuthority.macAccessControl : SimulatedAuthority.phoneAccessControl
            extensions.append(CertificateExtension(ASN1.apple(8, 6), ASN1.sequence(ASN1.tagged(3, ASN1.octets(list)))))
        }
        return extensions
    }

    /// An operation that is always allowed.
    private static func allowed(_ name: String) -> [UInt8] {
        ASN1.sequence(ASN1.text(name), ASN1.tagged(1, ASN1.yes))
    }

    static let phoneAccessControl: [UInt8] = ASN1.sequence(
        ASN1.text("11"), ASN1.node(0x30, ["okd", "oa", "osgn", "odel", "ock"].flatMap(allowed)))

    /// The one that says System Integrity Protection and Full Security, as far as it is known.
    static let macAccessControl: [UInt8] = ASN1.sequence(
        ASN1.text("11"),
        ASN1.node(
            0x30,
            ["ok", "oa", "odel"].flatMap(allowed)
                + ASN1.sequence(
                    ASN1.text("osgn"), ASN1.tagged(0, ASN1.text("rsec")), ASN1.sequence(ASN1.tagged(6, ASN1.integer(1)))
                )))
}
