// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

extension MalformedInput {
    /// What happened to bytes that ``Swift/Collection/wereText``.
    package static let madeText =
        "the bytes were made a text on their way, which lost some of them (UTF-8): encode them in base64 in the app, before they pass a text, JSON or a bridge"
}

extension Collection<UInt8> {
    /// Whether these bytes were decoded as a text and encoded again: U+FFFD stands where a byte was no UTF-8, or each byte was read as Latin-1.
    package var wereText: Bool {
        let head = Array(prefix(4096))
        if head.starts(with: [0xC2, 0xA2, 0x69]) || head.starts(with: [0xC2, 0xA3, 0x63]) { return true }
        var (rest, count) = (head[...], 0)
        while count <= 2, let place = rest.firstIndex(of: 0xEF) {
            rest = rest[place...]
            if rest.starts(with: [0xEF, 0xBF, 0xBD]) { count += 1 }
            rest = rest.dropFirst()
        }
        return count > 2
    }
}
