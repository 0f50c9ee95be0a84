// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import FoundationEssentials
import Glibc
package import Vocabulary

/// What is known about one finished target.
package struct CheckResult: Sendable, Equatable {
    package let place: Int
    package let verdict: TargetSummary.Verdict
    package let summary: TargetSummary
    package let text: [UInt8]
    /// When it was kept, to the second; nil if the file does not say.
    package let checked: Date?
    /// Where the state file has it; nil without one.
    package fileprivate(set) var line: PieceFile.Place?

    package init(
        place: Int, verdict: TargetSummary.Verdict, summary: TargetSummary, text: [UInt8], checked: Date?,
        line: PieceFile.Place? = nil
    ) {
        self.place = place
        self.verdict = verdict
        self.summary = summary
        self.text = text
        self.checked = checked
        self.line = line
    }
}

/// The results of a run that may be stopped at any moment and taken up again: what is in the file is never asked for again.
///
/// JSON lines. The first says what the run was asked, each other one is a finished target. A last line without its end is cut off when the file
/// is read, and one that is no result is left out, so that its target is asked again. The file has mode 0600 and is locked while it is open.
package final class CheckJournal {
    /// Something that the results depend on, with its name as it is said to the user: the same when a run is taken up again.
    package typealias Condition = (name: String, value: String)

    private static let schema = "sealward.ats-check-state/3"
    private static let noStateFile = InputFault("is not a state file of 'ats check'; name another file with --state")

    private let file: PieceFile
    private let list: TargetList

    /// What tells this run from every other, however often it is taken up again.
    package let run: String

    /// Where the first result begins.
    private let start: Int

    /// Opens or makes the file. What is in it must be read, with ``replay(_:isFresh:each:)``, before anything is appended.
    ///
    /// - Throws: ``InputFault``, the end of a sentence that begins with the name of the file.
    package init(_ path: String, of list: TargetList, conditions: [Condition]) throws(InputFault) {
        self.list = list
        file = try CheckJournal.open(path)
        var lines = CheckJournal.lines(of: file, from: 0)
        let head = try lines.next()
        if let head, head.isEnded {
            run = try CheckJournal.compare(head, with: conditions)
            start = head.end
            return
        }
        // Empty, or the run that made it ended before its first line was written.
        let (mark, found) = (Array("{\"schema\":\"\(CheckJournal.schema)\"".utf8), head?.bytes ?? [])
        guard found.count < 1 << 16, found.starts(with: mark) || mark.starts(with: found) else {
            throw CheckJournal.noStateFile
        }
        try file.cut(at: 0)
        run = (0..<16).map { _ in UInt8.random(in: .min ... .max) }.hexadecimal()
        let members: [Condition] = [("schema", CheckJournal.schema), ("run", run)] + conditions
        let line = JSONValue.object(members.map { .init($0.name, .string($0.value)) })
        try file.append(line.encoded(pretty: false) + [0x0A])
        try file.synchronize()
        start = file.end
    }

    /// Hands on the results of some places, in their order: of several for one place the last that was written.
    ///
    /// - Parameter isFresh: whether a result of this time counts; any other target is asked again.
    /// - Returns: how many results are damaged and have to be asked for again, as far as that can be told.
    /// - Throws: ``InputFault``, and what `each` throws.
    @discardableResult package func replay(
        _ places: [UInt32], isFresh: (Date?) -> Bool = { _ in true }, each: (CheckResult) throws -> Void
    ) throws -> Int {
        // Where the line of each place is: 0 for none, negative for one that is not fresh.
        var found = [Int](repeating: 0, count: list.count)
        var (end, damaged) = (start, 0)
        var lines = CheckJournal.lines(of: file, from: start)
        while let line = try lines.next(), line.isEnded {
            end = line.end
            if let result = result(line) {
                found[result.place] = isFresh(result.checked) ? line.offset : -line.offset
            } else {
                damaged += 1
            }
        }
        if end < file.end { try file.cut(at: end) }
        for place in places where found[Int(place)] > 0 {
            var lines = CheckJournal.lines(of: file, from: found[Int(place)])
            if let line = try lines.next(), let result = result(line) { try each(result) }
        }
        return min(damaged, places.count { found[Int($0)] == 0 })
    }

    /// Writes results and waits until they are on the disk. A place that has one already gets a newer one.
    ///
    /// - Returns: the same, with the places of their lines.
    package func append(_ results: [CheckResult]) throws(InputFault) -> [CheckResult] {
        var bytes: [UInt8] = []
        var kept: [CheckResult] = []
        for var result in results {
            let line = JSONValue.object([
                .init("place", .integer(result.place)), .init("target", .string(list.identity(at: result.place))),
                .init("checked", .optional(result.checked.map { RFC3339.text($0) })),
                .init("verdict", .string(result.verdict.rawValue)), .init("summary", result.summary.json),
                .init("text", .string(String(decoding: result.text, as: UTF8.self))),
            ]).encoded(pretty: false)
            result.line = .init(offset: file.end + bytes.count, count: line.count)
            kept.append(result)
            bytes += line + [0x0A]
        }
        try file.append(bytes)
        try file.synchronize()
        return kept
    }

    /// What is written about a target, from its line.
    package func text(at place: PieceFile.Place) throws(InputFault) -> [UInt8] {
        guard let text = CheckJournal.document(try file.bytes(at: place))?.member("text")?.text else {
            throw InputFault("was changed by another program")
        }
        return Array(text.utf8)
    }

    // MARK: - Opening

    private static func open(_ path: String) throws(InputFault) -> PieceFile {
        if let fault = InputFile.refusal(of: path), fault != .missing { throw fault }
        let descriptor = SystemFile.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else {
            throw errno == ELOOP
                ? InputFault("is a link; name the file itself with --state")
                : PieceFile.fault("cannot be opened", errno)
        }
        let status = SystemFile.status(of: descriptor)
        let file = PieceFile(descriptor, end: Int(clamping: status?.st_size ?? 0))
        guard let status, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw InputFault("does not belong to you; name another file with --state")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw errno == EWOULDBLOCK
                ? InputFault("is in use by another run; wait for it to end, or name another file with --state")
                : PieceFile.fault("cannot be locked", errno)
        }
        return file
    }

    /// - Returns: which run it is.
    private static func compare(_ head: LineReader.Line, with conditions: [Condition]) throws(InputFault) -> String {
        guard let document = document(head.bytes), let schema = document.member("schema")?.text,
            let run = document.member("run")?.text, schema.utf8.starts(with: "sealward.ats-check-state/".utf8)
        else { throw noStateFile }
        guard schema.hasSameBytes(as: CheckJournal.schema) else {
            throw InputFault(
                "has the format \(schema.terminalSafe(limit: 60)); this program writes \(CheckJournal.schema), so name another file with --state"
            )
        }
        for condition in conditions
        where document.member(condition.name)?.text?.hasSameBytes(as: condition.value) != true {
            throw InputFault(
                "belongs to another command: \(condition.name) changed; repeat the original command, or name another file with --state"
            )
        }
        return run
    }

    // MARK: - Reading

    private static func lines(of file: PieceFile, from offset: Int) -> LineReader {
        LineReader(from: offset) { (offset, count) throws(InputFault) in
            try file.bytes(from: offset, atMost: count)
        }
    }

    /// A line; nil for one that this program does not write.
    private static func document(_ line: [UInt8]) -> JSONValue? {
        var limits = JSONReader.Limits()
        limits.values = 64
        return try? JSONReader.read(line, limits: limits)
    }

    /// Nil for what is no result of a target of the list.
    private func result(_ line: LineReader.Line) -> CheckResult? {
        guard !line.isTooLong, let document = CheckJournal.document(line.bytes),
            let place = document.member("place")?.integer, (0..<list.count).contains(place),
            document.member("target")?.text?.hasSameBytes(as: list.identity(at: place)) == true,
            let verdict = document.member("verdict")?.text.flatMap(TargetSummary.Verdict.init),
            let summary = TargetSummary(json: document.member("summary")),
            let text = document.member("text")?.text, !text.unicodeScalars.contains(where: \.isControl)
        else { return nil }
        return CheckResult(
            place: place, verdict: verdict, summary: summary, text: Array(text.utf8),
            checked: document.member("checked")?.text.flatMap { RFC3339.date($0.utf8) },
            line: .init(offset: line.offset, count: line.bytes.count))
    }
}

extension Unicode.Scalar {
    /// Whether a terminal obeys it. No result has one, and the file may come from elsewhere.
    fileprivate var isControl: Bool {
        value < 0x20 && !["\t", "\n", "\r"].contains(self) || (0x7F...0x9F).contains(value)
    }
}
