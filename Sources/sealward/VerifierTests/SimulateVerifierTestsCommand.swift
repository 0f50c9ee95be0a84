// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DeviceSimulator
import Formats
import FoundationEssentials
import HTTPService
import HTTPTypes
import Vocabulary

struct SimulateVerifierTestsCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verifier-tests",
        abstract: "Send another App Attest verifier every valid and invalid object, and print what it judges wrongly.",
        discussion: """
            A question is one line of JSON: id, kind (attestation, assertion, receipt), object in base64, and what a server knows: appId, environment, \
            keyId, clientData, clientDataHash, publicKey, previousCounter, maximumAgeSeconds, attestationRoot, receiptRoot. The answer is one line: \
            {"verdict": "accepted"}, "refused", "unsupported" for what the verifier does not judge, or "crashed"; "reason" may say more. The program of \
            --command answers on standard output until its input ends; --url is asked with POST. --export writes the same questions as files, which are valid \
            until the end of 2043.

            Status 1 means that something was judged wrongly. Adapters for published verifiers are in Examples/verifier-tests.

            Example: sealward simulate verifier-tests --command "python3 adapter.py"
            """
    )

    @Option(help: .value("A program that answers each line with a line.", "CMD"))
    var command: String?

    @Option(help: .value("An address that answers the same with POST.", "URL"))
    var url: String?

    @Option(help: .value("An empty or new folder for the questions as files.", "DIR"))
    var export: String?

    @Option(help: .value("Only these: attestation, assertion or receipt; repeatable.", "KIND"))
    var kind: [String] = []

    @Option(help: .value("The longest time for one answer, in seconds.", "S"))
    var timeout = 10

    @OptionGroup var connection: ReachOptions

    @OptionGroup var form: ResultForm

    func validate() throws {
        guard [command, url, export].count(where: { $0 != nil }) == 1 else {
            throw ValidationError("Give exactly one of --command, --url and --export.")
        }
        guard 1...600 ~= timeout else { throw ValidationError("--timeout must be 1 to 600.") }
        for name in kind where VerifierCase.Kind(rawValue: name) == nil {
            throw ValidationError("--kind: '\(name.terminalSafe)' is not attestation, assertion or receipt.")
        }
        if let url, !url.hasPrefix("http://"), !url.hasPrefix("https://") {
            throw ValidationError("--url must begin with http:// or https://.")
        }
    }

    func outcome() async throws -> Outcome {
        let cases = try VerifierCase.all().filter { kind.isEmpty || kind.contains($0.kind.rawValue) }
        if let export {
            try FreshFolder.fill(export) { _ in VerifierQuestion.files(cases) }
            try CommandIO.write(
                "wrote \(cases.count) cases into \(export.terminalSafe); cases.json lists them\n",
                to: form.shared.output)
            return .clean
        }
        var report = VerifierReport()
        let progress = ProgressLine(of: cases.count, quiet: form.shared.quiet)
        defer { progress?.clear() }
        if let command {
            let verifier = CommandVerifier(command, timeout: .seconds(timeout))
            defer { verifier.stop() }
            for item in cases {
                report.add(item, try verifier.judge(VerifierQuestion.line(item)))
                progress?.advance()
            }
        } else if let url {
            let limit = Duration.seconds(timeout)
            try await connection.transport(to: [url], timeout: limit).closing { transport in
                var verifier = URLVerifier(url: url, timeout: limit, transport: transport)
                for item in cases {
                    report.add(item, try await verifier.judge(VerifierQuestion.line(item)))
                    progress?.advance()
                }
            }
        }
        try form.format.write(report.json, text: report.text, to: form.shared)
        return report.outcome
    }
}

/// An address that judges: it gets each question with POST and answers with the same JSON.
struct URLVerifier {
    let url: String
    let timeout: Duration
    let transport: HTTPTransport
    private(set) var hasAnswered = false

    /// - Throws: ``CommandFault`` where nothing answers the first question.
    mutating func judge(_ question: [UInt8]) async throws -> VerifierAnswer {
        let start = ContinuousClock.now
        do {
            let answer = try await transport.send(
                .post, url, [.contentType: "application/json"], body: question, within: timeout)
            hasAnswered = true
            guard answer.status == 200 else { return VerifierAnswer(.crashed, "the status is \(answer.status)") }
            return VerifierAnswer(reading: answer.body)
        } catch let fault as HTTPTransport.Fault {
            if ContinuousClock.now - start >= timeout {
                return VerifierAnswer(.tooSlow, "no answer within \(timeout.components.seconds) seconds")
            }
            guard hasAnswered else { throw CommandFault("--url: \(fault.reason).") }
            return VerifierAnswer(.crashed, fault.reason)
        }
    }
}
