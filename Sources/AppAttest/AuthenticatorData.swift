// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

/// The authenticator data of an attestation or an assertion, taken apart (Web Authentication, section 6.1, as App Attest uses it).
package struct AuthenticatorData: Sendable {
    /// All of it, as it was signed.
    package let bytes: ArraySlice<UInt8>
    /// 32 bytes.
    package let relyingPartyIdHash: ArraySlice<UInt8>
    package let flags: UInt8
    package let counter: UInt32
    /// Present in attestations only.
    package let credential: AttestedCredential?
    /// What follows the credential: one CBOR item from iOS 27 on, nothing before. Found by offset, because devices set the flag (0x80)
    /// and Apple's published sample does not.
    private let trailer: CBORItem?
    /// The same as bytes: empty if there is nothing.
    private let trailerBytes: ArraySlice<UInt8>

    /// The extensions without a verdict, or what an unknown shape is, described without its content.
    package var claimedExtensions: (known: AttestationExtensions?, unknownShape: String?) {
        guard let trailer else { return (nil, nil) }
        let known = AttestationExtensions(trailer, encoded: trailerBytes)
        return (known, known == nil ? trailer.shape : nil)
    }

    /// What a device says about a new key.
    package struct AttestedCredential: Sendable {
        /// 16 bytes that name the environment.
        package let aaguid: ArraySlice<UInt8>
        /// 32 bytes: the key identifier.
        package let credentialId: ArraySlice<UInt8>
        /// The COSE key as `0x04`, x, y: 65 bytes.
        package let publicKey: [UInt8]
    }

    /// Reads the authenticator data of an attestation.
    init(attestation bytes: ArraySlice<UInt8>) throws(MalformedInput) {
        var rest = bytes
        let head = try AuthenticatorData.head(&rest)
        guard head.flags == 0x40 || head.flags == 0xC0 else {
            throw AuthenticatorData.malformed("the flags are \(head.flags), not 0x40 or 0xC0", at: 32)
        }
        let credential = try AuthenticatorData.credential(&rest, start: bytes.startIndex)
        try self.init(bytes, head, credential, rest)
    }

    /// Reads the authenticator data of an assertion, which sets the flag for a credential (0x40) and carries none.
    init(assertion bytes: ArraySlice<UInt8>) throws(MalformedInput) {
        var rest = bytes
        let head = try AuthenticatorData.head(&rest)
        guard head.flags & 0x3F == 0 else {
            throw AuthenticatorData.malformed("the flags are \(head.flags): unknown bits are set", at: 32)
        }
        try self.init(bytes, head, nil, rest)
    }

    private typealias Head = (hash: ArraySlice<UInt8>, flags: UInt8, counter: UInt32)

    private init(
        _ bytes: ArraySlice<UInt8>, _ head: Head, _ credential: AttestedCredential?, _ rest: ArraySlice<UInt8>
    ) throws(MalformedInput) {
        let offset = rest.startIndex - bytes.startIndex
        if rest.isEmpty {
            guard head.flags & 0x80 == 0 else {
                throw AuthenticatorData.malformed("the flags announce extensions, but none follow", at: offset)
            }
            trailer = nil
        } else {
            do {
                trailer = try CBORItem(decoding: rest)
            } catch {
                throw AuthenticatorData.malformed(
                    "the extensions are not one CBOR map: \(error.reason)", at: offset + error.offset)
            }
        }
        trailerBytes = rest
        self.bytes = bytes
        (relyingPartyIdHash, flags, counter) = head
        self.credential = credential
    }

    private static func head(_ rest: inout ArraySlice<UInt8>) throws(MalformedInput) -> Head {
        guard rest.count >= 37 else {
            throw malformed("authenticator data must have at least 37 bytes, not \(rest.count)", at: 0)
        }
        let hash = rest.prefix(32)
        rest = rest.dropFirst(32)
        let flags = rest.first ?? 0
        let counter = rest.dropFirst().prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        rest = rest.dropFirst(5)
        return (hash, flags, counter)
    }

    private static func credential(
        _ rest: inout ArraySlice<UInt8>, start: Int
    ) throws(MalformedInput) -> AttestedCredential {
        guard rest.count >= 18 + 32 else {
            throw malformed("it ends within the credential", at: rest.endIndex - start)
        }
        let aaguid = rest.prefix(16)
        let length = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        guard length == 32 else {
            throw malformed("a credential identifier must have 32 bytes, not \(length)", at: 53)
        }
        rest = rest.dropFirst(18)
        let credentialId = rest.prefix(32)
        rest = rest.dropFirst(32)
        let key: CBORItem
        let offset = rest.startIndex - start
        do {
            key = try CBORItem(readingFrom: &rest)
        } catch {
            throw malformed("the public key is not CBOR: \(error.reason)", at: offset + error.offset)
        }
        return AttestedCredential(aaguid: aaguid, credentialId: credentialId, publicKey: try point(of: key, at: offset))
    }

    /// The uncompressed point of a COSE key (RFC 9053, section 7.1.1) that is exactly EC2, ES256, P-256, x, y.
    private static func point(of key: CBORItem, at offset: Int) throws(MalformedInput) -> [UInt8] {
        guard key.entries?.count == 5,
            key[.unsigned(1)] == .unsigned(2),
            key[.unsigned(3)] == .negative(6),
            key[.negative(0)] == .unsigned(1),
            let x = coordinate(key[.negative(1)]), let y = coordinate(key[.negative(2)])
        else {
            throw malformed("the public key is not an ES256 key on P-256: \(key.shape)", at: offset)
        }
        return [0x04] + x + y
    }

    /// A coordinate as 32 bytes.
    ///
    /// RFC 9053 wants leading zeros kept, and devices leave them out: one coordinate is shorter in one key of 128. The whole point is
    /// compared with the certified key afterwards.
    private static func coordinate(_ item: CBORItem?) -> [UInt8]? {
        guard let bytes = item?.byteString, 1...32 ~= bytes.count, bytes.count == 32 || bytes.first != 0 else {
            return nil
        }
        return [UInt8](repeating: 0, count: 32 - bytes.count) + bytes
    }

    private static func malformed(_ reason: String, at offset: Int) -> MalformedInput {
        MalformedInput(code: .malformedAuthenticatorData, place: "authData offset \(offset)", reason: reason)
    }
}
