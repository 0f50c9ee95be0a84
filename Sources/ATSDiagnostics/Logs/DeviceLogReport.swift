// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import Formats
package import Vocabulary

/// What a log says about loads, for each host.
package struct DeviceLogReport: Sendable {
    /// Something that was said about a host, as often as it was.
    package struct Finding: Sendable {
        /// The number of the NSURLError, if the log has one.
        package let urlError: Int?
        /// The number of the CFStream error of TLS, if the log has one.
        package let streamError: Int?
        /// The sentence of App Transport Security or of the TLS library.
        let sentence: LogSentence?
        /// Our causes; more than one where the log leaves it open, none where the line only tells of a setting.
        package let codes: [Code]
        /// How often.
        package let count: Int
        /// The number of the first line.
        package let line: Int
    }

    /// A host, or all lines that name none.
    package struct Host: Sendable {
        /// Nil for lines without a host.
        package let name: String?
        /// The port of the URL, if it has one.
        package let port: Int?
        /// Whether the URL was one of https.
        package let isSecure: Bool
        /// The most frequent first.
        package let findings: [Finding]

        /// The lines about it.
        package var count: Int { findings.reduce(0) { $0 + $1.count } }

        /// The command that finds out more; nil without a host.
        package var command: String? {
            let isHardened = findings.contains { $0.sentence?.isHardened == true }
            return name.map { LogPlace.check($0, port: port, isSecure: isSecure, isHardened: isHardened) }
        }
    }

    /// Lines that were read.
    package let lines: Int
    /// Lines that say nothing known.
    package let unknown: Int
    /// The one with the most lines first, lines without a host last.
    package let hosts: [Host]
    /// How often the log spoke of hosts beyond those that are listed one by one.
    package let beyond: Int

    /// Each failure once, the one with the most lines first.
    package let failures: [LogFailure]
    /// How many there are beyond those.
    package let moreFailures: Int
    /// Whether a transcript of nscurl shows a load that the default rules let through.
    package let hasPassed: Bool

    /// Whether a failure of a load was found of which the log says why.
    package var hasFindings: Bool { moreFailures > 0 || failures.contains(where: \.saysWhy) }
}

extension DeviceLogReport {
    /// `sealward.ats-log/1`.
    package var json: JSONValue {
        .object([
            .init("schema", "sealward.ats-log/1"), .init("lines", .integer(lines)), .init("unknown", .integer(unknown)),
            .init("failures", .array(failures.map(\.json))), .init("hosts", .array(hosts.map(\.json))),
            .init("beyond", .integer(beyond)), .init("moreFailures", .integer(moreFailures)),
        ])
    }

    /// For people: a paragraph for each failure.
    package var text: String {
        var text = failures.map { $0.text + "\n" }.joined()
        if moreFailures > 0 { text += "\(moreFailures) more \(moreFailures == 1 ? "failure" : "failures")\n" }
        if !hasFindings, hasPassed {
            text += "nscurl loads the URL under the default rules of ATS: nothing to do.\n"
        } else if !hasFindings {
            if failures.isEmpty { text += "No failure of a load that is known. " }
            text +=
                "What helps: the lines of the app's process around the failure, as\n"
                + "    log show --last 5m --style compact --predicate 'process == \"APP\"' | sealward ats log -\n"
        }
        let says = unknown == 1 ? "says" : "say"
        return text + "\(lines) \(lines == 1 ? "line" : "lines"), \(unknown) of them \(says) nothing known\n"
    }
}

extension DeviceLogReport.Host {
    fileprivate var json: JSONValue {
        .object([
            .init("host", .optional(name)), .init("port", .optional(port)), .init("lines", .integer(count)),
            .init("findings", .array(findings.map { $0.json(at: name) })), .init("check", .optional(command)),
        ])
    }
}

extension DeviceLogReport.Finding {
    fileprivate func json(at host: String?) -> JSONValue {
        .object([
            .init("count", .integer(count)), .init("line", .integer(line)),
            .init(
                "error",
                urlError == nil && streamError == nil
                    ? .null
                    : .object([
                        .init("domain", "NSURLErrorDomain"), .init("code", .optional(urlError)),
                        .init("streamCode", .optional(streamError)),
                    ])
            ),
            .init("words", .optional(sentence?.text)), .init("codes", .array(codes.map { .string($0.rawValue) })),
            .init("certain", .bool(codes.count == 1)), .init("fix", .optional(fix(at: host))),
        ])
    }

    /// What to do, where the cause is certain.
    private func fix(at host: String?) -> String? {
        guard codes.count == 1, let code = codes.first else { return nil }
        return Remediation(for: code, at: host)?.server
    }
}
