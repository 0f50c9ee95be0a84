// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import AppAttest

/// Our reader of signatures takes and refuses what swift-crypto's does, number for number.
@Suite struct SignatureEncodingTests {
    /// What a reader makes of an encoding: the two numbers, or nil where it refuses.
    private func ours(_ der: [UInt8]) -> Data? { try? P256.Signing.ECDSASignature(der: der[...]).rawRepresentation }

    private func theirs(_ der: [UInt8]) -> Data? {
        try? P256.Signing.ECDSASignature(derRepresentation: der).rawRepresentation
    }

    private static func integer(_ bytes: [UInt8]) -> [UInt8] { [0x02, UInt8(bytes.count)] + bytes }

    private static func sequence(_ members: [UInt8]) -> [UInt8] { [0x30, UInt8(members.count)] + members }

    static let full = [UInt8](repeating: 0x7F, count: 32)
    static let high = [0] + [UInt8](repeating: 0xFF, count: 32)

    @Test(arguments: [
        sequence(integer([1]) + integer([2])),
        sequence(integer([0]) + integer([0])),
        sequence(integer(full) + integer(high)),
        // One byte longer than the curve.
        sequence(integer([1] + full) + integer([2])),
        sequence(integer([0, 0x80] + full) + integer([2])),
        // Not the shortest form.
        sequence(integer([0, 1]) + integer([2])),
        sequence(integer([0, 0]) + integer([2])),
        // Negative.
        sequence(integer([0x80]) + integer([2])),
        sequence(integer([1]) + integer([0xFF, 0xFF])),
        // No bytes, one number, three numbers, something behind, another type, a length in its long form.
        sequence(integer([]) + integer([2])),
        sequence(integer([1])),
        sequence(integer([1]) + integer([2]) + integer([3])),
        sequence(integer([1]) + integer([2])) + [0],
        sequence([0x04, 1, 1] + integer([2])),
        [0x30, 0x81, 6] + integer([1]) + integer([2]),
        [0x30, 0x80] + integer([1]) + integer([2]) + [0, 0],
        [],
        [0x30],
        [0x30, 0],
    ])
    func chosen(_ der: [UInt8]) { #expect(ours(der) == theirs(der)) }

    @Test func realOnesWithEveryBitTurnedAndEveryLength() throws {
        let key = P256.Signing.PrivateKey()
        var taken = 0
        for number in 0..<40 {
            let der = Array(try key.signature(for: Data([UInt8(number)])).derRepresentation)
            #expect(ours(der) == theirs(der))
            #expect(ours(der) != nil)
            for length in der.indices {
                let short = Array(der.prefix(length))
                #expect(ours(short) == theirs(short))
            }
            for bit in 0..<der.count * 8 {
                var turned = der
                turned[bit / 8] ^= 1 << UInt8(bit % 8)
                let result = ours(turned)
                if result != nil { taken += 1 }
                #expect(result == theirs(turned), "bit \(bit) of \(der)")
            }
        }
        // Most bits belong to the numbers themselves.
        #expect(taken > 40 * 400)
    }
}
