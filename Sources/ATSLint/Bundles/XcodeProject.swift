// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists

/// What an Xcode project file says about its Info.plists.
enum XcodeProject {
    /// Where the project lets the build generate an Info.plist and names no file of its own. Nil if it does not.
    ///
    /// The document is empty and points at the line that says so.
    static func generated(_ bytes: [UInt8]) -> PlistDocument? {
        let wanted = Array("GENERATE_INFOPLIST_FILE = YES".utf8)
        guard let range = bytes.firstRange(of: wanted), bytes.firstRange(of: Array(" INFOPLIST_FILE = ".utf8)) == nil,
            bytes.firstRange(of: Array("\tINFOPLIST_FILE = ".utf8)) == nil
        else { return nil }
        // What follows the line is not needed to say where it is.
        let source = Array(bytes[..<range.upperBound])
        return PlistDocument(root: PlistNode(.dictionary([]), range: range), format: .xml, source: source)
    }
}
