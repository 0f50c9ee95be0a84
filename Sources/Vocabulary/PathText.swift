// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The folder of a path: what precedes its last slash; empty for a name alone, `/` below the root.
    ///
    /// By bytes, like the system reads paths. `NSString.deletingLastPathComponent` of Foundation for Linux ends the process for a path of one letter.
    package var parentFolder: String {
        var end = utf8.endIndex
        while end > utf8.startIndex, utf8[utf8.index(before: end)] == 0x2F { end = utf8.index(before: end) }
        guard let slash = utf8[..<end].lastIndex(of: 0x2F) else { return end == utf8.startIndex && !isEmpty ? "/" : "" }
        var stop = slash
        while stop > utf8.startIndex, utf8[utf8.index(before: stop)] == 0x2F { stop = utf8.index(before: stop) }
        return stop == utf8.startIndex ? "/" : String(decoding: utf8[..<stop], as: UTF8.self)
    }

    package var lastName: String {
        guard let slash = utf8.lastIndex(of: 0x2F) else { return self }
        return String(decoding: utf8[utf8.index(after: slash)...], as: UTF8.self)
    }

    /// What follows the last dot of the last name; empty if there is none.
    package var nameSuffix: String {
        let name = lastName
        guard let dot = name.utf8.lastIndex(of: 0x2E) else { return "" }
        return String(decoding: name.utf8[name.utf8.index(after: dot)...], as: UTF8.self)
    }
}
