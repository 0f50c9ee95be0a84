// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Formats
import FoundationEssentials
import TLSModel
import Vocabulary

struct CertificateCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificate",
        abstract: "Judge a certificate chain before it is installed. No network.",
        discussion: """
            Example:
              sealward ats certificate fullchain.pem --host api.example.com --os ios17

            FILE is PEM: the server's certificate first, the others in any order. The rules are those of `ats check`; what no CA may \
            issue fails too (ats.trust.issuance). No server is asked, so protocol versions, suites and key possession are not judged.

            Roots of --roots get the rules of the system's own: a leaf of any age must be for servers (serverAuth), be valid for at most \(days(.system)) days, and \
            have timestamps if logs are given. Below a root of --ca-file a leaf may omit its purpose and be valid for up to \(days(.installed)) days.

            With --jobs, each line of a file is a JSON object with the options as members, paths relative to that file, and each answer is \
            one line. The members ca-file and roots are a path or a list of paths:
              {"file":"chain.pem","host":"api.example.com","at":"2026-11-22T12:00:00Z","ca-file":["root.pem"]}

            Exit status: 0 every chain passes, 1 one fails, 2 one could not be judged, 64 usage.
            """
    )

    private static func days(_ kind: AnchorKind) -> String {
        OSProfile.standard.facts.transportSecurityRules.value.mostDays(below: kind).map(String.init) ?? "any number of"
    }

    @Argument(help: .value("PEM files, one chain each; - is standard input.", "FILE"))
    var files: [String] = []

    @OptionGroup var options: CertificateOptions

    @Option(help: .value("Chains to judge, one JSON object per line; - is standard input.", "FILE"))
    var jobs: String?

    @OptionGroup var form: ResultForm

    func validate() throws {
        if jobs == nil, files.isEmpty {
            throw ValidationError("Name at least one PEM file, for example: sealward ats certificate fullchain.pem")
        }
        if jobs != nil, !files.isEmpty { throw ValidationError("Give FILE or --jobs, not both.") }
        if files.filter({ $0 == "-" }).count > 1 { throw ValidationError("Standard input is one file.") }
    }

    func outcome() async throws -> Outcome {
        _ = try options.system.profile()
        let bench = CertificateBench(now: Date())
        if let jobs { return try await run(jobs: jobs, bench) }
        var answers: [CertificateAnswer] = []
        var isComplete = true
        for file in files {
            let chain: [[UInt8]]
            do throws(CommandFault) {
                chain = try CertificateBench.chain(file)
            } catch {
                CommandIO.say("sealward: \(error.description)")
                isComplete = false
                continue
            }
            answers.append(try await bench.answer(options.job(file: file), chain))
        }
        if answers.isEmpty { return .undetermined }
        let stream = try ResultStream(path: form.shared.output)
        switch form.format {
        case .json:
            let profile = try options.system.profile()
            let document: JSONValue = [
                "schema": "sealward.ats-certificate/1",
                "os": .string(profile.id),
                "sdk": profile.sdk.json,
                "certificates": .array(answers.map(\.json)),
            ]
            try stream.write(document.rendered() + "\n")
        case .text:
            let isColored = form.shared.showsColors
            for answer in answers { try stream.write(answer.text(colored: isColored).fitted) }
        }
        try stream.close()
        let verdicts = answers.map(\.verdict)
        return Outcome(
            fails: verdicts.contains(.fail), isUndetermined: verdicts.contains(.undetermined) || !isComplete)
    }

    /// One answer a line, as it comes.
    private func run(jobs path: String, _ bench: CertificateBench) async throws -> Outcome {
        let bytes = try CommandIO.readText(path, limit: 64 << 20)
        let folder = path == "-" ? nil : URL(fileURLWithPath: path).deletingLastPathComponent()
        let stream = try ResultStream(path: form.shared.output)
        var verdicts: Set<ConfigurationResult.Result> = []
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where line.contains(where: { $0 > 0x20 }) {
            let place = "\(CommandIO.name(of: path)): line \(index + 1)"
            let answer = await bench.answer(line: Array(line), at: place, defaults: options, folder: folder)
            verdicts.insert(answer.verdict)
            try stream.write(line: answer.json)
        }
        try stream.close()
        if verdicts.isEmpty {
            throw CommandFault("\(CommandIO.name(of: path)): contains no job; write one JSON object per line.")
        }
        return Outcome(fails: verdicts.contains(.fail), isUndetermined: verdicts.contains(.undetermined))
    }
}

/// How a chain is judged: the options of the command, and the defaults of each line of `--jobs`.
struct CertificateOptions: ParsableArguments {
    @Option(help: .value("The host that the server will serve; without it no name is checked.", "NAME"))
    var host: String?

    @OptionGroup var system: SystemOptions

    @Option(help: .value("The time to judge at, RFC 3339; default now.", "RFC3339"))
    var at: Instant?

    @OptionGroup var trust: TrustOptions

    @Option(help: .value("An OCSP response as the server would staple it, DER.", "FILE"))
    var ocspResponse: String?

    @Option(help: .value("The rules of trust: ats, or default (plain trust evaluation without ATS's own).", "RULES"))
    var serverTrust: ServerTrust = .ats

    enum ServerTrust: String, ExpressibleByArgument, CaseIterable { case ats, `default` }

    func validate() throws {
        if let host {
            _ = try CommandIO.argument("--host") { () throws(MalformedInput) in try CertificateJob.host(host) }
        }
    }

    func job(file: String) -> CertificateJob {
        CertificateJob(
            file: file, path: file, host: host, profile: system.anyProfile(), instant: at?.date,
            authorities: trust.caFile, appAnchors: trust.appAnchor, roots: trust.roots.map { [$0] } ?? [],
            logs: trust.ctLogList, response: ocspResponse, serverTrust: serverTrust == .ats ? .ats : .default)
    }
}

/// What became of one chain: a verdict, or why there is none.
struct CertificateAnswer {
    let file: String?
    let host: String?
    let verdict: ConfigurationResult.Result
    private let because: [Cause]
    private let report: CertificateReport?

    init(file: String, host: String?, _ report: CertificateReport) {
        self.file = file
        self.host = host
        self.report = report
        // A chain is judged before it is installed: doubt about the key of its root counts against it.
        verdict = report.passed ? .pass : report.isOpen ? .undetermined : .fail
        because = report.because
    }

    /// A chain that could not be judged.
    init(file: String?, host: String?, code: Code, reason: String) {
        self.file = file
        self.host = host
        report = nil
        verdict = .undetermined
        because = [Cause(code, reason)]
    }

    /// One certificate of `sealward.ats-certificate/1`.
    var json: JSONValue {
        .omittingNone([
            "file": .optional(file), "host": .optional(host), "verdict": .string(verdict.rawValue.lowercased()),
            "because": .array(because.map(\.json)), "facts": report?.factsJSON ?? .null,
            "notes": .unlessEmpty((report?.notes ?? []).map(\.json)),
        ])
    }

    /// One line for the chain, then what the leaf is, the causes and the fix.
    func text(colored: Bool) -> String {
        var lines = [
            "\(verdict.painted(colored))  \((file ?? "-").terminalSafe)" + (host.map { "  \($0.terminalSafe)" } ?? "")
        ]
        func detail(_ label: String, _ text: String) {
            lines.append("      \(label.padded(to: 7))\(text.terminalSafe)")
        }
        if let leaf = report?.facts.chain.judged.first {
            detail("leaf", "\(leaf.subject), until \(RFC3339.text(leaf.notAfter))")
        }
        if let anchor = report?.facts.chain.anchor {
            detail("root", "\(anchor.certificate.subject) (\(anchor.kind.rawValue), \(anchor.store))")
        }
        for cause in because { detail("cause", "\(cause.code): \(cause.message)") }
        if let cause = because.first, let fix = Remediation(for: cause) { detail("fix", fix.server) }
        for note in report?.notes ?? [] { detail("note", note.message) }
        return lines.joined(separator: "\n") + "\n"
    }
}
