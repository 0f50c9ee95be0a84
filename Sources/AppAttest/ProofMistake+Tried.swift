// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
import FoundationEssentials
import Vocabulary

extension ProofMistake {
    /// A client data hash that a usual mistake makes, and the mistake.
    struct Tried {
        let mistake: ProofMistake
        let hash: [UInt8]
    }

    /// The most bytes of client data that are hashed again to find a mistake; longer data is not tried.
    static let largestClientData = 64 << 10

    /// What the other side's clientDataHash would be after each usual mistake. At most 12.
    ///
    /// - Parameters:
    ///   - hash: the client data hash that the caller expects.
    ///   - clientData: what the caller hashed; nil if only the hash is known.
    static func tries(_ hash: [UInt8], clientData: [UInt8]?) -> [Tried] {
        func hashed(_ bytes: some Sequence<UInt8>) -> [UInt8] { Array(SHA256.hash(data: Array(bytes))) }
        var tries = [
            Tried(mistake: .hashedTwice, hash: hashed(hash)),
            Tried(mistake: .hexHashed, hash: hashed(hash.hexadecimal().utf8)),
            Tried(mistake: .base64TextHashed, hash: hashed(Base64.encode(hash).utf8)),
        ]
        guard let clientData, clientData.count <= largestClientData else { return tries }
        // Data that is a text of bytes: the other side decoded it first.
        let text = String(decoding: clientData, as: UTF8.self)
        if let decoded = Base64.decode(text) ?? Base64.decodeURL(text), !decoded.isEmpty {
            tries.append(Tried(mistake: .base64TextHashed, hash: hashed(decoded)))
            tries.append(Tried(mistake: .hashedTwice, hash: decoded))
        }
        let isUUID = text.utf8.count == 36 && text.utf8.count { $0 == UInt8(ascii: "-") } == 4
        let digits = isUUID ? text.replacing("-", with: "") : text
        if let decoded = digits.hexadecimalBytes, !decoded.isEmpty {
            tries.append(Tried(mistake: .hexHashed, hash: hashed(decoded)))
            tries.append(Tried(mistake: .hashedTwice, hash: decoded))
        }
        // Hexadecimal digits that were read as base64.
        let encoded = Base64.encode(clientData)
        if let decoded = encoded.hexadecimalBytes, !decoded.isEmpty {
            tries.append(Tried(mistake: .hexHashed, hash: hashed(decoded)))
        }
        return tries + [
            Tried(mistake: .unhashed, hash: clientData),
            Tried(mistake: .base64TextHashed, hash: hashed(encoded.utf8)),
            Tried(mistake: .base64TextHashed, hash: hashed(Base64.encodeURL(clientData).utf8)),
            Tried(mistake: .hexHashed, hash: hashed(clientData.hexadecimal().utf8)),
        ]
    }

    /// The App ID that an object names, against those that are expected.
    static func appId(expected: [AppIdentity], found: String) -> ProofMistake? {
        for app in expected where app.applicationId != found {
            if app.applicationId.lowercased().utf8.elementsEqual(found.lowercased().utf8) { return .appIdCase }
            guard let bundle = try? AppIdentity(found).bundleId.utf8 else { continue }
            // The prefix is another, or was left out.
            if bundle.elementsEqual(app.bundleId.utf8) || bundle.elementsEqual(app.applicationId.utf8) {
                return .appIdPrefix
            }
        }
        return nil
    }
}

extension AttestationVerifier {
    /// A refusal with the client data hash and the App ID that the object itself names, and with the usual mistake that explains it.
    ///
    /// The receipt inside an attestation names the client data hash (field 4) and the App ID (field 2) in clear. They are shown only if the
    /// certified nonce and the hash in the authenticator data confirm them.
    ///
    /// - Parameters:
    ///   - refusal: what ``verify(_:keyId:clientDataHash:at:)-(Collection<UInt8>,_,_,_)`` answered for the same arguments.
    ///   - clientData: what `clientDataHash` is the SHA-256 of, if it is known.
    public func explained(
        _ refusal: Refusal, of attestation: some Collection<UInt8>, clientDataHash: ClientDataHash,
        clientData: [UInt8]? = nil
    ) -> Refusal {
        guard let object = try? AttestationObject(decoding: attestation) else { return refusal }
        let receipt = try? Receipt(decoding: object.receipt)
        var refusal = refusal
        switch refusal.code {
        case .attestNonceMismatch:
            guard let leaf = object.certificates.first.flatMap({ try? CertificateRecord(der: $0) }),
                let nonce = leaf.value(of: OID.attestationNonce)?.suffix(32)
            else { return refusal }
            func isSigned(_ hash: [UInt8]) -> Bool {
                var hasher = SHA256()
                hasher.update(data: object.authenticatorData.bytes)
                hasher.update(data: hash)
                return nonce.elementsEqual(hasher.finalize())
            }
            let named = receipt?.clientDataHash.flatMap { isSigned($0) ? $0 : nil }
            let tries = ProofMistake.tries(clientDataHash.bytes, clientData: clientData)
            if let fitting = tries.first(where: { isSigned($0.hash) }) {
                refusal.mistake = fitting.mistake
            } else if let named,
                let fitting = ProofMistake.tries(named, clientData: nil).first(where: {
                    $0.hash.elementsEqual(clientDataHash.bytes)
                })
            {
                // The same from the other side: what the caller expects is made of what the app passed.
                let isHash = named.count == 32 && !named.isPrintable
                refusal.mistake = fitting.mistake == .hashedTwice && !isHash ? .unhashed : fitting.mistake
            }
            refusal.compared.insert(
                ComparedValue(
                    "clientDataHash", expected: Base64.encode(clientDataHash.bytes),
                    found: (named ?? tries.first { isSigned($0.hash) }?.hash).map(Base64.encode)), at: 0)
        case .attestAppIdMismatch:
            guard let named = receipt?.applicationId,
                SHA256.hash(data: Array(named.utf8)).elementsEqual(object.authenticatorData.relyingPartyIdHash)
            else { return refusal }
            for index in refusal.compared.indices where refusal.compared[index].name == "appId" {
                refusal.compared[index].found = named
            }
            refusal.mistake = ProofMistake.appId(expected: acceptedApps, found: named)
        case .attestKeyIdMismatch:
            guard let der = object.certificates.first, let leaf = try? CertificateRecord(der: der),
                let key = try? AttestationPublicKey(x963Representation: leaf.keyBits)
            else { return refusal }
            let others: [(name: String, bytes: [UInt8])] = [
                ("SPKI in DER", Array(key.key.derRepresentation)),
                ("x and y without the 04 before them", Array(key.x963Representation.dropFirst())),
                ("the compressed point", Array(key.key.compressedRepresentation)),
                ("the leaf certificate", Array(der)),
            ]
            let expected = refusal.compared.first?.expected.flatMap(Base64.decode) ?? []
            if let other = others.first(where: { expected.elementsEqual(SHA256.hash(data: $0.bytes)) }) {
                refusal.reason = "the key identifier is SHA-256 of \(other.name), not of the 65 bytes of the point"
            }
        case .attestEnvironmentMismatch: refusal.mistake = .environment
        default: break
        }
        return refusal
    }
}

extension AssertionVerifier {
    /// A refusal with the usual mistake that explains it, found by trying each with the key: at most 16 signatures are verified.
    ///
    /// - Parameters:
    ///   - refusal: what ``verify(_:publicKey:clientDataHash:previousCounter:)-(Collection<UInt8>,_,_,_)`` answered for the same arguments.
    ///   - clientData: what `clientDataHash` is the SHA-256 of, if it is known.
    public func explained(
        _ refusal: Refusal, of assertion: some Collection<UInt8>, publicKey: AttestationPublicKey,
        clientDataHash: ClientDataHash, clientData: [UInt8]? = nil
    ) -> Refusal {
        guard refusal.code == .assertSignatureInvalid, let object = try? AssertionObject(decoding: assertion) else {
            return refusal
        }
        func nonce(_ hash: [UInt8]) -> SHA256Digest {
            var hasher = SHA256()
            hasher.update(data: object.authenticatorData.bytes)
            hasher.update(data: hash)
            return hasher.finalize()
        }
        var refusal = refusal
        let raw = SignatureNumbers.raw(of: object.signature, width: 32)
        guard
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw ?? Array(object.signature))
        else { return refusal }
        func signs(_ hash: [UInt8]) -> Bool {
            publicKey.key.isValidSignature(signature, for: SHA256.hash(data: Array(nonce(hash))))
        }
        if raw == nil {
            if signs(clientDataHash.bytes) { refusal.mistake = .rawSignature }
            return refusal
        }
        if publicKey.key.isValidSignature(signature, for: nonce(clientDataHash.bytes)) {
            refusal.mistake = .singleHash
            return refusal
        }
        var tries = ProofMistake.tries(clientDataHash.bytes, clientData: clientData)
        tries += rewritten(clientData).map { .init(mistake: .jsonRewritten, hash: Array(SHA256.hash(data: $0))) }
        if let fitting = tries.first(where: { signs($0.hash) }) {
            refusal.mistake = fitting.mistake
            refusal.compared = [ComparedValue("clientDataHash", expected: clientDataHash.bytes, found: fitting.hash)]
        }
        return refusal
    }

    /// JSON as other encoders write it: with slashes escaped or not, without white space or with a blank after each comma and colon, and
    /// with the members in alphabetical order. At most eight texts.
    private func rewritten(_ clientData: [UInt8]?) -> [[UInt8]] {
        guard let clientData, clientData.count <= ProofMistake.largestClientData else { return [] }
        let text = String(decoding: clientData, as: UTF8.self)
        let trimmed = text.trimmed()
        guard trimmed.utf8.first == UInt8(ascii: "{") || trimmed.utf8.first == UInt8(ascii: "[") else { return [] }
        let plain = trimmed.replacing(#"\/"#, with: "/")
        let escaped = plain.replacing("/", with: #"\/"#)
        var texts = [trimmed, plain, escaped].map { Array($0.utf8) }
        texts += [plain, escaped].map { Array($0.utf8).withoutJSONSpace(separator: []) }
        texts.append(Array(plain.utf8).withoutJSONSpace(separator: [0x20]))
        if let sorted = try? JSONReader.read(Array(trimmed.utf8)).sorted.encoded(pretty: false) {
            texts += [sorted, sorted.withoutJSONSpace(separator: [0x20])]
        }
        return texts.filter { $0 != clientData }
    }
}

extension JSONValue {
    /// The same with the members of each object in the order of their names. The reader has bounded the depth.
    fileprivate var sorted: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.sorted))
        case .object(let members):
            .object(
                members.map { Member($0.name, $0.value.sorted) }.sorted { left, right in
                    left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
                })
        default: self
        }
    }
}

extension [UInt8] {
    /// JSON without white space between its tokens, and with `separator` after each comma and colon.
    fileprivate func withoutJSONSpace(separator: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        var (isInString, isEscaped) = (false, false)
        for byte in self {
            if isInString {
                text.append(byte)
                if byte == UInt8(ascii: "\""), !isEscaped { isInString = false }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            } else if byte > 0x20 {
                text.append(byte)
                if byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":") { text += separator }
                isInString = byte == UInt8(ascii: "\"")
            }
        }
        return text
    }

    /// Whether every byte is printable ASCII, so that the bytes are probably a text.
    fileprivate var isPrintable: Bool { allSatisfy { (0x20..<0x7F).contains($0) } }
}
