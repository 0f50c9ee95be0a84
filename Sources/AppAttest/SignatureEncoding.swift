// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import StrictASN1

extension P256.Signing.ECDSASignature {
    /// Reads `ECDSA-Sig-Value` (RFC 3279, section 2.2.3) in DER, with the reader that reads certificates and receipts.
    ///
    /// It takes what `init(derRepresentation:)` of swift-crypto takes, which builds a tree of the two numbers first: 3 of the 70
    /// microseconds that an assertion's signature costs.
    init(der: ArraySlice<UInt8>) throws {
        var members = try ASN1Members(try ASN1Element(der, .der), "a signature")
        var raw: [UInt8] = []
        raw.reserveCapacity(64)
        for _ in 0..<2 {
            let number = try members.require().unsignedInteger()
            guard number.count <= 32 else { throw ASN1Fault("a number is longer than the curve") }
            raw.append(contentsOf: repeatElement(0, count: 32 - number.count))
            raw.append(contentsOf: number)
        }
        try members.end()
        try self.init(rawRepresentation: Data(raw))
    }
}
