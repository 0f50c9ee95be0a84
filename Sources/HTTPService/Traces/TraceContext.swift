// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import Tracing
import Vocabulary

/// Where a span is: its trace, itself, and whether the trace is recorded. W3C Trace Context, <https://www.w3.org/TR/trace-context/>.
package struct TraceContext: Sendable, Equatable {
    /// The 128 bits of the trace's id, never all zero.
    package struct TraceID: Sendable, Equatable {
        let high: UInt64
        let low: UInt64
    }

    package let traceID: TraceID
    /// Never zero.
    package let spanID: UInt64
    /// Whether whoever began the trace records it.
    package let isSampled: Bool
    /// What others wrote about the trace, passed on as it came; nil for nothing.
    package let state: String?

    init(traceID: TraceID, spanID: UInt64, isSampled: Bool, state: String? = nil) {
        (self.traceID, self.spanID, self.isSampled, self.state) = (traceID, spanID, isSampled, state)
    }

    /// Reads `traceparent`, and `tracestate` with it.
    ///
    /// - Returns: nil for a malformed `traceparent` (section 3.2). A malformed `tracestate` is left out (section 3.3).
    package init?(traceparent: String, tracestate: String? = nil) {
        guard traceparent.utf8.count <= TraceContext.parentLimit else { return nil }
        let parts = traceparent.utf8.split(separator: UInt8(ascii: "-"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].count == 2, parts[1].count == 32, parts[2].count == 16, parts[3].count == 2,
            let version = TraceContext.number(parts[0]), let high = TraceContext.number(parts[1].prefix(16)),
            let low = TraceContext.number(parts[1].suffix(16)), let span = TraceContext.number(parts[2]),
            let flags = TraceContext.number(parts[3])
        else { return nil }
        // Version 255 is forbidden; a later version than 0 may say more behind the flags.
        guard version != 255, version > 0 || parts.count == 4, high != 0 || low != 0, span != 0 else { return nil }
        self.init(
            traceID: TraceID(high: high, low: low), spanID: span, isSampled: flags & 1 == 1,
            state: tracestate.flatMap(TraceContext.state(of:)))
    }

    /// As in a `traceparent` of version 0.
    package var traceparent: String { "00-\(traceID)-\(TraceContext.hex(spanID))-\(isSampled ? "01" : "00")" }

    /// No version that is known has more than 55 bytes.
    private static let parentLimit = 128
    /// What everybody has to pass on (section 3.3.1.5); more is left out.
    private static let stateLimit = (bytes: 512, members: 32)

    /// Digits are in lower case and nothing else: the sign that an integer may have is none here.
    private static func number(_ digits: Substring.UTF8View) -> UInt64? {
        guard digits.allSatisfy(\.isLowercaseHexadecimal) else { return nil }
        return UInt64(Substring(digits), radix: 16)
    }

    fileprivate static func hex(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return "\(String(repeating: "0", count: max(0, 16 - digits.utf8.count)))\(digits)"
    }

    /// The list without blanks; nil unless every member is `key=value` and no key is there twice.
    private static func state(of text: String) -> String? {
        guard text.utf8.count <= stateLimit.bytes else { return nil }
        var members: [String] = []
        var keys: Set<UTF8Key> = []
        for part in text.utf8.split(separator: UInt8(ascii: ",")) {
            let part = String(Substring(part)).trimmed()
            if part.isEmpty { continue }
            let sides = part.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = sides.first, let value = sides.dropFirst().first else { return nil }
            guard (1...256).contains(key.count), key.allSatisfy(isOfKey), (1...256).contains(value.count),
                value.allSatisfy({ 0x20...0x7E ~= $0 && $0 != UInt8(ascii: "=") }),
                keys.insert(UTF8Key(String(Substring(key)))).inserted, members.count < stateLimit.members
            else { return nil }
            members.append(part)
        }
        return members.isEmpty ? nil : members.joined(separator: ",")
    }

    private static func isOfKey(_ byte: UInt8) -> Bool {
        0x61...0x7A ~= byte || 0x30...0x39 ~= byte || "_-*/@".utf8.contains(byte)
    }
}

extension TraceContext.TraceID: CustomStringConvertible {
    /// 32 digits.
    package var description: String { "\(TraceContext.hex(high))\(TraceContext.hex(low))" }
}

extension TraceContext {
    /// The id of the span, 16 digits.
    var spanText: String { TraceContext.hex(spanID) }
}

extension ServiceContext {
    private enum Key: ServiceContextKey {
        typealias Value = TraceContext
    }

    /// The span that work is done for; nil for none.
    package var trace: TraceContext? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }
}
