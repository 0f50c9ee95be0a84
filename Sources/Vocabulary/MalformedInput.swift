// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Bytes or text from outside that are not what they claim to be.
///
/// Match on ``code``; print the rest. Equality ignores everything but the code, so codes are easy to test and reasons may improve.
public struct MalformedInput: Error, Sendable, ComparedByCode, CustomStringConvertible {
    /// What kind of input was malformed, for example `malformed.cbor`.
    public let code: Code
    /// Where: a byte offset (`offset 12`), a line (`line 3`, with its column where that is known) or a key path. Empty if the whole input is meant.
    public let place: String
    /// One sentence without a full stop: what was expected and what was found.
    public let reason: String

    package init(code: Code, place: String = "", reason: String) {
        self.code = code
        self.place = place
        self.reason = reason
    }

    /// Makes one whose place is the input itself: its first 80 characters, safe for a terminal.
    package init(code: Code, quoting input: String, reason: String) {
        let shown = String(String.UnicodeScalarView(input.unicodeScalars.prefix(80)))
        self.init(code: code, place: shown.terminalSafe, reason: reason)
    }

    public var description: String { place.isEmpty ? reason : "\(place): \(reason)" }
}
