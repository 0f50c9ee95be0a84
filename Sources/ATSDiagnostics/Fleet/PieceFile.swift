// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Glibc
package import Vocabulary

/// Bytes that are kept in a file until their turn comes: appended, and read again by their place.
package final class PieceFile {
    package struct Place: Sendable, Equatable {
        package let offset: Int
        package let count: Int
    }

    private let descriptor: Int32
    /// Where the next piece goes.
    private(set) var end: Int

    /// A file without a name, which is gone with the process; in memory where no folder takes one.
    package static func temporary() throws(InputFault) -> PieceFile {
        var descriptor = SystemFile.temporary()
        if descriptor < 0 {
            let path = "/dev/shm/sealward-\(UInt64.random(in: .min ... .max))"
            descriptor = SystemFile.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC)
            if descriptor >= 0 { SystemFile.remove(path) }
        }
        guard descriptor >= 0 else { throw PieceFile.fault("cannot be created", errno) }
        return PieceFile(descriptor, end: 0)
    }

    /// - Parameter end: how many bytes the file has.
    init(_ descriptor: Int32, end: Int) {
        self.descriptor = descriptor
        self.end = end
    }

    /// A lock is given up here and not by `close`: a child that somebody is starting has the descriptor until its program takes over.
    deinit {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Appends bytes; where that fails nothing is there.
    @discardableResult package func append(_ bytes: [UInt8]) throws(InputFault) -> Place {
        let place = Place(offset: end, count: bytes.count)
        let number = SystemFile.write(bytes, to: descriptor, at: place.offset)
        guard number == 0 else {
            ftruncate(descriptor, off_t(place.offset))
            throw PieceFile.fault("cannot be written", number)
        }
        end += bytes.count
        return place
    }

    /// - Throws: ``InputFault`` if the file is shorter than that.
    package func bytes(at place: Place) throws(InputFault) -> [UInt8] {
        let found = try bytes(from: place.offset, atMost: place.count)
        guard found.count == place.count else { throw InputFault("is shorter than it was") }
        return found
    }

    /// Fewer bytes at the end of the file, and none behind it.
    func bytes(from offset: Int, atMost count: Int) throws(InputFault) -> [UInt8] {
        let (found, number) = SystemFile.read(descriptor, at: offset, count: count)
        if number != 0 { throw PieceFile.fault("cannot be read", number) }
        return found
    }

    func synchronize() throws(InputFault) {
        guard fdatasync(descriptor) == 0 else { throw PieceFile.fault("cannot be written", errno) }
    }

    package func cut(at offset: Int) throws(InputFault) {
        guard ftruncate(descriptor, off_t(offset)) == 0 else { throw PieceFile.fault("cannot be cut", errno) }
        end = offset
    }

    static func fault(_ what: String, _ number: Int32) -> InputFault {
        InputFault("\(what) (\(SystemFile.message(number)))")
    }
}
