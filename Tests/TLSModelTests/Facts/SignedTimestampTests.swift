// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import Testing

@Suite struct SignedTimestampTests {
    static func entry(version: UInt8 = 0, log: UInt8, milliseconds: UInt64) -> [UInt8] {
        let time = (0..<8).reversed().map { UInt8(truncatingIfNeeded: milliseconds >> ($0 * 8)) }
        return [version] + [UInt8](repeating: log, count: 32) + time + [0, 0, 4, 3, 0, 1, 0xAA]
    }

    static func list(_ entries: [[UInt8]]) -> [UInt8] {
        let body = entries.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }
        return [UInt8(body.count >> 8), UInt8(body.count & 255)] + body
    }

    @Test func entriesAreReadAndUnknownVersionsLeftOut() {
        let bytes = Self.list([
            Self.entry(log: 7, milliseconds: 1_500_000_000_000), Self.entry(version: 9, log: 8, milliseconds: 0),
            Self.entry(log: 9, milliseconds: 1_600_000_000_500),
        ])
        let read = SignedTimestamp.list(decoding: bytes)
        #expect(read?.map(\.logIdentifier.first) == [7, 9])
        #expect(read?.last?.issued == Date(timeIntervalSince1970: 1_600_000_000.5))
    }

    @Test func everyTruncationIsRefused() {
        let bytes = Self.list([Self.entry(log: 7, milliseconds: 1), Self.entry(log: 9, milliseconds: 2)])
        for length in bytes.indices { #expect(SignedTimestamp.list(decoding: Array(bytes[..<length])) == nil) }
    }
}
