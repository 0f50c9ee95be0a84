// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Formats
import Vocabulary

package struct DeviceLogReport: Sendable {
    package let lines: Int
    /// Lines that say nothing known.
    package let unknown: Int
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
        [
            "schema": "sealward.ats-log/1", "lines": .integer(lines), "unknown": .integer(unknown),
            "failures": .array(failures.map(\.json)), "hosts": .array(hosts), "beyond": .integer(moreFailures),
            "moreFailures": .integer(moreFailures),
        ]
    }

    /// The failures by host: the one with the most lines first, those without a host last.
    private var hosts: [JSONValue] {
        let groups = Dictionary(grouping: failures) { $0.host.map { UTF8Key($0) } }
            .map { (host: $0.key?.text, lines: $0.value.reduce(0) { $0 + $1.count }, failures: $0.value) }
            .sorted {
                ($0.host == nil ? 1 : 0, $1.lines, $0.host ?? "") < ($1.host == nil ? 1 : 0, $0.lines, $1.host ?? "")
            }
        return groups.map { group in
            .object([
                .init("host", .optional(group.host)),
                .init("port", .optional(group.failures.lazy.compactMap(\.port).first)),
                .init("lines", .integer(group.lines)), .init("findings", .array(group.failures.map(\.finding))),
                .init("check", .optional(group.failures.lazy.compactMap(\.check).first)),
            ])
        }
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
