// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
package import Vocabulary

/// Bytes that are kept in a file until their turn comes: appended, and read again by their place.
package final class PieceFile {
    /// Where a piece is.
    package struct Place: Sendable, Equatable {
        package let offset: Int
        package let count: Int

        /// Of a piece without bytes, which needs no file.
        package static let empty = Place(offset: 0, count: 0)
    }

    private let descriptor: Int32
    /// Where the next piece goes.
    private(set) var end = 0

    /// A file without a name, which is gone with the process.
    package static func temporary() throws(InputFault) -> PieceFile {
        let descriptor = SystemFile.temporary()
        guard descriptor >= 0 else { throw PieceFile.fault("cannot be created", errno) }
        return PieceFile(descriptor)
    }

    init(_ descriptor: Int32) { self.descriptor = descriptor }

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
        guard place.offset >= 0, place.count >= 0, place.count <= end, place.offset <= end - place.count else {
            throw InputFault("is shorter than it was")
        }
        let (found, number) = SystemFile.read(descriptor, at: place.offset, count: place.count)
        if number != 0 { throw PieceFile.fault("cannot be read", number) }
        guard found.count == place.count else { throw InputFault("is shorter than it was") }
        return found
    }

    /// Waits until everything is on the disk.
    func synchronize() throws(InputFault) {
        guard fdatasync(descriptor) == 0 else { throw PieceFile.fault("cannot be written", errno) }
    }

    /// Forgets everything from an offset on.
    package func cut(at offset: Int) throws(InputFault) {
        guard offset >= 0, ftruncate(descriptor, off_t(offset)) == 0 else {
            throw PieceFile.fault("cannot be cut", errno)
        }
        end = offset
    }

    /// Takes what the file contains already.
    func take(_ size: Int) { end = size }

    static func fault(_ what: String, _ number: Int32) -> InputFault {
        InputFault("\(what) (\(SystemFile.message(number)))")
    }
}
