// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import Vocabulary

/// An attestation as the device made it, read but not judged.
///
///     let object = try AttestationObject(decoding: bytes)   // throws MalformedInput, or is well formed
package struct AttestationObject: Sendable {
    /// The most bytes that are read. Real objects have 5 to 6 kB.
    package static let largestSize = 64 << 10

    /// The certificates as DER, the leaf first.
    package let certificates: [ArraySlice<UInt8>]
    /// The receipt as the device sent it; it has a verdict of its own.
    package let receipt: ArraySlice<UInt8>
    package let authenticatorData: AuthenticatorData

    /// Reads the CBOR of an attestation.
    ///
    /// - Throws: `malformed.too-large`, `malformed.cbor`, `malformed.attestation`, `malformed.authenticator-data`,
    ///   and `attest.format.unknown` if the object is another kind of attestation.
    package init(decoding bytes: some Collection<UInt8>) throws(MalformedInput) {
        let item = try CBORItem(object: bytes, limit: AttestationObject.largestSize, named: "an attestation")
        func malformed(_ reason: String) -> MalformedInput {
            MalformedInput(code: .malformedAttestation, reason: "\(reason); the object is \(item.shape)")
        }
        guard let format = item["fmt"]?.textString else {
            throw malformed(
                item["signature"] == nil
                    ? "an attestation must have a text `fmt`"
                    : "this is an assertion, not an attestation: verify it with the key that was attested")
        }
        guard format.utf8.elementsEqual("apple-appattest".utf8) else {
            throw MalformedInput(
                code: .attestFormatUnknown, place: "fmt",
                reason: "the format is \"\(format.terminalSafe(limit: 40))\", not \"apple-appattest\""
                    + AttestationObject.origin(format, hasData: item["authData"] != nil))
        }
        guard item.entries?.count == 3, let statement = item["attStmt"], let data = item["authData"]?.byteString else {
            throw malformed("an attestation must have exactly `fmt`, `attStmt` and `authData`")
        }
        guard statement.entries?.count == 2, case .array(let chain)? = statement["x5c"],
            let receipt = statement["receipt"]?.byteString
        else {
            throw malformed("`attStmt` must have exactly `x5c` and `receipt`")
        }
        var certificates: [ArraySlice<UInt8>] = []
        for certificate in chain {
            guard let der = certificate.byteString else { throw malformed("`x5c` must contain byte strings only") }
            certificates.append(der)
        }
        self.certificates = certificates
        self.receipt = receipt
        authenticatorData = try AuthenticatorData(attestation: data)
    }
}

extension AttestationObject {
    /// Where an attestation of another format comes from (Web Authentication, section 8; ACME device-attest-01).
    private static func origin(_ format: String, hasData: Bool) -> String {
        switch format {
        case "apple" where !hasData:
            ": this is the attestation of a managed device (ACME device-attest-01), not of an app"
        case "apple", "packed", "none", "tpm", "fido-u2f", "android-key", "android-safetynet", "compound":
            ": this is a WebAuthn attestation (a passkey), not App Attest"
        default: ""
        }
    }
}

/// An assertion as the device made it, read but not judged.
package struct AssertionObject: Sendable {
    /// The most bytes that are read. Real objects have 120 to 200 bytes.
    package static let largestSize = 64 << 10

    /// ECDSA with P-256 and SHA-256, as DER.
    package let signature: ArraySlice<UInt8>
    package let authenticatorData: AuthenticatorData

    /// Reads the CBOR of an assertion.
    ///
    /// - Throws: `malformed.too-large`, `malformed.cbor`, `malformed.assertion`, `malformed.authenticator-data`.
    package init(decoding bytes: some Collection<UInt8>) throws(MalformedInput) {
        let item = try CBORItem(object: bytes, limit: AssertionObject.largestSize, named: "an assertion")
        guard item["fmt"] == nil else {
            throw MalformedInput(
                code: .malformedAssertion, reason: "this is an attestation, not an assertion: verify it as one")
        }
        guard item.entries?.count == 2, let signature = item["signature"]?.byteString,
            let data = item["authenticatorData"]?.byteString
        else {
            throw MalformedInput(
                code: .malformedAssertion,
                reason:
                    "an assertion must have exactly `signature` and `authenticatorData`; the object is \(item.shape)")
        }
        self.signature = signature
        authenticatorData = try AuthenticatorData(assertion: data)
    }

    /// The counter that the assertion carries, not yet verified.
    package var claimedCounter: UInt32 { authenticatorData.counter }
}

extension CBORItem {
    /// One whole object with a size limit, with faults as `malformed.too-large` and `malformed.cbor`.
    fileprivate init(object bytes: some Collection<UInt8>, limit: Int, named name: String) throws(MalformedInput) {
        if bytes.first == 0x30 {
            throw MalformedInput(
                code: .malformedCBOR, place: "offset 0",
                reason:
                    "\(name) is CBOR, and this is DER: a receipt, a certificate, a key, or a signature without the object around it"
            )
        }
        if bytes.starts(with: [0x1F, 0x8B]) {
            throw MalformedInput(
                code: .malformedCBOR, place: "offset 0", reason: "the bytes are compressed (gzip): unpack them first")
        }
        guard bytes.count <= limit else {
            throw MalformedInput(
                code: .malformedTooLarge, reason: "\(name) may have at most \(limit) bytes, not \(bytes.count)")
        }
        let bytes = Array(bytes)
        do {
            try self.init(decoding: bytes[...])
        } catch {
            var reason = bytes.wereText ? MalformedInput.madeText : error.reason
            if bytes.indices.contains(error.offset) {
                reason += "; the byte there is 0x\([bytes[error.offset]].hexadecimal())"
            }
            throw MalformedInput(code: .malformedCBOR, place: "offset \(error.offset)", reason: reason)
        }
    }
}
