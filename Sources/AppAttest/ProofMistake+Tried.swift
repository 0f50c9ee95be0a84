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

    /// The most client data hashes that are tried for one object; an assertion costs a signature for each.
    private static let mostTries = 15

    /// What the other side's clientDataHash would be after each usual mistake, the most usual first. At most 15.
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
            Tried(mistake: .hexPassed, hash: Array(hash.hexadecimal().utf8)),
            Tried(mistake: .base64TextPassed, hash: Array(Base64.encode(hash).utf8)),
        ]
        let empty = Tried(mistake: .otherText("no bytes at all"), hash: hashed([]))
        guard let clientData, clientData.count <= largestClientData else { return tries + [empty] }
        // Data that is a text of bytes: the other side decoded it first.
        let given = String(decoding: clientData, as: UTF8.self)
        if let decoded = Base64.decode(given) ?? Base64.decodeURL(given), !decoded.isEmpty {
            tries.append(Tried(mistake: .base64TextHashed, hash: hashed(decoded)))
            tries.append(Tried(mistake: .hashedTwice, hash: decoded))
        }
        let isUUID = given.utf8.count == 36 && given.utf8.count { $0 == UInt8(ascii: "-") } == 4
        let digits = isUUID ? given.replacing("-", with: "") : given
        if let decoded = digits.hexadecimalBytes, !decoded.isEmpty {
            let other = given == given.lowercased() ? given.uppercased() : given.lowercased()
            tries.append(Tried(mistake: .hexHashed, hash: hashed(decoded)))
            tries.append(Tried(mistake: .hashedTwice, hash: decoded))
            tries.append(Tried(mistake: .otherText("capital letters"), hash: hashed(other.utf8)))
        }
        // Hexadecimal digits that were read as base64.
        let encoded = Base64.encode(clientData)
        if let decoded = encoded.hexadecimalBytes, !decoded.isEmpty {
            tries.append(Tried(mistake: .hexHashed, hash: hashed(decoded)))
        }
        tries += [
            Tried(mistake: .unhashed, hash: clientData),
            Tried(mistake: .base64TextHashed, hash: hashed(encoded.utf8)),
            Tried(mistake: .hexHashed, hash: hashed(clientData.hexadecimal().utf8)),
        ]
        // Bytes that are no text travel in base64, and some hash what they received.
        let text = String(validating: clientData, as: UTF8.self)
        let texts = text.flatMap(JSONText.init)?.rewritten ?? changed(text ?? encoded)
        tries += texts.map { Tried(mistake: $0.mistake, hash: hashed($0.text)) }
        tries += [
            empty, Tried(mistake: .base64TextHashed, hash: hashed(Base64.encodeURL(clientData).utf8)),
        ]
        return Array(tries.prefix(mostTries))
    }

    /// A text that the other side may have hashed instead, and the mistake.
    fileprivate typealias OtherText = (mistake: ProofMistake, text: [UInt8])

    /// A text that is no JSON, as it is changed on its way: by a line break, in quotes, as a member of an object, in UTF-16.
    private static func changed(_ text: String) -> [OtherText] {
        let trimmed = text.trimmed()
        let quote = UInt8(ascii: "\"")
        let isQuoted = text.utf8.count > 2 && text.utf8.first == quote && text.utf8.last == quote
        let unquoted = isQuoted ? Array(text.utf8.dropFirst().dropLast()) : [quote] + text.utf8 + [quote]
        return [
            trimmed.utf8.count == text.utf8.count
                ? (.otherText("a line break at the end"), Array((text + "\n").utf8))
                : (.otherText("the white space at the ends"), Array(trimmed.utf8)),
            (.otherText("quotes around the text"), unquoted),
            (
                .otherText("the text as a member `challenge` of JSON"),
                JSONValue.object([.init("challenge", .string(text))]).encoded(pretty: false)
            ),
            (.otherText("the text in UTF-16"), text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }),
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
            let claimed = receipt?.clientDataHash
            let named = claimed.flatMap { isSigned($0) ? $0 : nil }
            if named == nil, claimed?.elementsEqual(clientDataHash.bytes) == true {
                refusal.reason =
                    "the client data hash is the one in the receipt: the authenticator data are not those that were certified"
                return refusal
            }
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
        let tries = ProofMistake.tries(clientDataHash.bytes, clientData: clientData)
        if let fitting = tries.first(where: { signs($0.hash) }) {
            refusal.mistake = fitting.mistake
            refusal.compared = [ComparedValue("clientDataHash", expected: clientDataHash.bytes, found: fitting.hash)]
        }
        return refusal
    }
}

/// Client data that is JSON.
private struct JSONText {
    private let given: [UInt8]
    private let text: String
    private let value: JSONValue

    /// Nil for a text that is no object and no array.
    init?(_ text: String) {
        self.text = text.trimmed()
        guard self.text.utf8.first == UInt8(ascii: "{") || self.text.utf8.first == UInt8(ascii: "["),
            let value = try? JSONReader.read(Array(self.text.utf8))
        else { return nil }
        (self.value, given) = (value, Array(text.utf8))
    }

    /// The same JSON as other encoders write it, the most usual first: with slashes escaped or not, without white space or with a blank
    /// after each comma and colon, with the members in alphabetical order, with letters instead of escapes, with a line break, in quotes;
    /// and the challenge in it alone.
    var rewritten: [ProofMistake.OtherText] {
        let plain = Array(text.replacing(#"\/"#, with: "/").utf8)
        let compact = plain.withoutJSONSpace(separator: [])
        let sorted = value.sorted.encoded(pretty: false)
        let read = value.encoded(pretty: false)
        let texts = [
            Array(text.utf8), compact.escapingSlashes, compact, sorted.escapingSlashes, sorted, read.escapingSlashes,
            read,
            compact.withoutJSONSpace(separator: [0x20]), sorted.withoutJSONSpace(separator: [0x20]), plain,
            plain.escapingSlashes, Array(text.utf8) + [0x0A], JSONValue.string(text).encoded(pretty: false),
        ]
        var known: Set<[UInt8]> = [given]
        var others: [ProofMistake.OtherText] = texts.filter { known.insert($0).inserted }.map { (.jsonRewritten, $0) }
        if let challenge = value.member("challenge")?.text {
            let alone = ProofMistake.otherText("the challenge alone, without the JSON around it")
            let bytes = [Base64.decode(challenge) ?? Base64.decodeURL(challenge), Array(challenge.utf8)]
            others.insert(contentsOf: bytes.compactMap { $0.map { (alone, $0) } }, at: min(3, others.count))
        }
        return others
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
    /// JSON with a backslash before each slash.
    fileprivate var escapingSlashes: [UInt8] { flatMap { $0 == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), $0] : [$0] } }

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
