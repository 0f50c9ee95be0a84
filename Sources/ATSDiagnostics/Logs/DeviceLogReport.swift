// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import Findings
package import StrictJSON

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
            guard let name else { return nil }
            let authority = (name.utf8.contains(UInt8(ascii: ":")) ? "[\(name)]" : name) + (port.map { ":\($0)" } ?? "")
            let purpose = findings.contains { $0.sentence?.isHardened == true } ? " --for managed" : ""
            return "sealward ats check \(isSecure ? "https" : "http")://\(authority)/\(purpose)"
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

    /// Whether something was found that stands in the way of a load.
    package var hasFindings: Bool { beyond > 0 || hosts.contains { $0.findings.contains { !$0.codes.isEmpty } } }
}

extension DeviceLogReport {
    /// `sealward.ats-log/1`.
    package var json: JSONValue {
        .object([
            .init("schema", "sealward.ats-log/1"), .init("lines", .integer(lines)), .init("unknown", .integer(unknown)),
            .init("hosts", .array(hosts.map(\.json))), .init("beyond", .integer(beyond)),
        ])
    }

    /// For people.
    package var text: String {
        var text = ""
        for host in hosts {
            text +=
                "\(host.name?.terminalSafe ?? "(no host in the line)"), \(host.count) \(host.count == 1 ? "line" : "lines")\n"
            for finding in host.findings {
                text += "    \(finding.count)x  \(finding.name), first in line \(finding.line)\n"
                if !finding.codes.isEmpty { text += "        cause  \(finding.causeWords)\n" }
                if let fix = finding.fix { text += "        fix    \(fix)\n" }
            }
            if let command = host.command { text += "    run  \(command.terminalSafe)\n" }
        }
        if beyond > 0 { text += "\(beyond) \(beyond == 1 ? "line" : "lines") about more hosts\n" }
        let says = unknown == 1 ? "says" : "say"
        return text + "\(lines) \(lines == 1 ? "line" : "lines"), \(unknown) of them \(says) nothing known\n"
    }
}

extension DeviceLogReport.Host {
    fileprivate var json: JSONValue {
        .object([
            .init("host", .optional(name)), .init("port", .optional(port)), .init("lines", .integer(count)),
            .init("findings", .array(findings.map(\.json))), .init("check", .optional(command)),
        ])
    }
}

extension DeviceLogReport.Finding {
    fileprivate var json: JSONValue {
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
            .init("certain", .bool(codes.count == 1)), .init("fix", .optional(fix)),
        ])
    }

    /// What the log wrote.
    fileprivate var name: String {
        var parts: [String] = []
        if let urlError { parts.append("NSURLError \(urlError)") }
        if let streamError { parts.append("stream \(streamError)") }
        if let sentence { parts.append("\"\(sentence.text)\"") }
        return parts.joined(separator: ", ")
    }

    fileprivate var causeWords: String {
        codes.count == 1 ? codes[0].rawValue : "one of " + codes.map(\.rawValue).joined(separator: ", ")
    }

    /// What to do, where the cause is certain.
    fileprivate var fix: String? {
        guard codes.count == 1, let code = codes.first else { return nil }
        return Remediation(for: Cause(code, ""))?.server
    }
}
