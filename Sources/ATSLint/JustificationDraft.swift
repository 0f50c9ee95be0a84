// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Formats
import PropertyLists
import TLSModel
import Vocabulary

/// A draft of the justification that App Review asks for: facts from the list and from measurements, and a marked blank for the
/// business reason, which no program can know.
package struct JustificationDraft: Sendable {
    /// Marks where a person has to write.
    package static let blank = "[WRITE HERE: why the app needs this]"

    private let results: [LintResult]
    private let evidence: CheckEvidence?

    /// A draft for these results; `evidence` is what `ats check` reported about the hosts.
    package init(_ results: [LintResult], evidence: CheckEvidence?) {
        self.results = results
        self.evidence = evidence
    }

    package func text() -> String {
        let asking = results.filter { !$0.reviewTriggers.isEmpty }
        let hasMinimum = results.contains { result in
            PlistFacts(result.subject).exceptions.contains { $0.minimumVersion != nil }
        }
        let minimum = hasMinimum ? "\n\(ReviewReason.anyMinimum)\n" : ""
        guard !asking.isEmpty else {
            return "No key of the dictionary asks for a justification in App Review.\n" + minimum
        }
        var result = "# App Transport Security: draft for the notes to App Review\n\n"
        result +=
            "Facts below come from the Info.plist\(evidence.map { " and from measurements of the servers (\($0.checked.map { "of \($0), " } ?? "")profile \(Markdown.text($0.os)))" } ?? ""). "
        result += "Lines in square brackets are for you to write.\n"
        for file in asking { result += section(file) }
        result += minimum
        if evidence == nil {
            result +=
                "\nThe servers were not measured. Run `sealward ats check HOST... --format json --output check.json` and give the file "
            result += "with `--check-report check.json` to add what each server supports.\n"
        }
        return result
    }

    private func section(_ file: LintResult) -> String {
        let facts = PlistFacts(file.subject)
        let entries = Dictionary(facts.exceptions.map { (UTF8Key($0.key), $0) }, uniquingKeysWith: { $1 })
        var result = "\n## \(Markdown.text(file.subject.bundle ?? file.subject.path))\n"
        var written: Set<UTF8Key> = []
        for question in file.questions {
            let key = question.key
            let host = question.keyPath.count >= 4 ? question.keyPath[2] : nil
            // Two rules may ask about one key.
            guard written.insert(UTF8Key(key + "\u{0}" + (host ?? ""))).inserted else { continue }
            result += "\n### \(Markdown.text(key))\(host.map { " for \(Markdown.text($0))" } ?? "")\n\n"
            if let place = question.location {
                result += "- Set in \(Markdown.text(file.subject.path)), line \(place.line).\n"
            }
            let entry = host.flatMap { entries[UTF8Key($0)] }
            result += "- Effect: \(Markdown.text(effect(key, host, entry, facts)))\n"
            result += measured(host, entry)
            let reasons = ReviewReason.accepted(for: key)
            if reasons.isEmpty {
                result += "- Apple has named no acceptable reason for this key (\(ReviewReason.citation.source)).\n"
            } else {
                result += "- Apple has named as acceptable (\(ReviewReason.citation.source)):\n"
                for reason in reasons { result += "  - \(reason)\n" }
            }
            result += "- Reason: \(Self.blank)\n"
        }
        return result
    }

    private func effect(_ key: String, _ host: String?, _ entry: DomainEntry?, _ facts: PlistFacts) -> String {
        if key.hasPrefix("NSThirdParty") || key.hasPrefix("NSTemporary") {
            return "none on current systems, as a key of 2015: \(LegacyKeys.history)."
        }
        if let host, let entry { return effect(key, host, entry, facts) }
        switch key {
        case ATSKey.arbitraryLoads:
            let permits = facts.permits()
            guard let words = facts.systems.words(permits), facts.systems.someSupported(permits) else {
                return "none since \(SystemChange.globalKeys.names), where another key takes its place."
            }
            let kept = facts.exceptions.filter { entry in
                entry.effects.map { facts.systems.someSupported($0.plain.map { !$0.isPermitted }) } ?? false
            }.map(\.key)
            let sibling = ATSDictionary.overridingKeys.first { facts.flag($0) != nil }
            return "ATS is off for every host"
                + (kept.isEmpty ? "" : ", except \(kept.joined(separator: ", ")), which keep it")
                + (sibling.map { ", but only\(words): since then \($0) takes its place" } ?? words) + "."
        case ATSKey.arbitraryLoadsForMedia: return "ATS is off for media that AVFoundation loads."
        default: return "ATS is off inside web views."
        }
    }

    private func effect(_ key: String, _ host: String, _ entry: DomainEntry, _ facts: PlistFacts) -> String {
        if entry.isPlaceholder { return "known only after the build, which makes the host of '\(host)'." }
        guard let effects = entry.effects else {
            return "none: '\(host)' matches no host, so the key is never read."
        }
        let covered = host + (facts.systems.someSupported(effects.decidesBelow) ? " and its subdomains" : "")
        if key == ATSKey.insecureHTTPLoads {
            return facts.systems.words(effects.permitsPlain).map { "plain HTTP to \(covered) is allowed\($0)." }
                ?? "none: the key does not decide."
        }
        let version = entry.minimumVersion?.version.version ?? .tls12
        let speaks = facts.systems.words(effects.secure { $0.minimum <= version })
        let limited = facts.systems.words(effects.secure { $0.minimum > version })
        let limit = limited.map {
            "none\($0.hasPrefix(" since") ? " on iOS 26, macOS 26 and later" : $0), where the network stack does not speak \(version) for this app"
        }
        return [limit, speaks.map { "\(covered) may speak \(version)\($0)" }].compactMap(\.self).joined(separator: "; ")
            + "."
    }

    private func measured(_ host: String?, _ entry: DomainEntry?) -> String {
        guard let evidence else { return "" }
        let includes = entry?.includesSubdomains ?? false
        let targets = host.map { evidence.targets(of: $0, subdomains: includes) } ?? evidence.targets
        guard !targets.isEmpty else { return "- Measured: no measurement covers this host.\n" }
        var result = ""
        for target in targets {
            let name = Markdown.text(target.target)
            guard
                let standard = target.tests.first(where: { $0.name == "ATS Default Connection" }) ?? target.tests.first
            else { continue }
            switch standard.result {
            case "PASS":
                result +=
                    "- Measured: \(name) meets full ATS over HTTPS today. The key may not be needed for it.\n"
            case "FAIL":
                let passing = target.tests.filter { $0.result == "PASS" }.map(\.name)
                let why = standard.because.map { "\(Markdown.text($0.message)) (\(Markdown.text($0.code)))" }.joined(
                    separator: " ")
                result += "- Measured: \(name) does not meet full ATS. \(why)\n"
                for reason in standard.because {
                    guard let fix = Remediation(for: Cause(Code(rawValue: reason.code), ""))?.server else { continue }
                    result += "- Without the key: \(fix).\n"
                }
                result +=
                    passing.isEmpty
                    ? "- Measured: \(name) loads over HTTPS under none of the tested exceptions.\n"
                    : "- Measured: \(name) loads with: \(Markdown.text(passing.joined(separator: "; "))).\n"
            default:
                result +=
                    "- Measured: \(name) could not be determined. \(Markdown.text(standard.because.first?.message ?? ""))\n"
            }
        }
        return result
    }
}
