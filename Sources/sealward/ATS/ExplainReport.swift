// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import Findings
import StrictJSON
import TLSFacts

/// Renders decisions as `sealward.ats-explain/1` and as text.
enum ExplainReport {
    static func json(_ decisions: [URLDecision], _ policy: ATSPolicy) -> JSONValue {
        [
            "schema": "sealward.ats-explain/1",
            "os": .string(policy.profile.id),
            "sdk": policy.profile.sdk.json,
            "decisions": .array(decisions.map { json($0, policy) }),
        ]
    }

    private static func json(_ decision: URLDecision, _ policy: ATSPolicy) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("url", .string(decision.url.text)),
            .init("host", .string(decision.url.host)),
            .init("scheme", .string(decision.url.scheme)),
            .init("local", .bool(decision.isLocal)),
            .init("applies", .bool(decision.applies)),
            .init("rule", ["source": .string(decision.rule.source.rawValue), "key": .optional(decision.rule.key)]),
            .init("tlsRequired", .bool(decision.tlsRequired)),
            .init("minimumTLS", .optional(decision.requirements.minimumTLS?.description)),
            .init("effectiveMinimumTLS", .string(decision.requirements.effectiveMinimum.description)),
            .init("cipherSuites", .string(decision.requirements.suitePolicy.rawValue)),
            .init("serverTrust", .string(decision.requirements.serverTrust.rawValue)),
            .init("pinned", .bool(decision.requirements.pins != nil)),
            .init("hardened", .bool(decision.requirements.isHardened)),
            .init("delegateMayAccept", .bool(decision.requirements.delegateMayAccept)),
            .init("verdict", .string(decision.verdict.rawValue)),
            .init(
                "error",
                decision.error?.json(on: policy.profile, host: decision.url.host, causes: decision.because) ?? .null),
            .init("because", .array(decision.because.map(\.json))),
        ]
        if !isStandard(policy.profile) {
            members.append(.init("differsFromDefault", .array(differences(decision, policy).map(JSONValue.string))))
        }
        return .object(members)
    }

    // MARK: - Text

    static func text(_ decisions: [URLDecision], _ policy: ATSPolicy, _ loader: Loader, color: Bool) -> String {
        var lines: [String] = []
        for decision in decisions {
            let word =
                decision.verdict == .blocked
                ? "BLOCKED" : (decision.verdict == .allowed ? "ALLOWED" : "DEPENDS ON SERVER")
            lines.append(
                "\(painted(word, decision.verdict, color))  \(decision.url.text.terminalSafe)  (\(policy.profile.shownName), \(loader.rawValue))"
            )
            if let error = decision.error {
                lines.append("    error     \(error.summary.terminalSafe)")
                let console = ConsoleLine.lines(
                    for: error, causes: decision.because, host: decision.url.host, on: policy.profile)
                for line in console { lines.append("    log       \(line.text.terminalSafe)") }
            }
            let key = decision.rule.key.map { ": \($0.terminalSafe)" } ?? ""
            lines.append("    rule      \(decision.rule.source.rawValue)\(key)")
            if decision.applies { lines.append("    needs     \(needs(decision))") }
            for cause in decision.because {
                lines.append("    because   \(cause.message.terminalSafe) [\(cause.code)]")
            }
            for difference in differences(decision, policy) {
                lines.append("    differs   from \(standardName(beside: policy.profile)): \(difference.terminalSafe)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// The default system, with its SDK where another one is all that differs.
    private static func standardName(beside profile: OSProfile) -> String {
        let standard = OSProfile.standard
        guard profile.id.hasSameBytes(as: standard.id), let sdk = standard.sdk else { return standard.name }
        return "\(standard.name), linked on \(sdk)"
    }

    private static func needs(_ decision: URLDecision) -> String {
        let requirements = decision.requirements
        var parts = [decision.tlsRequired ? "TLS" : "cleartext is permitted"]
        if requirements.minimumTLS != nil || decision.url.isSecure && requirements.effectiveMinimum > .tls10 {
            parts.append("\(requirements.effectiveMinimum) or later")
        }
        switch requirements.suitePolicy {
        case .ats: parts.append("forward secrecy (\(requirements.suites.count) suites)")
        case .atsPlusRSA: parts.append("forward secrecy or RSA key exchange (\(requirements.suites.count) suites)")
        case .system: parts.append("any suite of the system")
        }
        parts.append(requirements.serverTrust == .ats ? "certificates that ATS accepts" : "plain trust evaluation")
        if requirements.pins != nil { parts.append("a pinned key") }
        if requirements.isHardened { parts.append("NIAP hardening") }
        if requirements.entryRequiresTransparency { parts.append("signed certificate timestamps") }
        return parts.joined(separator: ", ")
    }

    private static func painted(_ word: String, _ verdict: URLDecision.Verdict, _ color: Bool) -> String {
        guard color else { return word }
        let number = verdict == .blocked ? 31 : (verdict == .allowed ? 32 : 33)
        return "\u{1B}[1;\(number)m\(word)\u{1B}[0m"
    }

    private static func isStandard(_ profile: OSProfile) -> Bool {
        profile.id == OSProfile.standard.id && profile.sdk == OSProfile.standard.sdk
    }

    /// What would be another way on the default system.
    private static func differences(_ decision: URLDecision, _ policy: ATSPolicy) -> [String] {
        guard !isStandard(policy.profile), decision.applies else { return [] }
        let other = ATSPolicy(dictionary: policy.dictionary, profile: .standard).decide(decision.url)
        var differences: [String] = []
        func compare(_ what: String, _ here: String, _ there: String) {
            if here != there { differences.append("\(what) is \(here) here and \(there) there") }
        }
        compare("the verdict", decision.verdict.rawValue, other.verdict.rawValue)
        compare(
            "the rule", decision.rule.key ?? decision.rule.source.rawValue, other.rule.key ?? other.rule.source.rawValue
        )
        compare(
            "the minimum version", decision.requirements.minimumTLS?.description ?? "unset",
            other.requirements.minimumTLS?.description ?? "unset")
        compare(
            "the oldest version", decision.requirements.effectiveMinimum.description,
            other.requirements.effectiveMinimum.description)
        compare("the newest version", decision.requirements.maximum.description, other.requirements.maximum.description)
        let missing = other.requirements.suites.filter { !decision.requirements.suites.contains($0) }
        let added = decision.requirements.suites.filter { !other.requirements.suites.contains($0) }
        if !added.isEmpty {
            differences.append("offered here only: " + added.map(\.description).joined(separator: ", "))
        }
        if !missing.isEmpty {
            differences.append("offered there only: " + missing.map(\.description).joined(separator: ", "))
        }
        return differences
    }
}
