// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Findings
import Foundation
import Reporting
import StrictJSON

/// Renders reports as they come: `jsonl` at once, every other form in the order in which the targets were given.
struct CheckOutput {
    struct Options {
        let format: CheckFormat
        /// The systems with the SDKs of nscurl's rows: mostly one.
        let profiles: [OSProfile]
        /// Whether several systems were asked for, or one in that manner.
        let comparesSystems: Bool
        /// Whether targets are left out whose verdict is the same on all systems.
        let showsChangesOnly: Bool
        let verbose: Bool
        let colored: Bool
        let showsProgress: Bool
        /// The moment of judgement.
        let instant: Date
    }

    private let options: Options
    private var profile: OSProfile { options.profiles.first ?? .standard }
    private var hasSystems: Bool { options.comparesSystems }
    private let targets: [CheckTarget]
    private let stream: ResultStream
    private let text: CheckText
    /// Rendered reports whose turn has not come; text only, never the reports themselves.
    private var waiting: [Int: String] = [:]
    /// What the page shows, by the place of the target; only the HTML form collects it.
    private var pages: [Int: DiagnosisPage.Target] = [:]
    private var turn = 0
    private var written = 0
    private var summary = CheckSummary()
    private(set) var finished = 0

    init(options: Options, targets: [CheckTarget], stream: ResultStream) {
        self.options = options
        self.targets = targets
        self.stream = stream
        let names = targets.map {
            CheckText.shortName(
                host: $0.url.host,
                port: $0.url.effectivePort,
                isSecure: $0.url.isSecure
            ).count
        }
        text = CheckText(colored: options.colored, verbose: options.verbose, width: min(48, names.max() ?? 0))
    }

    /// FAIL beats undetermined.
    var outcome: Outcome {
        if summary.failed > 0 { return .findings }
        return summary.undetermined > 0 ? .undetermined : .clean
    }

    mutating func begin() throws {
        switch options.format {
        case .json:
            try stream.write(
                "{\n  \"schema\": \"sealward.ats-check/1\",\n  \"os\": \(JSONValue.string(profile.id).rendered()),\n"
                    + "  \"sdk\": \(profile.sdk.json.rendered()),\n  \"checked\": \"\(RFC3339.text(Date()))\",\n"
                    + "  \"targets\": ["
            )
        case .junit: try stream.write(CheckDocuments.junitHead)
        case .markdown: try stream.write(CheckDocuments.markdownHead(os: profile.shownID))
        case .text where hasSystems: try stream.write(text.head(options.profiles))
        case .text, .nscurl, .jsonl, .html: break
        }
    }

    private var words: String { options.profiles.map(\.shownID).joined(separator: ", ") }

    mutating func add(_ report: TargetReport, at index: Int) throws {
        finished += 1
        summary.add(report)
        // The form of nscurl has no place for it.
        if options.format == .nscurl {
            for warning in report.warnings { CommandIO.say("sealward: \(warning.message.terminalSafe)") }
        }
        if options.format == .jsonl {
            if isShown(report) { try stream.write(line: CheckOutput.document(report)) }
        } else if options.format == .html {
            pages[index] = CheckDocuments.page(report, on: profile, at: options.instant)
        } else {
            waiting[index] = isShown(report) ? render(report, index) : ""
            while let next = waiting.removeValue(forKey: turn) {
                try emit(next)
                turn += 1
            }
        }
        if options.showsProgress {
            try? FileHandle.standardError.write(contentsOf: Data("\r\(finished)/\(targets.count) ".utf8))
        }
    }

    /// Writes what is known of targets whose predecessors never finished, and closes the document.
    mutating func end() throws {
        for index in waiting.keys.sorted() {
            if let next = waiting.removeValue(forKey: index) { try emit(next) }
        }
        if options.showsProgress { try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K".utf8)) }
        switch options.format {
        case .json: try stream.write(written == 0 ? "]\n}\n" : "\n  ]\n}\n")
        case .junit: try stream.write(CheckDocuments.junitTail)
        case .html:
            let page = DiagnosisPage(
                version: Sealward.configuration.version,
                targets: pages.keys.sorted().compactMap { pages[$0] },
                judgedAt: CheckDocuments.seconds(options.instant)
            )
            try stream.write(page.html())
        case .text:
            if targets.count > 1 {
                try stream.write(
                    "\(summary.passed) pass, \(summary.failed) fail, \(summary.undetermined) undetermined on \(words)\n"
                )
            }
        case .nscurl, .jsonl, .markdown: break
        }
        try stream.close()
    }

    private func isShown(_ report: TargetReport) -> Bool { !options.showsChangesOnly || report.changesBetweenSystems }

    /// A line of `jsonl` is a document of its own.
    private static func document(_ report: TargetReport) -> JSONValue {
        guard case .object(let members) = report.json else { return report.json }
        return .object([.init("schema", "sealward.ats-check-target/1")] + members)
    }

    private mutating func emit(_ rendered: String) throws {
        if rendered.isEmpty { return }
        if options.format == .json, written > 0 { try stream.write(",") }
        try stream.write(rendered)
        written += 1
    }

    private func render(_ report: TargetReport, _ index: Int) -> String {
        switch options.format {
        case .text: hasSystems ? text.matrix(report) : text.render(report)
        case .nscurl: NSCurlText.render(report, url: targets[index].displayURL, verbose: options.verbose)
        case .json:
            // By bytes: names of certificates are in it.
            String(
                decoding: Array("\n    ".utf8)
                    + report.json.rendered().utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
                    .joined(separator: "\n    ".utf8),
                as: UTF8.self
            )
        case .jsonl, .html: ""
        case .junit: CheckDocuments.junit(report)
        case .markdown: CheckDocuments.markdown(report)
        }
    }
}

/// How many targets ended how.
struct CheckSummary {
    private(set) var passed = 0
    private(set) var failed = 0
    private(set) var undetermined = 0

    /// Of several systems the worst verdict counts.
    mutating func add(_ report: TargetReport) {
        let results = report.systems.isEmpty ? [report.decisive?.result] : report.systems.map { $0.decisive?.result }
        if results.contains(.fail) {
            failed += 1
        } else if results.allSatisfy({ $0 == .pass }) {
            passed += 1
        } else {
            undetermined += 1
        }
    }
}
