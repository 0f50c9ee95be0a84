// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings
import Foundation

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
package final class FileBytes: ByteSource {
    private let handle: FileHandle
    package let count: Int

    package init(_ path: String) throws(MalformedInput) {
        guard let handle = FileHandle(forReadingAtPath: path), let end = try? handle.seekToEnd() else {
            throw .archive("", "cannot be read; check that it exists and may be read")
        }
        self.handle = handle
        count = Int(clamping: end)
    }

    deinit { try? handle.close() }

    package func bytes(at offset: Int, count: Int) throws(MalformedInput) -> [UInt8] {
        guard offset >= 0, count >= 0, offset <= self.count, count <= self.count - offset else {
            throw .archive("offset \(offset)", "is cut off")
        }
        var result: [UInt8] = []
        do {
            try handle.seek(toOffset: UInt64(offset))
            while result.count < count, let part = try handle.read(upToCount: count - result.count), !part.isEmpty {
                result.append(contentsOf: part)
            }
        } catch {
            throw .archive("offset \(offset)", "cannot be read")
        }
        guard result.count == count else { throw .archive("offset \(offset)", "is cut off") }
        return result
    }

    /// The whole of a small file, or nil where it cannot be read. Longer ones give one byte more than the limit.
    static func contents(_ path: String, limit: Int) -> [UInt8]? {
        guard let file = fopen(path, "rb") else { return nil }
        defer { fclose(file) }
        var information = stat()
        guard fstat(fileno(file), &information) == 0, information.st_mode & S_IFMT != S_IFDIR else { return nil }
        // One byte more than the size tells, so that a file without a known size is read too.
        var capacity = min(max(Int(information.st_size) + 1, 4096), limit + 1)
        var result: [UInt8] = []
        while result.count <= limit {
            let want = min(capacity, limit + 1 - result.count)
            guard want > 0 else { break }
            let part = [UInt8](unsafeUninitializedCapacity: want) { buffer, count in
                count = fread(buffer.baseAddress, 1, want, file)
            }
            if result.isEmpty { result = part } else { result += part }
            if part.count < want { break }
            capacity = 1 << 16
        }
        return result
    }
}
