// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Findings
package import StrictJSON
import TrustStores

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
            throw Problem(.requestMalformed, evidence: error.description)
        }
        guard let list = document.members else {
            throw Problem(.requestMalformed, evidence: "the body is not an object")
        }
        try document.refuseDoubledMember()
        members = Dictionary(list.map { (UTF8Key($0.name), $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// A text that may be absent; at most `limit` Unicode scalars.
    package func optionalString(_ name: String, limit: Int = 65536) throws(Problem) -> String? {
        guard let value = members[UTF8Key(name)], value != .null else { return nil }
        // No text has more scalars than bytes: the scalars of a short one need not be counted.
        guard let text = value.text, text.utf8.count <= limit || text.unicodeScalars.count <= limit else {
            throw Problem(.requestMalformed, evidence: "\(name) must be a string of at most \(limit) characters")
        }
        return text
    }

    /// A text that must be there and not empty.
    package func string(_ name: String, limit: Int = 65536) throws(Problem) -> String {
        guard let text = try optionalString(name, limit: limit), !text.isEmpty else {
            throw Problem(.requestMalformed, evidence: "\(name) is missing or empty")
        }
        return text
    }

    /// Bytes in standard base64 that may be absent.
    package func optionalBytes(_ name: String) throws(Problem) -> [UInt8]? {
        guard let text = try optionalString(name) else { return nil }
        guard let bytes = Base64.decode(text) else {
            throw Problem(.malformedBase64, evidence: "\(name) is not base64")
        }
        return bytes
    }

    /// Bytes in standard base64 that must be there.
    package func bytes(_ name: String) throws(Problem) -> [UInt8] {
        guard let bytes = try optionalBytes(name) else {
            throw Problem(.requestMalformed, evidence: "\(name) is missing")
        }
        return bytes
    }

    package func optionalFlag(_ name: String) throws(Problem) -> Bool? {
        switch members[UTF8Key(name)] {
        case nil, .null?: return nil
        case .bool(let flag)?: return flag
        default: throw Problem(.requestMalformed, evidence: "\(name) must be true or false")
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

    /// `keyId`: base64 of 32 bytes.
    func keyId() throws(Problem) -> KeyIdentifier {
        guard let keyId = KeyIdentifier(bytes: try bytes("keyId")) else {
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
