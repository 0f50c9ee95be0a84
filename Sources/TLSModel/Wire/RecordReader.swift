// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Cuts the bytes of a connection into records.
package struct RecordReader: Sendable {
    package struct Record: Sendable {
        package let type: UInt8
        /// The five bytes before the body; TLS 1.3 authenticates them.
        package let header: ArraySlice<UInt8>
        package let body: ArraySlice<UInt8>
    }

    package enum Step: Sendable {
        case record(Record)
        case needsMore
        /// The very first bytes are no TLS record; a few of them.
        case notTLS(prefix: [UInt8])
        case broken(String)
    }

    private var buffer: [UInt8] = []
    private var position = 0
    package private(set) var received = 0
    private var isFirst = true

    package init() {}

    package mutating func append(_ bytes: [UInt8]) {
        if position > 16 * 1024 {
            buffer.removeFirst(position)
            position = 0
        }
        received += bytes.count
        buffer.append(contentsOf: bytes)
    }

    package mutating func next() -> Step {
        let rest = buffer[position...]
        guard let type = rest.first else { return .needsMore }
        guard (20...23).contains(type), rest.count < 2 || rest[rest.startIndex + 1] == 3 else {
            return isFirst ? .notTLS(prefix: Array(rest.prefix(32))) : .broken("a record has the unknown type \(type)")
        }
        guard rest.count >= 5 else { return .needsMore }
        let length = Int(rest[rest.startIndex + 3]) << 8 | Int(rest[rest.startIndex + 4])
        // 2^14, and 256 for the expansion by encryption (RFC 8446 section 5.2); older versions allow 2048 (RFC 5246 6.2.3).
        guard length <= 16 * 1024 + 2048 else {
            return isFirst ? .notTLS(prefix: Array(rest.prefix(32))) : .broken("a record is \(length) bytes long")
        }
        guard rest.count >= 5 + length else { return .needsMore }
        isFirst = false
        position += 5 + length
        return .record(Record(type: type, header: rest.prefix(5), body: rest.dropFirst(5).prefix(length)))
    }

    /// The body in as many records as it needs; an empty body is one empty record.
    package static func record(_ type: UInt8, version: UInt16, _ body: [UInt8]) -> [UInt8] {
        var writer = WireWriter()
        var rest = body[...]
        repeat {
            let fragment = rest.prefix(maximumFragment)
            rest = rest.dropFirst(maximumFragment)
            writer.write8(type)
            writer.write16(version)
            writer.prefixed(2) { $0.write(fragment) }
        } while !rest.isEmpty
        return writer.bytes
    }

    /// The most bytes of one record before encryption: 2^14 (RFC 8446 section 5.1).
    package static let maximumFragment = 16 * 1024
}

/// Joins handshake fragments to messages: one over several records, or several in one.
package struct MessageReader: Sendable {
    package enum Step: Sendable {
        /// The type, the body, and the whole message with its header.
        case message(UInt8, ArraySlice<UInt8>, whole: ArraySlice<UInt8>)
        case needsMore
        case tooLong(Int)
    }

    private var buffer: [UInt8] = []
    private var position = 0

    package init() {}

    /// Whether a message has begun and not ended.
    package var isInsideMessage: Bool { position < buffer.count }

    package mutating func append(_ fragment: ArraySlice<UInt8>) {
        if position == buffer.count {
            buffer.removeAll(keepingCapacity: true)
            position = 0
        }
        buffer.append(contentsOf: fragment)
    }

    package mutating func next() -> Step {
        let rest = buffer[position...]
        guard rest.count >= 4 else { return .needsMore }
        let head = rest.startIndex
        let length = Int(rest[head + 1]) << 16 | Int(rest[head + 2]) << 8 | Int(rest[head + 3])
        guard length <= WireLimits.message else { return .tooLong(length) }
        guard rest.count >= 4 + length else { return .needsMore }
        position += 4 + length
        return .message(rest[head], rest.dropFirst(4).prefix(length), whole: rest.prefix(4 + length))
    }
}
