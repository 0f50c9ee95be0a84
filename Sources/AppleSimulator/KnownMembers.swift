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
