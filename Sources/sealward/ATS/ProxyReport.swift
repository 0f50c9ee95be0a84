// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Findings

/// Renders what passed through a proxy: one line a request, and the summary in the end.
enum ProxyReport {
    static func line(_ event: ATSProxy.Event) -> String {
        let causes = event.causes.map { "\($0.code): \(FetchReport.clean($0.message))" }.joined(separator: "; ")
        let shown = "\(event.result.rawValue) \(event.method) \(FetchReport.clean(event.target))"
        return causes.isEmpty ? shown : "\(shown) \(causes)"
    }

    static func json(_ summary: ProxySummary, _ policy: ATSPolicy) -> JSONValue {
        [
            "schema": "sealward.ats-proxy/1",
            "os": .string(policy.profile.id),
            "hosts": .array(
                summary.hosts.map { host in
                    [
                        "host": .string(host.host), "port": .integer(host.port),
                        "scheme": .string(host.isSecure ? "https" : "http"), "requests": .integer(host.requests),
                        "refused": .integer(host.refused), "failed": .integer(host.failed),
                        "because": .array(host.causes.map(ExplainReport.json)),
                    ]
                }
            ),
            "dictionary": json(summary.dictionary),
            "impossible": .array(summary.impossible.map(JSONValue.string)),
        ]
    }

    static func text(_ summary: ProxySummary) -> String {
        var lines: [String] = []
        for host in summary.hosts {
            let counts = "\(host.requests) requests, \(host.refused) refused, \(host.failed) failed"
            lines.append(
                "\(host.isSecure ? "https" : "http")://\(FetchReport.clean(host.host)):\(host.port)  \(counts)"
            )
            for cause in host.causes { lines.append("  \(cause.code): \(FetchReport.clean(cause.message))") }
        }
        if summary.hosts.isEmpty { return "Nothing passed through the proxy.\n" }
        lines.append("The smallest NSAppTransportSecurity dictionary that lets these hosts load:")
        lines.append(json(summary.dictionary).rendered())
        for host in summary.impossible { lines.append("No exception alone lets \(FetchReport.clean(host)) load.") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Only the kinds that a dictionary of exceptions has; members in the order of their names.
    private static func json(_ value: PropertyListValue) -> JSONValue {
        switch value {
        case .dictionary(let members):
            .object(members.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, json($0.value)) })
        case .boolean(let flag): .bool(flag)
        case .string(let text): .string(text)
        case .integer(let number): .integer(number)
        case .array(let elements): .array(elements.map(json))
        case .real, .date, .data: .null
        }
    }
}
