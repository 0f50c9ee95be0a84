// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CZlib
import TLSModel

/// A Certificate message that the server packed (RFC 8879 section 4).
enum CompressedCertificate {
    /// The only algorithm that Apple's clients offer.
    static let zlib: UInt16 = 1

    /// The body of the Certificate message inside; it may unfold to no more than any message may have.
    static func body(_ packed: ArraySlice<UInt8>) throws(MalformedMessage) -> ArraySlice<UInt8> {
        var reader = WireReader(packed)
        guard let algorithm = reader.read16(), let length = reader.read(3)?.reduce(0, { $0 << 8 | Int($1) }),
            let content = reader.vector(3), reader.isEmpty, !content.isEmpty
        else { throw MalformedMessage("The server's CompressedCertificate is malformed") }
        guard algorithm == zlib else {
            throw MalformedMessage(
                "The server compressed its certificates with algorithm \(algorithm), which was not offered")
        }
        guard (1...WireLimits.message).contains(length) else {
            throw MalformedMessage("The server announced certificates of \(length) bytes")
        }
        let input = Array(content)
        // One byte more than stated shows a message that lies about its size.
        // Safe: zlib reads the input and writes the buffer no further than the counts that it is given.
        let output = unsafe [UInt8](unsafeUninitializedCapacity: length + 1) { buffer, count in
            var written = uLongf(length + 1)
            count =
                unsafe uncompress(buffer.baseAddress, &written, input, uLong(input.count)) == Z_OK
                ? Int(clamping: written) : 0
        }
        guard output.count == length else {
            throw MalformedMessage(
                "The server's compressed certificates are damaged, or expand to a length other than announced")
        }
        return output[...]
    }
}
