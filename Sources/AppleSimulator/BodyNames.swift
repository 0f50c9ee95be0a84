// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

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
