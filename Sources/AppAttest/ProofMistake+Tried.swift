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
    private static let mostTries = 39

    /// What the other side's clientDataHash would be after each usual mistake, the most usual first. At most 39.
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
        let others = [
            Tried(mistake: .hexPassed, hash: Array(hash.hexadecimal().utf8)),
            Tried(mistake: .base64TextPassed, hash: Array(Base64.encode(hash).utf8)),
            Tried(mistake: .otherText("no bytes at all"), hash: hashed([])),
            Tried(mistake: .hexHashed, hash: hashed(hash.hexadecimal().uppercased().utf8)),
            Tried(mistake: .base64TextHashed, hash: hashed(Base64.encodeURL(hash).utf8)),
        ]
        guard let clientData, clientData.count <= largestClientData else { return tries + others }
        let encoded = Base64.encode(clientData)
        tries += [
            Tried(mistake: .unhashed, hash: clientData), Tried(mistake: .unhashed, hash: Array(encoded.utf8)),
            Tried(mistake: .base64TextHashed, hash: hashed(encoded.utf8)),
            Tried(mistake: .hexHashed, hash: hashed(clientData.hexadecimal().utf8)),
        ]
        // Data that is a text of bytes: the other side decoded it first.
        let given = String(decoding: clientData, as: UTF8.self)
        let isUUID = given.utf8.count == 36 && given.utf8.count { $0 == UInt8(ascii: "-") } == 4
        let digits = isUUID ? given.replacing("-", with: "") : given
        if let decoded = digits.hexadecimalBytes, !decoded.isEmpty {
            tries.append(Tried(mistake: .hexHashed, hash: hashed(decoded)))
            tries.append(Tried(mistake: .hashedTwice, hash: decoded))
            if isUUID { tries.append(Tried(mistake: .otherText("the hyphens"), hash: hashed(digits.utf8))) }
        }
        if let decoded = Base64.decode(given) ?? Base64.decodeURL(given), !decoded.isEmpty {
            tries.append(Tried(mistake: .base64TextHashed, hash: hashed(decoded)))
            tries.append(Tried(mistake: .hashedTwice, hash: decoded))
            tries += base64Forms(decoded).map {
                Tried(mistake: .otherText("another form of base64: base64url, or without padding"), hash: hashed($0))
            }
        }
        // Hexadecimal digits that were read as base64.
        if let decoded = encoded.hexadecimalBytes, !decoded.isEmpty {
            tries.append(Tried(mistake: .hexHashed, hash: hashed(decoded)))
        }
        // Bytes that are no text travel in base64, and some hash what they received.
        let text = String(validating: clientData, as: UTF8.self)
        let texts = text.flatMap(JSONText.init)?.rewritten ?? changed(text ?? encoded)
        tries += texts.map { Tried(mistake: $0.mistake, hash: hashed($0.text)) }
        if let challenge = text.flatMap(JSONText.init)?.challenge {
            tries += challenge.map { Tried(mistake: .unhashed, hash: $0) }
        }
        tries += others
        tries += utf16(text ?? encoded).map { Tried(mistake: .otherText("the text in UTF-16"), hash: hashed($0)) }
        tries += base64Forms(clientData).dropFirst().map { Tried(mistake: .base64TextHashed, hash: hashed($0)) }
        return Array(tries.prefix(mostTries))
    }

    /// The forms of base64, the standard one with padding first: base64url, and both without padding or with it.
    private static func base64Forms(_ bytes: [UInt8]) -> [[UInt8]] {
        let (standard, url) = (Base64.encode(bytes), Base64.encodeURL(bytes))
        let padding = standard.utf8.count - url.utf8.count
        let forms = [standard, url, String(standard.dropLast(padding)), url + String(repeating: "=", count: padding)]
        return forms.map { Array($0.utf8) }
    }

    /// A text in UTF-16 of both orders, without and with a byte order mark.
    private static func utf16(_ text: String) -> [[UInt8]] {
        let little = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        let big = text.utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        return [little, big, [0xFF, 0xFE] + little, [0xFE, 0xFF] + big]
    }

    /// A text that the other side may have hashed instead, and the mistake.
    fileprivate typealias OtherText = (mistake: ProofMistake, text: [UInt8])

    /// A text that is no JSON, as it is changed on its way: by a line break, in quotes, as a member of an object, in other letters.
    private static func changed(_ text: String) -> [OtherText] {
        let trimmed = text.trimmed()
        let quote = UInt8(ascii: "\"")
        let isQuoted = text.utf8.count > 2 && text.utf8.first == quote && text.utf8.last == quote
        let unquoted = isQuoted ? Array(text.utf8.dropFirst().dropLast()) : [quote] + text.utf8 + [quote]
        let lower = text.lowercased()
        return [
            trimmed.utf8.count == text.utf8.count
                ? (.otherText("a line break at the end"), Array((text + "\n").utf8))
                : (.otherText("the white space at the ends"), Array(trimmed.utf8)),
            (.otherText("quotes around the text"), unquoted),
            (
                .otherText("the text as a member `challenge` of JSON"),
                JSONValue.object([.init("challenge", .string(text))]).encoded(pretty: false)
            ),
            (.otherText("capital letters"), Array((text == lower ? text.uppercased() : lower).utf8)),
            (.otherText("a line break of Windows at the end"), Array((text + "\r\n").utf8)),
            (.otherText("a byte order mark"), [0xEF, 0xBB, 0xBF] + text.utf8),
        ]
    }

    /// The App ID that an object names, against those that are expected.
    static func appId(expected: [AppIdentity], found: String) -> ProofMistake? {
        for app in expected where app.applicationId != found {
            if app.applicationId.lowercased().utf8.elementsEqual(found.lowercased().utf8) { return .appIdCase }
            if app.applicationId.utf8.starts(with: (found + ".").utf8), (try? AppIdentity(found)) != nil {
                return .appIdSuffix
            }
            if found.utf8.starts(with: (app.applicationId + ".").utf8) { return .appIdContinued }
            guard let bundle = try? AppIdentity(found).bundleId.utf8 else { continue }
            // The prefix is another, was left out, or is there twice.
            if bundle.elementsEqual(app.bundleId.utf8) || bundle.elementsEqual(app.applicationId.utf8)
                || found.utf8.elementsEqual(app.bundleId.utf8)
            {
                return .appIdPrefix
            }
        }
        return nil
    }

    /// The mistake that leads from the expected App ID to the one with this hash, and that one if it is known; nil if none of at most 16 does.
    static func appId(
        expected: AppIdentity, hash: some Collection<UInt8>
    ) -> (mistake: ProofMistake, found: String?)? {
        let (prefix, bundle) = (expected.prefix, expected.bundleId)
        let parts = expected.applicationId.split(separator: ".", maxSplits: 32)
        // Safe: joins arrays.
        let others =
            parts.indices.dropFirst(2).suffix(8).map { (appIdSuffix, parts[..<$0].joined(separator: ".")) } + [
                (appIdCase, "\(prefix.uppercased()).\(bundle)"), (appIdCase, "\(prefix).\(bundle.lowercased())"),
                (appIdCase, "\(prefix.uppercased()).\(bundle.lowercased())"), (appIdPrefix, bundle),
            ] + ["dev", "debug", "staging", "beta"].map { (appIdContinued, "\(expected).\($0)") }
        if let other = others.first(where: { hash.elementsEqual(SHA256.hash(data: Array($0.1.utf8))) }) { return other }
        return expected.hasPrefixOfApple ? nil : (appIdWithoutPrefix, nil)
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
                ("the base64 text of the right one", Array(key.keyId.base64.utf8)),
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
    /// A refusal with the usual mistake that explains it, found by trying each with the key: at most 40 signatures are verified.
    ///
    /// - Parameters:
    ///   - refusal: what ``verify(_:publicKey:clientDataHash:previousCounter:)-(Collection<UInt8>,_,_,_)`` answered for the same arguments.
    ///   - clientData: what `clientDataHash` is the SHA-256 of, if it is known.
    public func explained(
        _ refusal: Refusal, of assertion: some Collection<UInt8>, publicKey: AttestationPublicKey,
        clientDataHash: ClientDataHash, clientData: [UInt8]? = nil
    ) -> Refusal {
        guard [.assertSignatureInvalid, .assertAppIdMismatch].contains(refusal.code),
            let object = try? AssertionObject(decoding: assertion)
        else { return refusal }
        func nonce(_ hash: [UInt8]) -> SHA256Digest {
            var hasher = SHA256()
            hasher.update(data: object.authenticatorData.bytes)
            hasher.update(data: hash)
            return hasher.finalize()
        }
        var refusal = refusal
        if refusal.code == .assertAppIdMismatch {
            let other = ProofMistake.appId(expected: app, hash: object.authenticatorData.relyingPartyIdHash)
            refusal.mistake = other?.mistake
            for index in refusal.compared.indices where refusal.compared[index].name == "appId" {
                refusal.compared[index].found = other?.found
            }
            return refusal
        }
        let raw = SignatureNumbers.raw(of: object.signature, width: 32)
        guard
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw ?? Array(object.signature))
        else { return refusal }
        func signs(_ hash: [UInt8]) -> Bool {
            publicKey.key.isValidSignature(signature, for: SHA256.hash(data: Array(nonce(hash))))
        }
        let isSingle = publicKey.key.isValidSignature(signature, for: nonce(clientDataHash.bytes))
        if raw == nil {
            if isSingle || signs(clientDataHash.bytes) { refusal.mistake = .rawSignature }
            return refusal
        }
        if isSingle {
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
    /// after each comma and colon, over several lines, with the members in alphabetical order, with letters instead of escapes or the other way
    /// round, with a line break, in quotes; at most 16, and the challenge in it alone.
    var rewritten: [ProofMistake.OtherText] {
        let plain = Array(text.replacing(#"\/"#, with: "/").utf8)
        let compact = plain.withoutJSONSpace(separator: [])
        let sorted = value.sorted.encoded(pretty: false)
        let read = value.encoded(pretty: false)
        let (letters, sortedLetters) = (read.escapingLetters, sorted.escapingLetters)
        let texts = [
            Array(text.utf8), Array(text.utf8) + [0x0A], compact.escapingSlashes, compact, read.escapingSlashes, read,
            sorted.escapingSlashes, sorted, compact.withoutJSONSpace(separator: [0x20]),
            sorted.withoutJSONSpace(separator: [0x20]),
            // PHP, and Python in three usual ways.
            letters.escapingSlashes, letters.withoutJSONSpace(separator: [0x20]), sortedLetters,
            sortedLetters.withoutJSONSpace(separator: [0x20]),
            // JSON.stringify, Gson and Python, and then Swift.
            compact.laidOut(indent: 2, colon: ": "), compact.laidOut(indent: 4, colon: ": "),
            read.escapingSlashes.laidOut(indent: 2, colon: " : "),
            sorted.escapingSlashes.laidOut(indent: 2, colon: " : "), JSONValue.string(text).encoded(pretty: false),
            read.withoutJSONSpace(separator: [0x20]), read.laidOut(indent: 2, colon: ": "),
            read.laidOut(indent: 4, colon: ": "), plain, plain.escapingSlashes, Array(text.utf8) + [0x0D, 0x0A],
            [0xEF, 0xBB, 0xBF] + text.utf8,
        ]
        var known: Set<[UInt8]> = [given]
        var others: [ProofMistake.OtherText] = texts.filter { known.insert($0).inserted }.prefix(Self.mostTexts).map {
            (.jsonRewritten, $0)
        }
        let alone = (challenge ?? []).map {
            (ProofMistake.otherText("the challenge alone, without the JSON around it"), $0)
        }
        others.insert(contentsOf: alone, at: min(3, others.count))
        return others
    }

    /// The most other texts of the same JSON that are tried.
    private static let mostTexts = 16

    /// The challenge in the JSON: the bytes that it is the base64 of, if it is one, and its text.
    var challenge: [[UInt8]]? {
        (value.member("challenge") ?? value.member("nonce"))?.text.map { text in
            [Base64.decode(text) ?? Base64.decodeURL(text), Array(text.utf8)].compactMap(\.self)
        }
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

    /// JSON without letters that are not ASCII, each as `\\u` and four digits.
    fileprivate var escapingLetters: [UInt8] {
        String(decoding: self, as: UTF8.self).utf16.flatMap { unit -> [UInt8] in
            guard unit >= 0x80 else { return [UInt8(truncatingIfNeeded: unit)] }
            return Array(#"\u"#.utf8) + [UInt8(unit >> 8), UInt8(truncatingIfNeeded: unit)].hexadecimal().utf8
        }
    }

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

    /// JSON without white space, over several lines. Long texts stay as they are: blanks at a great depth would make them much longer.
    fileprivate func laidOut(indent: Int, colon: String) -> [UInt8] {
        guard count <= 4 << 10 else { return self }
        var text: [UInt8] = []
        var depth = 0
        var (isInString, isEscaped) = (false, false)
        func newLine() -> [UInt8] { [0x0A] + [UInt8](repeating: 0x20, count: depth * indent) }
        for index in indices {
            let byte = self[index]
            switch Unicode.Scalar(byte) {
            case _ where isInString: text.append(byte)
            case "{", "[":
                depth += 1
                text.append(byte)
                if !"}]".utf8.contains(self[index...].dropFirst().first ?? 0) { text += newLine() }
            case "}", "]":
                depth -= 1
                if !"{[".utf8.contains(self[..<index].last ?? 0) { text += newLine() }
                text.append(byte)
            case ",": text += [byte] + newLine()
            case ":": text += colon.utf8
            default: text.append(byte)
            }
            if byte == UInt8(ascii: "\""), !isEscaped { isInString.toggle() }
            isEscaped = isInString && byte == UInt8(ascii: "\\") && !isEscaped
        }
        return text
    }

    /// Whether every byte is printable ASCII, so that the bytes are probably a text.
    fileprivate var isPrintable: Bool { allSatisfy { (0x20..<0x7F).contains($0) } }
}
