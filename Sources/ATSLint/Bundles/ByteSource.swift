// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// Bytes that can be read from any place: a file that is no stream, or memory.
package protocol ByteSource {
    var size: Int { get }
    /// Exactly `count` bytes from `offset`; nil if they are not all there.
    func bytes(at offset: Int, count: Int) -> [UInt8]?
}

extension InputFile: ByteSource {}

extension Array: ByteSource where Element == UInt8 {
    package var size: Int { count }

    package func bytes(at offset: Int, count: Int) -> [UInt8]? {
        guard offset >= 0, count >= 0, offset <= self.count, count <= self.count - offset else { return nil }
        return Array(self[offset..<(offset + count)])
    }
}

extension ByteSource {
    /// - Throws: `malformed.archive` if the bytes are not all there.
    func part(at offset: Int, count: Int) throws(MalformedInput) -> [UInt8] {
        guard let bytes = bytes(at: offset, count: count) else { throw .archive("offset \(offset)", "is cut off") }
        return bytes
    }
}
