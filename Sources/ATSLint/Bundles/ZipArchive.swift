// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import CZlib
package import Vocabulary

/// Reads the directory of a zip archive and single entries of it. Nothing in it is ever written to disk.
///
/// Guards: names that leave the archive, more entries than any app has, entries that unfold past a limit or lie in each other, encryption.
package struct ZipArchive {
    package struct Entry: Sendable {
        package let name: String
        let method: Int
        let packedSize: Int
        package let size: Int
        let headerOffset: Int

        /// Where the entry's bytes end at the earliest: behind its header, without the name and the fields in it.
        var end: Int {
            let (end, overflow) = headerOffset.addingReportingOverflow(30)
            let (whole, tooFar) = end.addingReportingOverflow(packedSize)
            return overflow || tooFar ? .max : whole
        }

        /// The name for a sentence.
        var shownName: String { name.terminalSafe(limit: 120) }
    }

    package let entries: [Entry]
    private let source: any ByteSource

    package static func isArchive(_ head: some Collection<UInt8>) -> Bool {
        head.starts(with: [0x50, 0x4B, 0x03, 0x04]) || head.starts(with: [0x50, 0x4B, 0x05, 0x06])
    }

    package init(_ source: any ByteSource) throws(MalformedInput) {
        self.source = source
        guard source.size >= 22 else { throw .archive("", "is not a zip archive, or is cut off") }
        guard source.size <= ReadingLimits.archiveBytes else { throw .archive("", "is larger than 4 GiB") }
        let tailSize = min(source.size, 22 + 65_535)
        let tail = try source.part(at: source.size - tailSize, count: tailSize)
        guard let end = ZipArchive.endRecord(tail) else {
            throw .archive("", "has no directory at its end; it is not a zip archive, or is cut off")
        }
        var count = tail.number(end + 10, 2)
        var size = tail.number(end + 12, 4)
        var offset = tail.number(end + 16, 4)
        if count == 0xFFFF || size == 0xFFFF_FFFF || offset == 0xFFFF_FFFF {
            (count, size, offset) = try ZipArchive.wideEnd(source, before: source.size - tailSize + end)
        }
        guard count <= ReadingLimits.archiveEntries, offset <= source.size,
            size <= source.size - tailSize + end - offset
        else {
            throw .archive("", "has a directory that does not fit into the file")
        }
        guard size <= ReadingLimits.directoryBytes else {
            throw .archive("", "has a directory of \(size) bytes; the limit is \(ReadingLimits.directoryBytes)")
        }
        entries = try ZipArchive.directory(source.part(at: offset, count: size), count: count)
        try ZipArchive.refuseOverlaps(entries, directory: offset)
    }

    /// Refuses entries whose bytes lie in each other or in the directory: that is how a small archive unfolds to a huge one.
    private static func refuseOverlaps(_ entries: [Entry], directory: Int) throws(MalformedInput) {
        var last: Entry?
        for entry in entries.sorted(by: { $0.headerOffset < $1.headerOffset }) {
            if let last, entry.headerOffset < last.end {
                throw .archive(entry.shownName, "overlaps '\(last.shownName)', which no zip tool writes")
            }
            last = entry
        }
        guard let last, last.headerOffset < directory, last.end > directory else { return }
        throw .archive(last.shownName, "reaches into the directory of the archive")
    }

    private static func endRecord(_ tail: [UInt8]) -> Int? {
        (0...(tail.count - 22)).last { index in
            tail.number(index, 4) == 0x0605_4B50 && index + 22 + tail.number(index + 20, 2) <= tail.count
        }
    }

    /// The counts of a zip64 archive: a locator stands before the end record and names the record that has them.
    /// Source: APPNOTE.TXT 4.3.14 and 4.3.15.
    private static func wideEnd(
        _ source: any ByteSource, before end: Int
    ) throws(MalformedInput) -> (count: Int, size: Int, offset: Int) {
        let damaged = MalformedInput.archive("", "is a zip64 archive with a damaged end; pack it again")
        guard end >= 76 else { throw damaged }
        let locator = try source.part(at: end - 20, count: 20)
        let place = locator.number(8, 8)
        guard locator.number(0, 4) == 0x0706_4B50, place >= 0, place <= end - 76 else { throw damaged }
        let record = try source.part(at: place, count: 56)
        let (count, size, offset) = (record.number(32, 8), record.number(40, 8), record.number(48, 8))
        guard record.number(0, 4) == 0x0606_4B50, count >= 0, size >= 0, offset >= 0 else { throw damaged }
        return (count, size, offset)
    }

    /// The sizes and the place of an entry, from its zip64 extra field where the short ones are full (APPNOTE.TXT 4.5.3).
    private static func extent(
        _ bytes: [UInt8], _ index: Int, extra: Range<Int>, name: String
    ) throws(MalformedInput) -> (packed: Int, size: Int, offset: Int) {
        var (packed, size) = (bytes.number(index + 20, 4), bytes.number(index + 24, 4))
        var offset = bytes.number(index + 42, 4)
        guard packed == 0xFFFF_FFFF || size == 0xFFFF_FFFF || offset == 0xFFFF_FFFF else {
            return (packed, size, offset)
        }
        var field = extra.lowerBound
        while field + 4 <= extra.upperBound {
            let end = field + 4 + bytes.number(field + 2, 2)
            guard end <= extra.upperBound else { break }
            if bytes.number(field, 2) == 0x0001 {
                var place = field + 4
                func next(_ short: Int) -> Int? {
                    guard short == 0xFFFF_FFFF else { return short }
                    guard place + 8 <= end else { return nil }
                    defer { place += 8 }
                    let number = bytes.number(place, 8)
                    return number >= 0 ? number : nil
                }
                if let wide = next(size), let widePacked = next(packed), let wideOffset = next(offset) {
                    (size, packed, offset) = (wide, widePacked, wideOffset)
                    return (packed, size, offset)
                }
            }
            field = end
        }
        throw .archive(name.terminalSafe(limit: 120), "has a damaged zip64 field; pack the archive again")
    }

    private static func directory(_ bytes: [UInt8], count: Int) throws(MalformedInput) -> [Entry] {
        var entries: [Entry] = []
        var names: Set<UTF8Key> = []
        var index = 0
        for _ in 0..<count {
            guard index + 46 <= bytes.count, bytes.number(index, 4) == 0x0201_4B50 else {
                throw .archive("", "has a damaged directory")
            }
            let nameLength = bytes.number(index + 28, 2)
            let next = index + 46 + nameLength + bytes.number(index + 30, 2) + bytes.number(index + 32, 2)
            guard next <= bytes.count else { throw .archive("", "has a damaged directory") }
            let name = String(decoding: bytes[(index + 46)..<(index + 46 + nameLength)], as: UTF8.self)
            try check(name)
            guard names.insert(UTF8Key(name)).inserted else {
                throw .archive(
                    name.terminalSafe(limit: 120), "occurs twice in the archive, so it is not clear which one is meant")
            }
            if bytes.number(index + 8, 2) & 1 != 0, name.utf8.last != 0x2F {
                throw .archive(name.terminalSafe(limit: 120), "is encrypted")
            }
            let extra = index + 46 + nameLength
            let wide = try ZipArchive.extent(
                bytes, index, extra: extra..<(extra + bytes.number(index + 30, 2)), name: name)
            entries.append(
                Entry(
                    name: name, method: bytes.number(index + 10, 2), packedSize: wide.packed, size: wide.size,
                    headerOffset: wide.offset))
            index = next
        }
        return entries
    }

    /// Refuses names that would leave the folder that the archive is unpacked into.
    private static func check(_ name: String) throws(MalformedInput) {
        let shown = name.terminalSafe(limit: 120)
        guard name.utf8.count <= ReadingLimits.nameBytes, !name.hasMarkRun else {
            throw .archive("'\(shown)'", "is a name that no file system accepts; the archive is not read")
        }
        let isInside =
            name.utf8.first != 0x2F && !name.utf8.contains { $0 == 0x5C || $0 == 0 }
            && !name.utf8.split(separator: 0x2F).contains { $0.elementsEqual([0x2E, 0x2E]) }
        guard isInside else {
            throw .archive("'\(shown)'", "is a name that points outside the archive; the archive is not read")
        }
    }

    /// The contents of an entry.
    ///
    /// - Parameter limit: the most bytes that it may unfold to.
    package func contents(_ entry: Entry, limit: Int) throws(MalformedInput) -> [UInt8] {
        guard entry.size <= limit else {
            throw .archive(entry.shownName, "expands to \(entry.size) bytes, more than the limit of \(limit)")
        }
        guard entry.packedSize <= limit else {
            throw .archive(entry.shownName, "is larger than the limit of \(limit) bytes")
        }
        let header = try source.part(at: entry.headerOffset, count: 30)
        guard header.number(0, 4) == 0x0403_4B50 else {
            throw .archive(entry.shownName, "is not where the directory says")
        }
        // The header was read, so its offset is within the archive's size.
        let start = entry.headerOffset + 30 + header.number(26, 2) + header.number(28, 2)
        let result: [UInt8]
        switch entry.method {
        case 0: result = try source.part(at: start, count: entry.packedSize)
        case 8: result = try inflated(entry, from: start)
        default:
            throw .archive(
                entry.shownName, "is compressed with method \(entry.method), which is not supported; only deflate is")
        }
        guard result.count == entry.size else {
            throw .archive(entry.shownName, "is not as long as the directory says")
        }
        return result
    }

    /// Raw deflate into a buffer of the size that the directory states, from pieces of the source: an entry that unfolds to more is
    /// refused there, and its packed form is never in memory as a whole.
    private func inflated(_ entry: Entry, from start: Int) throws(MalformedInput) -> [UInt8] {
        guard entry.size <= (entry.packedSize + 16) * (ReadingLimits.expansion + 100) else {
            throw .archive(entry.shownName, "claims to expand to more than deflate can")
        }
        var succeeded = false
        var fault: MalformedInput?
        // One byte more than stated shows an entry that lies about its size.
        // Safe: zlib writes at most `avail_out` bytes into the buffer and reads at most `avail_in` of the piece, which it forgets at once.
        let output = unsafe [UInt8](unsafeUninitializedCapacity: entry.size + 1) { buffer, count in
            var stream = unsafe z_stream()
            guard unsafe inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
                return
            }
            defer { unsafe inflateEnd(&stream) }
            unsafe stream.next_out = buffer.baseAddress
            unsafe stream.avail_out = UInt32(clamping: buffer.count)
            var taken = 0
            var status = Z_OK
            while status == Z_OK, taken < entry.packedSize, unsafe stream.avail_out > 0 {
                do throws(MalformedInput) {
                    var piece = try source.part(at: start + taken, count: min(1 << 18, entry.packedSize - taken))
                    taken += piece.count
                    unsafe piece.withUnsafeMutableBufferPointer { bytes in
                        unsafe stream.next_in = bytes.baseAddress
                        unsafe stream.avail_in = UInt32(clamping: bytes.count)
                        status = unsafe inflate(&stream, Z_NO_FLUSH)
                        unsafe stream.next_in = nil
                        unsafe stream.avail_in = 0
                    }
                } catch {
                    fault = error
                    break
                }
            }
            count = unsafe Int(clamping: stream.total_out)
            succeeded = status == Z_STREAM_END
        }
        if let fault { throw fault }
        guard succeeded, output.count == entry.size else {
            throw .archive(entry.shownName, "is damaged, or expands to more than it says")
        }
        return output
    }
}

extension Array<UInt8> {
    /// A little-endian number; the caller has checked that it is inside.
    fileprivate func number(_ start: Int, _ size: Int) -> Int {
        var value = 0
        for index in (start..<(start + size)).reversed() where indices.contains(index) {
            value = value << 8 | Int(self[index])
        }
        return value
    }
}
