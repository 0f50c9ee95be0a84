// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import PropertyLists
import Vocabulary

/// The list in the `ios` element of a tiapp.xml, which Titanium merges into the Info.plist.
enum TitaniumProject {
    /// - Throws: `malformed.plist` for a list that is none. Nil for a file without a dictionary for App Transport Security.
    static func document(_ bytes: [UInt8]) throws(MalformedInput) -> PlistDocument? {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .plist("", "is not text in UTF-8") }
        var tokens = XMLTokenizer(bytes)
        while tokens.byte != nil {
            let start = tokens.position
            if tokens.byte != UInt8(ascii: "<") {
                tokens.position += 1
            } else if try tokens.section() == nil, try !tokens.skipMarkup(),
                bytes[tokens.tag().name].elementsEqual("plist".utf8)
            {
                let end = bytes[start...].firstRange(of: Array("</plist>".utf8))?.upperBound
                guard let end else { throw tokens.fault("<plist> is not closed", at: start) }
                let list = try PlistReader.read(Array(bytes[..<end]), from: start)
                guard list.root[ATSKey.dictionary] != nil else { return nil }
                return PlistDocument(root: list.root, format: .text, source: bytes, oddities: list.oddities)
            }
        }
        return nil
    }
}
