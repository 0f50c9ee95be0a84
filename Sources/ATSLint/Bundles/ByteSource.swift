// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// Bytes that can be read from any place: a file, or memory.
package protocol ByteSource {
    var count: Int { get }
    /// Exactly `count` bytes from `offset`.
    func bytes(at offset: Int, count: Int) throws(MalformedInput) -> [UInt8]
}

/// Bytes in memory.
package struct MemoryBytes: ByteSource {
    let storage: [UInt8]

    package init(_ storage: [UInt8]) { self.storage = storage }

    package var count: Int { storage.count }

    package func bytes(at offset: Int, count: Int) throws(MalformedInput) -> [UInt8] {
        guard offset >= 0, count >= 0, offset <= storage.count, count <= storage.count - offset else {
            throw .archive("offset \(offset)", "is cut off")
        }
        return Array(storage[offset..<(offset + count)])
    }
}

/// A file that is read piece by piece.
package struct FileBytes: ByteSource {
    private let file: InputFile

    /// - Parameter file: no stream.
    init(_ file: InputFile) { self.file = file }

    package init(_ path: String) throws(MalformedInput) {
        do { file = try InputFile.open(path) } catch { throw .archive("", error.reason) }
        guard !file.isStream else { throw .archive("", "is a stream; save it to a file") }
    }

    package var count: Int { file.size }

    package func bytes(at offset: Int, count: Int) throws(MalformedInput) -> [UInt8] {
        guard let bytes = file.bytes(at: offset, count: count) else { throw .archive("offset \(offset)", "is cut off") }
        return bytes
    }
}
