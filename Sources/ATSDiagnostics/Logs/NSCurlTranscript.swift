// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import Formats
package import Vocabulary

/// The output of `nscurl --ats-diagnostics`, as somebody recorded it on a Mac.
package struct NSCurlTranscript: Sendable {
    /// What became of one configuration.
    package struct Row: Sendable, Equatable {
        /// The name of the configuration, in nscurl's words.
        package let name: String
        /// Whether the load completed; nil if the transcript ends before it says so.
        package let passed: Bool?
        /// The number of the NSURLError; nil without `--verbose`, and for a load that completed.
        package let code: Int?
        /// The number of the CFStream error, likewise.
        package let streamCode: Int?
        /// Whether its name or its dictionary asks for a NIAP package: nscurl has such rows from 26.4 on, in words that no source has.
        package let isHardened: Bool
        /// Why FAIL is none that the server is known to deserve, where `ats check` wrote the transcript.
        let undetermined: Cause?
    }

    package let url: String
    /// In the order of the transcript, at most 256.
    package let rows: [Row]

    /// Reads a transcript; what other programs wrote in between is passed over.
    ///
    /// - Throws: `MalformedInput` with code `malformed.transcript` for text that names no URL or has no row.
    package init(_ bytes: [UInt8]) throws(MalformedInput) {
        var reader = NSCurlReader()
        for line in bytes.split(separator: 0x0A) { _ = reader.take(line) }
        func malformed(_ reason: String) -> MalformedInput {
            MalformedInput(code: .malformedTranscript, reason: reason)
        }
        guard let url = reader.url else {
            throw malformed("names no URL; record it with nscurl --ats-diagnostics --verbose URL")
        }
        guard !reader.rows.isEmpty else {
            throw malformed("has no result; record it with nscurl --ats-diagnostics --verbose URL")
        }
        self.url = url
        rows = reader.rows
    }
}

/// A transcript beside what a check found here.
package struct TranscriptComparison: Sendable {
    /// One configuration on both sides; nil on a side that does not have it.
    package struct Row: Sendable {
        package let name: String
        /// What the Mac printed.
        package let recorded: NSCurlTranscript.Row?
        /// What was found here.
        package let here: ConfigurationResult?

        /// Whether both sides can have it: not a row for a NIAP package, which is left out here.
        package var isCompared: Bool { here != nil || recorded?.isHardened != true }

        /// Whether both have it and say the same, or it is not compared. Numbers that the transcript does not have differ from nothing, and what could not be
        /// determined here is FAIL, as nscurl has no third word.
        package var agrees: Bool {
            if !isCompared { return true }
            guard let recorded, let here, let passed = recorded.passed, passed == (here.result == .pass) else {
                return false
            }
            if passed { return true }
            return (recorded.code == nil || recorded.code == here.error?.code)
                && (recorded.streamCode == nil || recorded.streamCode == here.error?.streamCode)
        }

        /// Whether nothing could be determined here, so that a difference says nothing.
        package var isUndetermined: Bool { here?.result == .undetermined }
    }

    /// In the order of the transcript, then what is here alone.
    package let rows: [Row]

    /// Puts the two side by side, by the names of the configurations.
    package init(_ transcript: NSCurlTranscript, _ report: TargetReport) {
        let here = report.results.filter { !$0.configuration.isAppDictionary }
        var rows = transcript.rows.map { row in
            Row(name: row.name, recorded: row, here: here.first { $0.configuration.name.hasSameBytes(as: row.name) })
        }
        for result in here
        where !transcript.rows.contains(where: { $0.name.hasSameBytes(as: result.configuration.name) }) {
            rows.append(Row(name: result.configuration.name, recorded: nil, here: result))
        }
        self.rows = rows
    }

    package var differences: [Row] { rows.filter { !$0.agrees } }
}

extension TranscriptComparison {
    /// The member `rows` of `sealward.ats-compare/1`.
    package var json: JSONValue { .array(rows.map(\.json)) }

    /// The rows that differ, for people.
    package var text: String {
        differences.map { row in
            "\(row.name.terminalSafe)\n    on the Mac  \(row.recorded?.words ?? "no such row")\n"
                + "    here        \(row.here?.words ?? "no such row")\n"
        }.joined()
            + rows.filter { !$0.isCompared }.map { row in
                "\(row.name.terminalSafe)\n    on the Mac  \(row.recorded?.words ?? "no such row")\n"
                    + "    here        not compared: a row for a NIAP package, which nscurl has from 26.4 on\n"
            }.joined()
            + "\(differences.count) of \(rows.count(where: \.isCompared)) rows differ\n"
    }
}

extension TranscriptComparison.Row {
    fileprivate var json: JSONValue {
        .object([
            .init("name", .string(name)), .init("agrees", .bool(agrees)), .init("compared", .bool(isCompared)),
            .init(
                "recorded",
                recorded.map { row in
                    .object([
                        .init("result", row.passed.map { .string($0 ? "PASS" : "FAIL") } ?? .null),
                        .init("code", .optional(row.code)), .init("streamCode", .optional(row.streamCode)),
                    ])
                } ?? .null
            ),
            .init(
                "here",
                here.map { result in
                    .object([
                        .init("result", .string(result.result.rawValue)), .init("code", .optional(result.error?.code)),
                        .init("streamCode", .optional(result.error?.streamCode)),
                        .init("because", .array(result.because.map(\.json))),
                    ])
                } ?? .null
            ),
        ])
    }
}

extension NSCurlTranscript.Row {
    fileprivate var words: String {
        let result = passed.map { $0 ? "PASS" : "FAIL" } ?? "no result"
        return ([result] + [code, streamCode].compactMap(\.self).map(String.init)).joined(separator: " ")
    }
}

extension ConfigurationResult {
    fileprivate var words: String {
        let numbers = [error?.code, error?.streamCode].compactMap(\.self).map(String.init)
        let cause = because.first.map { ["(\($0.code))"] } ?? []
        return ([result.rawValue] + numbers + cause).joined(separator: " ")
    }
}
