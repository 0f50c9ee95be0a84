// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Formats
package import FoundationEssentials
import Glibc
package import Vocabulary

/// The results of a run that may be stopped at any moment and taken up again: what is in the file is never asked for again.
///
/// Append-only. The first line says what the run was asked; then for each finished target one line of JSON, the bytes of its result, and a
/// line feed. A record that was not written to its end is cut off when the file is opened, and one whose bytes are not those that were written is
/// left out, so that its target is asked again. The file has mode 0600 and is locked for as long as it is open.
package final class CheckJournal {
    /// Something that the results depend on: the same when a run is taken up again.
    package struct Condition: Sendable, Equatable {
        /// As it is said to the user: `the targets`.
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// One finished target.
    package struct Record: Sendable, Equatable {
        /// Its place in the list.
        package let place: Int
        package let verdict: TargetSummary.Verdict
        package let summary: TargetSummary
        /// When it was written, to the second; nil if the file does not say.
        package let written: Date?
        /// Where its rendered result is.
        package let piece: PieceFile.Place
    }

    private static let schema = "sealward.ats-check-state/2"
    /// The longest line of JSON in the file; ours have some hundred bytes.
    private static let lineLimit = 1 << 16

    private let file: PieceFile

    /// What tells this run from every other, however often it is taken up again.
    package let run: String

    /// Where the first record begins.
    private let start: Int
    private var isRead = false

    /// Opens or makes the file. What is in it must be read, with ``replay(count:each:)``, before anything is appended.
    ///
    /// - Throws: ``InputFault``, the end of a sentence that begins with the name of the file.
    package init(_ path: String, conditions: [Condition]) throws(InputFault) {
        let descriptor = try CheckJournal.open(path)
        file = PieceFile(descriptor)
        try CheckJournal.lock(descriptor)
        guard let status = SystemFile.status(of: descriptor) else { throw PieceFile.fault("cannot be read", errno) }
        file.take(Int(clamping: status.st_size))
        if let head = try CheckJournal.line(of: file, at: 0) {
            run = try CheckJournal.compare(head.bytes, with: conditions)
            // Whatever the file was copied with: it names servers and what is wrong with them.
            guard fchmod(descriptor, 0o600) == 0 else { throw PieceFile.fault("cannot be made private", errno) }
            start = head.next
        } else {
            guard try CheckJournal.isBegun(file) else {
                throw InputFault("is not a state file of 'ats check'; name another file with --state")
            }
            try file.cut(at: 0)
            let run = (0..<16).map { _ in UInt8.random(in: .min ... .max) }.hexadecimal()
            try file.append(CheckJournal.head(conditions, run))
            self.run = run
            try file.synchronize()
            start = file.end
        }
    }

    /// Reads every whole record, in the order in which they were written, and cuts off what follows the last one.
    ///
    /// What is damaged in between stays in the file and is passed over, by this reading and by every later one. It ends where a line begins as
    /// a record does, so each byte is looked at a few times at most, whatever lengths a hostile file states.
    ///
    /// - Parameter count: how many places the list has.
    /// - Returns: how many results are damaged, as far as that can be told. What may only be the record at whose writing the run was stopped
    ///   is not one of them.
    /// - Throws: ``InputFault``, and what `each` throws.
    @discardableResult package func replay(count: Int, each: (Record) throws -> Void) throws -> Int {
        var (offset, end) = (start, start)
        var damaged: Set<Int> = []
        // Damaged parts without a place that can be read: those before the last whole record, and those since.
        var (unnamed, since) = (0, 0)
        while offset < file.end {
            switch try found(at: offset, count: count) {
            case .record(let record, let next):
                unnamed += since
                since = 0
                // It was asked for again since.
                damaged.remove(record.place)
                try each(record)
                (offset, end) = (next, next)
            case .damaged(let place, let next):
                if let place { damaged.insert(place) } else { since += 1 }
                offset = next
            }
        }
        if end < file.end { try file.cut(at: end) }
        isRead = true
        return damaged.count + unnamed + max(0, since - 1)
    }

    /// What is at an offset, and where to go on.
    private enum Found {
        case record(Record, next: Int)
        /// With the place in the list if the line and the end of its result can be read.
        case damaged(place: Int?, next: Int)
    }

    private func found(at offset: Int, count: Int) throws(InputFault) -> Found {
        guard let line = try CheckJournal.line(of: file, at: offset),
            let record = CheckJournal.record(line.bytes, piece: line.next), record.place < count
        else { return .damaged(place: nil, next: try nextStart(from: offset, to: file.end)) }
        let end = record.piece.offset + record.piece.count
        // No result has a line that begins as a record does: the stated length is wrong.
        let limit = min(end + 1, file.end)
        let early = try nextStart(from: line.next - 1, to: limit)
        if early < limit { return .damaged(place: nil, next: early) }
        guard end < file.end, try file.bytes(at: .init(offset: end, count: 1)) == [0x0A] else {
            return .damaged(place: nil, next: try nextStart(from: min(end, file.end), to: file.end))
        }
        let digest = try digest(of: line.bytes, record.piece)
        if line.bytes.suffix(CheckJournal.endLength).elementsEqual(CheckJournal.end(digest)) {
            return .record(record, next: end + 1)
        }
        return .damaged(place: record.place, next: try nextStart(from: end, to: file.end))
    }

    /// How every record begins.
    private static let mark = Array("{\"place\":".utf8)

    /// Where the first line begins that begins as a record does, behind a line feed from `offset` on; `limit` if there is none before it.
    private func nextStart(from offset: Int, to limit: Int) throws(InputFault) -> Int {
        var offset = offset
        while offset < limit {
            let bytes = try file.bytes(at: .init(offset: offset, count: min(1 << 16, limit - offset)))
            for (index, byte) in bytes.enumerated() where byte == 0x0A {
                let line = offset + index + 1
                let count = min(CheckJournal.mark.count, file.end - line)
                // Most lines have another first byte; only behind the last one here it is not known yet.
                guard line < limit, index + 1 == bytes.count || bytes[index + 1] == CheckJournal.mark.first,
                    try file.bytes(at: .init(offset: line, count: count)) == CheckJournal.mark
                else { continue }
                return line
            }
            offset += bytes.count
        }
        return limit
    }

    /// Writes the results of some targets and waits until they are on the disk. A place that has one already gets a newer one.
    ///
    /// - Parameter instant: now.
    /// - Returns: where each result is.
    package func append(
        _ results: [(place: Int, verdict: TargetSummary.Verdict, summary: TargetSummary, piece: [UInt8])],
        at instant: Date
    ) throws(InputFault) -> [PieceFile.Place] {
        guard isRead else { throw InputFault("was not read yet") }
        var bytes: [UInt8] = []
        var places: [PieceFile.Place] = []
        for result in results {
            let line = JSONValue.object([
                .init("place", .integer(result.place)), .init("verdict", .string(result.verdict.rawValue)),
                .init("summary", result.summary.json), .init("bytes", .integer(result.piece.count)),
                .init("written", .string(RFC3339.text(instant))),
            ])
            let start = line.encoded(pretty: false).dropLast()
            var hash = SHA256()
            hash.update(data: start)
            hash.update(data: result.piece)
            bytes += start + CheckJournal.end(Array(hash.finalize()).hexadecimal()) + [0x0A]
            places.append(.init(offset: file.end + bytes.count, count: result.piece.count))
            bytes += result.piece
            bytes.append(0x0A)
        }
        try file.append(bytes)
        try file.synchronize()
        return places
    }

    /// The rendered result of a target.
    package func bytes(at place: PieceFile.Place) throws(InputFault) -> [UInt8] { try file.bytes(at: place) }

    /// How a line ends: with the SHA-256 of what stands before it and of the result behind the line.
    private static func end(_ digest: String) -> [UInt8] { Array(",\"sha256\":\"\(digest)\"}".utf8) }

    private static let endLength = end(String(repeating: "0", count: 64)).count

    /// The SHA-256 of a line up to its end, and of the result behind it, in hexadecimal.
    private func digest(of line: [UInt8], _ piece: PieceFile.Place) throws(InputFault) -> String {
        var hash = SHA256()
        hash.update(data: line.dropLast(CheckJournal.endLength))
        var done = 0
        while done < piece.count {
            let count = min(1 << 16, piece.count - done)
            hash.update(data: try file.bytes(at: .init(offset: piece.offset + done, count: count)))
            done += count
        }
        return Array(hash.finalize()).hexadecimal()
    }

    // MARK: - Opening

    private static func open(_ path: String) throws(InputFault) -> Int32 {
        if let fault = InputFile.refusal(of: path), fault != .missing { throw fault }
        let descriptor = SystemFile.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else {
            throw errno == ELOOP
                ? InputFault("is a link; name the file itself with --state")
                : PieceFile.fault("cannot be opened", errno)
        }
        guard let status = SystemFile.status(of: descriptor), status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid()
        else {
            close(descriptor)
            throw InputFault("does not belong to you; name another file with --state")
        }
        return descriptor
    }

    private static func lock(_ descriptor: Int32) throws(InputFault) {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw errno == EWOULDBLOCK
                ? InputFault("is in use by another run; wait for it to end, or name another file with --state")
                : PieceFile.fault("cannot be locked", errno)
        }
    }

    /// Whether the file is empty, or the run that made it ended before its first line was written.
    private static func isBegun(_ file: PieceFile) throws(InputFault) -> Bool {
        let start = Array("{\"schema\":\"\(schema)\"".utf8)
        guard file.end <= lineLimit else { return false }
        let bytes = try file.bytes(at: .init(offset: 0, count: file.end))
        return bytes.starts(with: start) || start.starts(with: bytes)
    }

    private static func head(_ conditions: [Condition], _ run: String) -> [UInt8] {
        let members =
            [JSONValue.Member("schema", .string(schema)), .init("run", .string(run))]
            + conditions.map { .init($0.name, .string($0.value)) }
        return JSONValue.object(members).encoded(pretty: false) + [0x0A]
    }

    /// - Returns: which run it is.
    private static func compare(_ head: [UInt8], with conditions: [Condition]) throws(InputFault) -> String {
        guard let document = try? JSONReader.read(head), let schema = document.member("schema")?.text else {
            throw InputFault("is not a state file of 'ats check'; name another file with --state")
        }
        guard schema.hasSameBytes(as: CheckJournal.schema) else {
            throw InputFault(
                "has the format \(schema.terminalSafe(limit: 60)); this program writes \(CheckJournal.schema)")
        }
        for condition in conditions
        where document.member(condition.name)?.text?.hasSameBytes(as: condition.value) != true {
            throw InputFault(
                "belongs to another command: \(condition.name) changed; repeat the original command, or name another file with --state"
            )
        }
        guard let run = document.member("run")?.text else {
            throw InputFault("is not a state file of 'ats check'; name another file with --state")
        }
        return run
    }

    // MARK: - Reading

    private static func record(_ line: [UInt8], piece start: Int) -> Record? {
        guard let document = try? JSONReader.read(line), case .integer(let place)? = document.member("place"),
            place >= 0,
            let verdict = document.member("verdict")?.text.flatMap(TargetSummary.Verdict.init),
            let summary = TargetSummary(json: document.member("summary")),
            case .integer(let count)? = document.member("bytes"), (0...pieceLimit).contains(count)
        else { return nil }
        let written = document.member("written")?.text.flatMap { RFC3339.date($0.utf8) }
        return Record(
            place: place, verdict: verdict, summary: summary, written: written,
            piece: .init(offset: start, count: count))
    }

    /// The longest result of one target: with the names of hostile certificates in it some hundred kilobytes.
    private static let pieceLimit = 256 << 20

    /// The line that begins at an offset; nil if none ends within the limit.
    private static func line(of file: PieceFile, at offset: Int) throws(InputFault) -> (bytes: [UInt8], next: Int)? {
        var bytes: [UInt8] = []
        while bytes.count < lineLimit {
            let start = offset + bytes.count
            let count = min(1024, file.end - start)
            guard count > 0 else { return nil }
            let part = try file.bytes(at: .init(offset: start, count: count))
            if let end = part.firstIndex(of: 0x0A) { return (bytes + part[..<end], start + end + 1) }
            bytes += part
        }
        return nil
    }
}
