// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import Formats
import TLSModel
package import Vocabulary

/// Renders decisions as `sealward.ats-explain/1` and as text.
package enum ExplainReport {
    /// A URL as it was given, and what is decided about it or why nothing is.
    package typealias Row = (text: String, decision: Result<URLDecision, MalformedInput>)

    package static func json(_ rows: [Row], _ policy: ATSPolicy) -> JSONValue {
        [
            "schema": "sealward.ats-explain/1",
            "os": .string(policy.profile.id),
            "sdk": policy.profile.sdk.json,
            "decisions": .array(
                rows.map { row in
                    switch row.decision {
                    case .success(let decision): json(decision, policy)
                    case .failure(let malformed):
                        [
                            "url": .string(row.text), "verdict": "undetermined",
                            "because": .array([Cause(malformed.code, "\(malformed.reason).").json]),
                        ]
                    }
                }),
        ]
    }

    private static func json(_ decision: URLDecision, _ policy: ATSPolicy) -> JSONValue {
        let sources = decision.disputedSources
        let error = decision.error?.json(on: policy.profile, host: decision.url.host, causes: decision.because)
        return .omittingNone([
            "url": .string(decision.url.text),
            "host": .string(decision.url.host),
            "scheme": .string(decision.url.scheme),
            "local": .bool(decision.isLocal),
            "applies": .bool(decision.applies),
            "rule": ["source": .string(decision.rule.source.rawValue), "key": .optional(decision.rule.key)],
            "tlsRequired": .bool(decision.tlsRequired),
            "minimumTLS": .optional(decision.requirements.minimumTLS?.description),
            "effectiveMinimumTLS": .string(decision.requirements.effectiveMinimum.description),
            "cipherSuites": .string(decision.requirements.suitePolicy.rawValue),
            "serverTrust": .string(decision.requirements.serverTrust.rawValue),
            "pinned": .bool(decision.requirements.pins != nil),
            "hardened": .bool(decision.requirements.isHardened),
            "delegateMayAccept": .bool(decision.requirements.delegateMayAccept),
            "verdict": .string(sources.isEmpty ? decision.verdict.rawValue : "undetermined"),
            "error": sources.isEmpty ? error ?? .null : .null,
            "because": .array(decision.because.map(\.json)),
            "sources": .unlessEmpty(sources.map(JSONValue.string)),
            "fix": decision.verdict == .blocked ? .array(fixes(decision).map(JSONValue.string)) : .none,
            "differsFromDefault": isStandard(policy.profile)
                ? .none : .array(differences(decision, policy).map(JSONValue.string)),
        ])
    }

    // MARK: - Text

    /// The lines of a URL without `--verbose`, at most.
    private static let mostLines = 8

    /// How much is said of a URL.
    private enum Detail {
        case all
        /// What a wide terminal has room for.
        case usual
        /// What a narrow one has room for.
        case least
    }

    /// - Parameter columns: how wide a line may be before whoever prints it breaks it.
    package static func text(
        _ rows: [Row], _ policy: ATSPolicy, _ loader: Loader, color: Bool, isVerbose: Bool, columns: Int
    ) -> String {
        rows.flatMap { row -> [String] in
            switch row.decision {
            case .success(let decision):
                func lines(_ detail: Detail) -> [String] {
                    // The first line has its colors already.
                    let all = Self.lines(decision, policy, loader, color: color, detail)
                    return all.prefix(1) + all.dropFirst().map(\.terminalSafe)
                }
                func height(_ lines: [String]) -> Int {
                    lines.reduce(0) { $0 + $1.wrapped(to: columns).utf8.split(separator: 0x0A).count }
                }
                if isVerbose { return lines(.all) }
                let usual = lines(.usual)
                if height(usual) <= mostLines { return usual }
                return lines(.least).reduce(into: []) { kept, line in
                    if height(kept + [line]) <= mostLines { kept.append(line) }
                }
            case .failure(let malformed):
                return [
                    "\(painted("UNDETERMINED", 33, color))  \(row.text.terminalSafe)",
                    "    because   \(malformed.reason.terminalSafe) [\(malformed.code)]",
                ]
            }
        }.joined(separator: "\n") + "\n"
    }

    /// The verdict, the deciding rule, and what would change it come first.
    private static func lines(
        _ decision: URLDecision, _ policy: ATSPolicy, _ loader: Loader, color: Bool, _ detail: Detail
    ) -> [String] {
        let (word, number) =
            switch decision.verdict {
            case _ where !decision.disputedSources.isEmpty: ("UNDETERMINED", 33)
            case .blocked: ("BLOCKED", 31)
            case .allowed: ("ALLOWED", 32)
            case .dependsOnServer: ("DEPENDS ON SERVER", 33)
            }
        var lines = [
            "\(painted(word, number, color))  \(decision.url.text.terminalSafe)  (\(policy.profile.shownName), \(loader.rawValue))"
        ]
        let sources = decision.disputedSources
        if !sources.isEmpty {
            lines.append("    sources   contradict each other: \(sources.joined(separator: "; and "))")
        }
        func because(_ causes: some Sequence<Cause>) {
            for cause in causes { lines.append("    because   \(cause.message) [\(cause.code)]") }
        }
        // The source and the key say all of the rule but where another key does not count.
        if detail == .least, let cause = decision.because.first(where: { $0.code == .ruleArbitraryLoadsIgnored }) {
            lines.append("    rule      \(cause.message) [\(cause.code)]")
        } else {
            lines.append("    rule      \(decision.rule.source.rawValue)" + (decision.rule.key.map { ": \($0)" } ?? ""))
        }
        for fix in fixes(decision) { lines.append("    fix       \(fix)") }
        if detail == .least {
            if sources.isEmpty, let error = decision.error { lines.append("    error     \(error.number)") }
            let unread = decision.unread(isFailing: decision.verdict == .blocked)
            because(unread)
            because(decision.failures)
            if decision.applies, decision.verdict != .blocked { lines.append("    needs     \(needs(decision))") }
            because(decision.notes.filter { !unread.contains($0) })
            return lines
        }
        because(decision.because.prefix(detail == .all ? decision.because.count : max(1, decision.failures.count)))
        if sources.isEmpty, let error = decision.error {
            lines.append("    error     \(error.summary)")
            let console = ConsoleLine.lines(
                for: error, causes: decision.because, host: decision.url.host, on: policy.profile)
            for line in detail == .all ? console : Array(console.prefix(1)) {
                lines.append("    log       \(line.text)")
            }
        }
        if decision.applies, detail == .all || decision.verdict != .blocked {
            lines.append("    needs     \(needs(decision))")
        }
        guard detail == .all else {
            because(decision.because.dropFirst(max(1, decision.failures.count)))
            return lines
        }
        for difference in differences(decision, policy) {
            lines.append("    differs   from \(standardName(beside: policy.profile)): \(difference)")
        }
        return lines
    }

    /// What would change a block: on the server, or in the dictionary.
    private static func fixes(_ decision: URLDecision) -> [String] {
        guard decision.verdict == .blocked, let cause = decision.failures.first else { return [] }
        let server = Remediation(for: cause).map { $0.server }
        let keys = Remedy.sentence(Remedy.forBlocked(decision))
        return [[server, keys.isEmpty ? nil : keys].compactMap(\.self).joined(separator: "; or ")]
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

    private static func painted(_ word: String, _ number: Int, _ color: Bool) -> String {
        color ? "\u{1B}[1;\(number)m\(word)\u{1B}[0m" : word
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
