// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The two numbers of an ECDSA signature (RFC 3279, section 2.2.3).
package enum SignatureNumbers {
    /// Both numbers behind each other, `width` bytes each; nil if the bytes are not such a signature in DER, or a number is longer.
    ///
    /// swift-crypto's own reader goes through two big numbers, which costs a fortieth of an accepted assertion.
    package static func raw(of signature: ArraySlice<UInt8>, width: Int) -> [UInt8]? {
        guard let element = try? ASN1Element(signature, .der),
            var members = try? ASN1Members(element, "a signature"),
            let first = try? members.require().unsignedInteger(),
            let second = try? members.require().unsignedInteger(),
            (try? members.end()) != nil, first.count <= width, second.count <= width
        else { return nil }
        var raw: [UInt8] = []
        // Safe: the width is that of a curve.
        raw.reserveCapacity(2 * width)
        for number in [first, second] {
            raw.append(contentsOf: repeatElement(0, count: width - number.count))
            raw.append(contentsOf: number)
        }
        return raw
    }
}
