// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// A JSON body that names its members, so that one that is misspelled is refused and not ignored: a fault that never comes makes a test pass.
protocol KnownMembers: Decodable {
    associatedtype CodingKeys: CodingKey, CaseIterable
}

/// A member that a body must not have.
struct UnknownMember: Error {
    /// Where it is, its first 64 bytes, and the members that there are.
    let detail: String
}

extension KnownMembers {
    /// Reads one body.
    ///
    /// - Parameter members: those that may be there; every one of the type unless said otherwise.
    /// - Throws: ``UnknownMember``, or an error of the decoder.
    static func read(_ bytes: [UInt8], members: [CodingKeys] = Array(CodingKeys.allCases)) throws -> Self {
        try check(JSONDecoder().decode([String: Ignored].self, from: Data(bytes)), members: members, at: "")
        return try JSONDecoder().decode(Self.self, from: Data(bytes))
    }

    /// Reads a list of bodies; as ``read(_:members:)``.
    static func readList(_ bytes: [UInt8]) throws -> [Self] {
        for (place, found) in try JSONDecoder().decode([[String: Ignored]].self, from: Data(bytes)).enumerated() {
            try check(found, members: Array(CodingKeys.allCases), at: " of element \(place)")
        }
        return try JSONDecoder().decode([Self].self, from: Data(bytes))
    }

    private static func check(_ found: [String: Ignored], members: [CodingKeys], at place: String) throws {
        let known = members.map(\.stringValue)
        // The same member is named each time, whatever the order of the dictionary.
        guard let unknown = found.keys.filter({ name in !known.contains { $0.utf8.elementsEqual(name.utf8) } }).min()
        else { return }
        let name = String(decoding: unknown.utf8.prefix(64), as: UTF8.self)
        let choice = known.isEmpty ? "none is known" : "known are " + known.joined(separator: ", ")
        throw UnknownMember(detail: "unknown member '\(name)'\(place); \(choice)")
    }
}

/// Any value, not looked at.
private struct Ignored: Decodable {
    init(from decoder: any Decoder) {}
}

/// Looks through a body before it is decoded, byte by byte: what Foundation's decoder makes of it are texts whose hashes and comparisons take time
/// that grows with the square of a run of combining marks, inside the actor that answers everybody.
enum BodyNames {
    /// The most bytes of a member's name, as it is written. The longest that is known has 18.
    static let nameLimit = 64
    /// The most bytes of any other text with characters beyond ASCII or with escapes. Base64 may be as long as the body.
    static let textLimit = 1024

    /// Whether all texts between quotation marks are short enough. What is no JSON has none, or is refused by its reader.
    static func areBounded(_ body: [UInt8]) -> Bool {
        var rest = body[...]
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")) {
            rest = rest[quote...].dropFirst()
            var (count, isPlain, isOver) = (0, true, false)
            while !isOver, let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): isOver = true
                case UInt8(ascii: "\\"):
                    // A quotation mark after it ends nothing.
                    _ = rest.popFirst()
                    (count, isPlain) = (count + 2, false)
                default:
                    count += 1
                    if byte >= 0x80 { isPlain = false }
                }
            }
            let next = rest.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            if next == UInt8(ascii: ":") ? count > nameLimit : !isPlain && count > textLimit { return false }
        }
        return true
    }
}
