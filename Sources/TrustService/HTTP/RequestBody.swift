// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
package import Formats
package import HTTPService
import TrustStores
import Vocabulary

/// The JSON object of a request, read member by member. A name that is given twice is refused.
///
/// Names are keys by their bytes: what a caller chose is never compared as text.
package struct RequestBody: Sendable {
    private let members: [UTF8Key: JSONValue]

    /// - Parameter limits: what the document may ask of the reader; client data has room for what the app wants.
    /// - Throws: ``Problem`` `request.malformed` for anything but one JSON object without duplicate members.
    package init(_ bytes: [UInt8], limits: JSONReader.Limits = .outside) throws(Problem) {
        let document: JSONValue
        do throws(MalformedInput) {
            document = try JSONReader.read(bytes, limits: limits)
        } catch {
            throw RequestBody.withBytes(bytes, limits) ?? Problem(.requestMalformed, evidence: error.description)
        }
        guard let list = document.members else {
            throw Problem(.requestMalformed, evidence: "the body is not an object")
        }
        try document.refuseDoubledMember()
        members = Dictionary(list.map { (UTF8Key($0.name), $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// The refusal of a body with more values than are read, if a member of it is bytes in a list of numbers.
    private static func withBytes(_ bytes: [UInt8], _ limits: JSONReader.Limits) -> Problem? {
        var wider = limits
        wider.values = mostBytes
        let members = (try? JSONReader.read(bytes, limits: wider))?.members
        return members?.lazy.compactMap { member -> Problem? in
            guard let bytes = member.value.bytes, member.name.utf8.count <= 64 else { return nil }
            return malformed(member.name.terminalSafe, bytes, wanted: "base64")
        }.first
    }

    /// The most bytes of a body that a configuration may allow.
    package static let mostBytes = 65_536

    /// A text that may be absent; at most `limit` Unicode scalars.
    ///
    /// - Parameter wanted: what the text stands for, in the refusal of a value that is no text.
    package func optionalString(
        _ name: String, limit: Int = mostBytes, wanted: String? = nil
    ) throws(Problem) -> String? {
        guard let value = members[UTF8Key(name)], value != .null else { return nil }
        // No text has more scalars than bytes: the scalars of a short one need not be counted.
        guard let text = value.text, text.utf8.count <= limit || text.unicodeScalars.count <= limit else {
            throw RequestBody.malformed(
                name, value.text == nil ? value.kind : "a longer text",
                wanted: wanted ?? "a text of at most \(limit) characters")
        }
        return text
    }

    /// The refusal of a member that is absent or of another kind. Of the body's bytes it has a name that is nearly the
    /// wanted one, one letter that is none of base64, and a short name before brackets; nothing else.
    private static func malformed(
        _ name: String, _ form: String, code: Code = .requestMalformed, wanted: String
    ) -> Problem {
        var problem = Problem(code, evidence: "\(name): \(form); wanted: \(wanted)")
        problem.form = (name, form, wanted)
        return problem
    }

    /// A member that must be there and is not, or is there under a name in another style: `key_id`, `keyID`.
    private func missing(_ name: String, wanted: String) -> Problem {
        if members[UTF8Key(name)] != nil { return RequestBody.malformed(name, "null", wanted: wanted) }
        let letters = name.utf8.filter(\.isASCIIAlphanumeric).asciiLowercased
        let near = members.keys.map(\.text).first {
            $0.utf8.count <= 64 && $0.utf8.filter(\.isASCIIAlphanumeric).asciiLowercased == letters
        }
        return RequestBody.malformed(
            name, near.map { "missing; the body has `\($0.terminalSafe)`" } ?? "missing", wanted: wanted)
    }

    /// A text that must be there and not empty.
    package func string(_ name: String, limit: Int = mostBytes) throws(Problem) -> String {
        guard let text = try optionalString(name, limit: limit), !text.isEmpty else {
            throw members[UTF8Key(name)]?.text == ""
                ? RequestBody.malformed(name, "empty", wanted: "text") : missing(name, wanted: "text")
        }
        return text
    }

    /// Bytes that may be absent: base64 or base64url, padded or not, or hexadecimal if their number is fixed.
    ///
    /// - Throws: ``Problem`` `malformed.base64`, or `request.malformed` for another number of bytes, with the form that was met.
    package func optionalBytes(_ name: String, size: Int? = nil) throws(Problem) -> [UInt8]? {
        let wanted = size.map { "base64 of \($0) bytes" } ?? "base64"
        guard let text = try optionalString(name, wanted: wanted) else { return nil }
        let letters = Array(text.utf8)
        if letters.isEmpty { throw RequestBody.malformed(name, "empty", wanted: wanted) }
        // An object in hexadecimal is base64 too, of something that is no object.
        let isHexObject = size == nil && RequestBody.isHexadecimalObject(text)
        if !isHexObject, let bytes = Base64.decode(letters), size == nil || bytes.count == size {
            if size == nil, bytes.count >= 74, bytes.allSatisfy(\.isBase64),
                Base64.decode(bytes)?.first.map(RequestBody.beginsObject) == true
            {
                throw RequestBody.malformed(name, "base64 of base64", code: .malformedBase64, wanted: wanted)
            }
            return bytes
        }
        var (code, met) = (Code.malformedBase64, "text that is not base64")
        if isHexObject { throw RequestBody.malformed(name, "hexadecimal", code: .malformedBase64, wanted: wanted) }
        // Other forms are looked for in short texts only: what is wrong with a long one costs no more than reading it.
        if letters.count <= RequestBody.searchedText || letters.allSatisfy(RequestBody.isURLCharacter)
            || RequestBody.isListOfNumbers(letters)
        {
            do throws(MalformedInput) {
                let read = try PastedBytes(reading: letters, wanted: size.map { .size($0) } ?? .anything)
                if read.isPlain, size != nil || read.form != "hexadecimal", size == nil || read.bytes.count == size {
                    return read.bytes
                }
                if read.isPlain, size != nil { code = .requestMalformed }
                met = size == nil ? read.form : "\(read.form) of \(read.bytes.count) bytes"
            } catch {
                met = error.reason
            }
        }
        throw RequestBody.malformed(name, met, code: code, wanted: wanted)
    }

    /// Whether a text is an attestation, an assertion or a receipt in hexadecimal: CBOR begins with a map, a receipt with a sequence.
    private static func isHexadecimalObject(_ text: String) -> Bool {
        let head = String(decoding: text.utf8.prefix(74), as: UTF8.self)
        guard text.utf8.count >= 74, text.utf8.count % 2 == 0, let bytes = head.hexadecimalBytes,
            let first = bytes.first
        else { return false }
        return beginsObject(first)
    }

    private static func beginsObject(_ byte: UInt8) -> Bool { 0xA1...0xBF ~= byte || byte == 0x30 }

    /// The longest text in which other forms than the plain ones are looked for.
    private static let searchedText = 16 << 10

    /// Whether a text has next to nothing but numbers: of an attestation they are four times as long as base64, and quickly looked through.
    private static func isListOfNumbers(_ text: [UInt8]) -> Bool {
        text.count <= 2 * searchedText
            && text.count { !($0.hexadecimalValue != nil || "x, \n[]{}()<>-".utf8.contains($0)) } <= 32
    }

    private static func isURLCharacter(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || "-_=".utf8.contains(byte) }

    /// Client data in standard base64, which may be absent. Its bytes are what was signed: it is read in one form only.
    package func optionalClientData() throws(Problem) -> [UInt8]? {
        guard let text = try optionalString("clientData", wanted: RequestBody.clientDataForm) else { return nil }
        guard let bytes = Base64.decode(text) else {
            throw RequestBody.malformed(
                "clientData", "text that is not standard base64", code: .malformedBase64,
                wanted: RequestBody.clientDataForm)
        }
        return bytes
    }

    private static let clientDataForm = "standard base64 with padding"

    package func clientData() throws(Problem) -> [UInt8] {
        guard let bytes = try optionalClientData() else {
            throw missing("clientData", wanted: RequestBody.clientDataForm)
        }
        return bytes
    }

    /// Bytes that must be there, read as ``optionalBytes(_:size:)`` reads them.
    package func bytes(_ name: String, size: Int? = nil) throws(Problem) -> [UInt8] {
        guard let bytes = try optionalBytes(name, size: size) else {
            throw missing(name, wanted: size.map { "base64 of \($0) bytes" } ?? "base64")
        }
        return bytes
    }

    package func optionalFlag(_ name: String) throws(Problem) -> Bool? {
        switch members[UTF8Key(name)] {
        case nil, .null?: return nil
        case .bool(let flag)?: return flag
        default: throw RequestBody.malformed(name, "something else", wanted: "true or false")
        }
    }

    /// An object or array as it was sent.
    package func value(_ name: String) -> JSONValue? {
        guard let value = members[UTF8Key(name)], value != .null else { return nil }
        return value
    }

    /// `user`: a name that every store can take.
    func user() throws(Problem) -> String? {
        guard let user = try optionalString("user", limit: RequestBody.userLimit) else { return nil }
        guard RequestBody.isUser(user) else {
            throw Problem(.requestMalformed, evidence: "user is empty or contains a zero byte")
        }
        return user
    }

    /// Whether a text of a body, query or path can be the name of a user: 1 to 256 characters without a zero byte.
    static func isUser(_ text: String) -> Bool {
        !text.utf8.isEmpty && StoreText.isUser(text) && text.unicodeScalars.count <= userLimit
    }

    private static let userLimit = 256

    /// `keyId`: 32 bytes.
    func keyId() throws(Problem) -> KeyIdentifier {
        guard let keyId = KeyIdentifier(bytes: try bytes("keyId", size: 32)) else {
            throw Problem(.requestMalformed, evidence: "keyId must be 32 bytes")
        }
        return keyId
    }
}

extension JSONValue {
    /// Refuses a document in which a name is given twice, at any depth.
    ///
    /// - Throws: ``Problem`` `request.malformed`.
    func refuseDoubledMember() throws(Problem) {
        if hasDoubledMember { throw Problem(.requestMalformed, evidence: "a member is given twice") }
    }
}

extension UInt8 {
    fileprivate var isBase64: Bool { isASCIIAlphanumeric || "+/=".utf8.contains(self) }
}

extension JSONValue {
    /// What a value is that is no text.
    fileprivate var kind: String {
        switch self {
        case .object: bytes ?? "an object"
        case .array: bytes ?? "a list"
        case .null: "null"
        case .bool: "true or false"
        case .string: "a text"
        default: "a number"
        }
    }

    /// What JavaScript and others write for bytes; nil for another value.
    fileprivate var bytes: String? {
        if let elements, !elements.isEmpty, elements.allSatisfy({ $0.integer != nil }) { return "a list of numbers" }
        if member("type")?.text == "Buffer", member("data")?.bytes != nil { return "a Buffer of Node" }
        guard let members, members.first?.name == "0", members.allSatisfy({ $0.value.integer != nil }) else {
            return nil
        }
        return "a list of numbers with their places"
    }

    func adding(_ members: [Member]) -> JSONValue { .object((self.members ?? []) + members) }
}
