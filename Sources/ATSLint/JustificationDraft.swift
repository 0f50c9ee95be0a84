// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings
import PropertyLists
import Reporting

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

    /// The draft in Markdown.
    package func text() -> String {
        let asking = results.filter { !$0.reviewTriggers.isEmpty }
        guard !asking.isEmpty else {
            return "No key of the dictionary asks for a justification in App Review.\n"
        }
        var result = "# App Transport Security: draft for the notes to App Review\n\n"
        result +=
            "Facts below come from the Info.plist\(evidence.map { " and from measurements of the servers (\($0.checked.map { "of \($0), " } ?? "")profile \(Markdown.text($0.os)))" } ?? ""). "
        result += "Lines in square brackets are for you to write.\n"
        for file in asking { result += section(file) }
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
        for finding in file.findings {
            guard let key = finding.reviewTrigger else { continue }
            let host = finding.finding.keyPath.count >= 4 ? finding.finding.keyPath[2] : nil
            // Two rules may ask about one key.
            guard written.insert(UTF8Key(key + "\u{0}" + (host ?? ""))).inserted else { continue }
            result += "\n### \(Markdown.text(key))\(host.map { " for \(Markdown.text($0))" } ?? "")\n\n"
            if let place = finding.finding.location {
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
        let covered = (host ?? "") + (entry?.includesSubdomains == true ? " and its subdomains" : "")
        if let host, entry?.host.isDead == true {
            return "none: '\(host)' matches no host, so the key is never read."
        }
        if key.hasPrefix("NSThirdParty") || key.hasPrefix("NSTemporary") {
            return "none in Apple's published evaluator, which does not read this key of 2015."
        }
        switch key {
        case ATSKey.arbitraryLoads:
            let kept = facts.exceptions.filter { !$0.allowsInsecureLoads && !$0.host.isDead }.map(\.key)
            if !facts.arbitraryLoadsInForce {
                return "none since \(SystemChange.globalKeys.names), where another key takes its place."
            }
            let effect =
                "ATS is off for every host"
                + (kept.isEmpty ? "" : ", except \(kept.joined(separator: ", ")), which keep it")
            guard let sibling = facts.arbitraryLoadsSiblings.first?.key else { return effect + "." }
            return effect
                + ", but only before \(SystemChange.globalKeys.names): since then \(sibling) takes its place."
        case ATSKey.arbitraryLoadsForMedia:
            return "ATS is off for media that AVFoundation loads; everything else keeps it."
        case ATSKey.arbitraryLoadsInWebContent: return "ATS is off inside web views; everything else keeps it."
        case _ where key.hasSuffix("MinimumTLSVersion"):
            let text = entry?.sub(key)?.node.string
            if let sdk = facts.subject.sdk, let first = LinkedSDK.stackMinimum, sdk >= first,
                let version = text.flatMap(TLSVersionName.init(rawValue:)), version < .tls12
            {
                return
                    "none on iOS 26, macOS 26 and later, because the app is linked on SDK \(sdk); on older systems \(covered) may speak \(version.rawValue)."
            }
            return
                "\(covered) may speak \(text ?? "an older version of TLS"); every other host keeps TLS 1.2."
        default: return "plain HTTP to \(covered) is allowed; every other host keeps ATS."
        }
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
