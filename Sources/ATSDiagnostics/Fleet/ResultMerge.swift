// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
package import Vocabulary

/// The results of several runs as one run would have printed them: in the order of the list, each target once.
package struct ResultMerge {
    /// One file of results. It is read twice, so a stream must have been copied to a file.
    package struct Source {
        package let name: String
        let file: InputFile

        package init(name: String, file: InputFile) {
            self.name = name
            self.file = file
        }
    }

    package struct Fault: Error {
        package let name: String
        package let reason: String
    }

    private struct Entry {
        let source: Int
        let offset: Int
        let count: Int
        /// The target itself, if its document is one line.
        var value: JSONValue?
        var place: Int?
    }

    private static let notAResult = "is not a result of ats check --format json or jsonl"

    private let sources: [Source]
    private var entries: [Entry] = []
    private var mark: ShardMark?
    /// Whether the first result is of a shard; nil before it.
    private var areShards: Bool?
    private var seenPlaces: Set<Int> = []
    private var seenTargets: Set<UTF8Key> = []
    private var seenShards: Set<Int> = []
    /// Results that were left out, because an earlier one is of the same target.
    package private(set) var repeated: [String] = []
    package private(set) var repeatedCount = 0
    /// The system and SDK of the documents; nil for lines without a shard.
    package private(set) var os: String?
    package private(set) var sdk: String?
    /// When the first of the runs began; nil for lines.
    package private(set) var checked: String?
    /// Whether every file is one document.
    package private(set) var areDocuments = true
    /// The verdicts of the targets that are kept.
    package private(set) var verdicts: [TargetSummary.Verdict: Int] = [:]

    /// Looks through all files.
    package init(_ sources: [Source]) throws(Fault) {
        self.sources = sources
        for index in sources.indices { try look(index) }
    }

    /// How many targets of the list have no result; 0 if the files are no shards.
    package var missing: Int { max(0, (mark?.targets ?? 0) - seenPlaces.count) }

    /// The shards of which there is no result at all, if any target is missing: the first 100.
    package var missingShards: [Int] {
        guard let mark, missing > 0 else { return [] }
        return Array((1...mark.shard.count).lazy.filter { !seenShards.contains($0) }.prefix(100))
    }

    /// How many shards the list was divided into; nil if the files are no shards.
    package var shards: Int? { mark?.shard.count }

    /// Hands on every target, as one run has it, in order.
    package func each(_ body: (JSONValue) throws -> Void) throws {
        let order = entries.indices.sorted {
            (entries[$0].place ?? .max, $0) < (entries[$1].place ?? .max, $1)
        }
        for index in order {
            try body(ShardMark.removed(from: try value(entries[index])))
        }
    }

    // MARK: - Reading

    private func fault(_ source: Int, _ reason: String) -> Fault { Fault(name: sources[source].name, reason: reason) }

    /// Documents are read target by target as they are laid out, with each target on lines of its own; others as a whole.
    private mutating func look(_ source: Int) throws(Fault) {
        let file = sources[source].file
        var lines = LineReader { (offset, count) throws(InputFault) in
            guard let bytes = file.bytes(at: offset, count: min(count, file.size - offset)) else {
                throw InputFault("cannot be read")
            }
            return bytes
        }
        // What comes before the targets of a document, and where its target begins.
        var (head, start): ([UInt8]?, Int?)
        var (isInTargets, hasDocument) = (false, false)
        while let line = try named(source, { () throws(InputFault) in try lines.next() }) {
            let text = try named(source) { () throws(InputFault) in
                line.offset == 0 ? try TextFileEncoding.text(line.bytes) : line.bytes
            }
            switch String(decoding: text.prefix(16), as: UTF8.self).trimmed({ $0 == "\r" }) {
            case "    {" where isInTargets && start == nil: start = line.offset
            case "    }" where isInTargets, "    }," where isInTargets:
                guard let begin = start else { throw fault(source, ResultMerge.notAResult) }
                try take(Entry(source: source, offset: begin, count: line.offset + 5 - begin))
                start = nil
            case "}" where isInTargets && start == nil: (head, isInTargets) = (nil, false)
            case _ where isInTargets: break
            case "{" where head == nil: (head, hasDocument) = ([0x7B], true)
            case let name where head != nil:
                head?.append(contentsOf: text)
                isInTargets = name.utf8.starts(with: "  \"targets\": [".utf8)
                guard (head?.count ?? 0) < LineReader.limit else { throw fault(source, ResultMerge.notAResult) }
                let end = text.contains(UInt8(ascii: "]")) ? "}" : "]}"
                if isInTargets { try take(document: try? JSONReader.read((head ?? []) + end.utf8), source) }
            case let name where name.trimmed().isEmpty: break
            default:
                let mark = line.bytes.count - text.count
                let entry = Entry(source: source, offset: line.offset + mark, count: text.count)
                let value = try value(entry)
                if value.member("target") == nil {
                    hasDocument = true
                    try take(document: value, source)
                } else {
                    areDocuments = false
                    try take(entry)
                }
            }
        }
        if !isInTargets, let head {
            // Laid out in another way: read as a whole.
            try take(document: try? JSONReader.read(head), source)
        } else if head != nil {
            throw fault(source, "ends in the middle of a target; keep the complete lines, or run the check again")
        }
        if !hasDocument { areDocuments = false }
    }

    private mutating func take(document: JSONValue?, _ source: Int) throws(Fault) {
        guard let document, let schema = document.member("schema")?.text,
            schema.hasSameBytes(as: CheckedTargets.documentSchema), let os = document.member("os")?.text
        else { throw fault(source, ResultMerge.notAResult) }
        try take(os: os, sdk: document.member("sdk")?.text, source)
        if let text = document.member("checked")?.text, RFC3339.date(text.utf8) != nil {
            checked = checked.map { $0 < text ? $0 : text } ?? text
        }
        for target in document.member("targets")?.elements ?? [] {
            try take(Entry(source: source, offset: 0, count: 0, value: target))
        }
    }

    private mutating func take(os: String, sdk: String?, _ source: Int) throws(Fault) {
        if let known = self.os {
            guard known.hasSameBytes(as: os), (self.sdk ?? "").hasSameBytes(as: sdk ?? "") else {
                throw fault(
                    source,
                    "is a check on \(os.terminalSafe(limit: 40)); the files before it are on \(known.terminalSafe(limit: 40))"
                )
            }
        } else {
            (self.os, self.sdk) = (os, sdk)
        }
    }

    private mutating func take(_ entry: Entry) throws(Fault) {
        let (value, source) = (try value(entry), entry.source)
        guard let target = value.member("target")?.text, let verdict = TargetSummary.verdict(ofDocument: value) else {
            throw fault(source, ResultMerge.notAResult)
        }
        let mark = ShardMark(of: value)
        // A shard's result has a place in its list, any other one has only its name: nobody can say which of them are of one target.
        guard (areShards ?? (mark != nil)) == (mark != nil) else {
            let (this, others) = mark == nil ? ("no shard", "shards") : ("a shard", "no shard")
            throw fault(
                source,
                "contains a result of \(this), and those before it are of \(others); merge either all shards of a list, or results without --shard"
            )
        }
        areShards = mark != nil
        if let mark {
            if let first = self.mark, !mark.isOfSameRun(as: first) {
                throw fault(
                    source,
                    "is a shard of a different list or run than the files before it, or from an earlier version; every machine needs the same list in the same order"
                )
            }
            try take(os: mark.os, sdk: mark.sdk, source)
            self.mark = self.mark ?? mark
            seenShards.insert(mark.shard.number)
        }
        let isNew =
            mark.map { seenPlaces.insert($0.place).inserted }
            ?? seenTargets.insert(UTF8Key(target + " " + (value.member("address")?.text ?? ""))).inserted
        guard isNew else {
            repeatedCount += 1
            if repeated.count < 3 { repeated.append(target.terminalSafe(limit: 100)) }
            return
        }
        var placed = entry
        placed.place = mark?.place
        entries.append(placed)
        verdicts[verdict, default: 0] += 1
    }

    private func value(_ entry: Entry) throws(Fault) -> JSONValue {
        if let value = entry.value { return value }
        guard entry.count <= LineReader.limit,
            let bytes = sources[entry.source].file.bytes(at: entry.offset, count: entry.count)
        else {
            throw fault(entry.source, "cannot be read, or contains a target of more than \(LineReader.limit) bytes")
        }
        do throws(MalformedInput) {
            return try JSONReader.read(bytes)
        } catch {
            throw fault(entry.source, "the target at byte \(entry.offset): \(error.description)")
        }
    }

    private func named<Value>(
        _ source: Int, _ body: () throws(InputFault) -> Value
    ) throws(Fault) -> Value {
        do throws(InputFault) { return try body() } catch { throw fault(source, error.reason) }
    }
}

extension TargetSummary {
    /// The verdict of a target in JSON, by the rules of ``verdict(_:)-(TargetReport)``; nil if it is no target.
    static func verdict(ofDocument target: JSONValue) -> Verdict? {
        func result(_ value: JSONValue?) -> Verdict? { value?.member("result")?.text.flatMap(Verdict.init) }
        if let systems = target.member("systems")?.members { return verdict(systems.map { result($0.value) }) }
        guard case .array(let tests)? = target.member("tests") else { return nil }
        // The row of an app's dictionary names the app's SDK.
        return verdict([result(tests.last { $0.member("sdk") != nil } ?? tests.first)])
    }
}
