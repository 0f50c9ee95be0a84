// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import ATSClient
package import AppTransportSecurity
package import Formats
import PropertyLists
import Vocabulary

/// Renders what passed through a proxy: one line a request, and the summary in the end.
package enum ProxyReport {
    package static func line(_ event: ATSProxy.Event) -> String {
        let causes = event.causes.map { "\($0.code): \($0.message.terminalSafe(limit: 500))" }.joined(separator: " ")
        let shown = "\(event.result.rawValue) \(event.method) \(event.target.terminalSafe(limit: 500))"
        let error = event.error.map { " An app gets \($0.summary.terminalSafe(limit: 500))" } ?? ""
        return causes.isEmpty ? shown : "\(shown) \(causes)\(error)"
    }

    package static func line(_ turnedAway: ATSProxy.TurnedAway) -> String {
        "turned away: \(turnedAway.full) for too many connections, \(turnedAway.addressFull) for too many from one address, "
            + "\(turnedAway.withoutDescriptors) times no descriptor was left"
    }

    package static func json(_ summary: ProxySummary, _ policy: ATSPolicy) -> JSONValue {
        [
            "schema": "sealward.ats-proxy/1",
            "os": .string(policy.profile.id),
            "sdk": policy.profile.sdk.json,
            "hosts": .array(
                summary.hosts.map { host in
                    [
                        "host": .string(host.host), "port": .integer(host.port),
                        "scheme": .string(host.isSecure ? "https" : "http"), "requests": .integer(host.requests),
                        "refused": .integer(host.refused), "failed": .integer(host.failed),
                        "because": .array(host.causes.map(\.json)),
                        "error": host.error?.json(console: host.console) ?? .null,
                    ]
                }
            ),
            "dictionary": summary.dictionary.propertyListValue.json,
            "impossible": .array(summary.impossible.map(JSONValue.string)),
        ]
    }

    package static func text(_ summary: ProxySummary) -> String {
        var lines: [String] = []
        for host in summary.hosts {
            let counts = "requests: \(host.requests), refused: \(host.refused), failed: \(host.failed)"
            lines.append("\(host.isSecure ? "https" : "http")://\(host.host.terminalSafe):\(host.port)  \(counts)")
            for cause in host.causes { lines.append("  \(cause.code): \(cause.message.terminalSafe)") }
            if let error = host.error { lines.append("  an app gets \(error.summary.terminalSafe)") }
            for line in host.console { lines.append("  its console shows: \(line.text.terminalSafe)") }
        }
        if summary.hosts.isEmpty { return "Nothing passed through the proxy.\n" }
        lines.append("The smallest NSAppTransportSecurity dictionary that lets these hosts load:")
        lines.append(summary.dictionary.propertyListValue.json.rendered())
        for name in summary.impossible {
            let causes =
                summary.hosts.first { $0.isSecure && "\($0.host):\($0.port)".hasSameBytes(as: name) }?.causes ?? []
            let code = AppTrust.sentence(about: causes).map { " \($0)" } ?? ""
            lines.append("No exception alone lets \(name.terminalSafe) load.\(code)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
