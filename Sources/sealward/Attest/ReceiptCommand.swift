// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

struct ReceiptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt",
        abstract: "App Attest receipts: inspected, verified, and exchanged for the risk metric.",
        subcommands: [InspectReceiptCommand.self, VerifyReceiptCommand.self, RefreshReceiptCommand.self])
}

struct VerifyReceiptCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a receipt: signature, chain, app, age, key.",
        discussion: """
            Example:
              sealward receipt verify receipt.b64 --app-id ABCDE12345.com.example.app --max-age 5m
            """
    )

    @Argument(help: .value("The receipt, raw, in base64 or in another form; - is standard input.", "FILE"))
    var file: String

    @Option(
        parsing: .unconditional, help: .value("The attested key: X9.63 (65 bytes), SPKI or PEM.", "B64"),
        transform: PastedArgument.publicKey)
    var publicKey: AttestationPublicKey?

    @Option(help: .value("The environment that the receipt must belong to.", "ENVIRONMENT"))
    var environment: AttestationEnvironment?

    @Option(help: .value("The maximum age of the receipt: seconds, or 90s, 15m, 24h, 7d.", "DURATION"))
    var maxAge: DurationOption?

    @Option(help: .value("Trust these roots instead of Apple Root CA - G3; repeatable.", "PEM"))
    var trustRoot: [String] = []

    @OptionGroup var judgement: JudgementOptions

    var form: ResultForm { judgement.form }

    func result() async throws -> CommandResult {
        let roots = try AttestInput.roots(AttestInput.texts(trustRoot), ReceiptRoots.init(pem:)) ?? .apple
        let expectations = ReceiptExpectations(
            app: judgement.appId, publicKey: publicKey, environment: environment,
            maximumAge: maxAge.map { TimeInterval($0.seconds) })
        let judged = await JudgedReceipt(
            try AttestInput.read(file, .malformedReceipt), roots, expectations, at: judgement.instant)
        return CommandResult(judged.json, text: judged.text, judged.outcome)
    }
}

struct InspectReceiptCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show every field of a receipt. Nothing is verified.",
        discussion: """
            Example:
              sealward receipt inspect receipt.b64
            """
    )

    @Argument(help: .value("The receipt, raw, in base64 or in another form; - is standard input.", "FILE"))
    var file: String

    @OptionGroup var inspection: InspectionOptions

    var form: ResultForm { inspection.form }

    func result() async throws -> CommandResult {
        let input = try AttestInput.read(file, .malformedReceipt)
        let receipt = try CommandIO.named(file) { () throws(MalformedInput) in
            try Receipt(decoding: try input.get())
        }
        return CommandResult(receipt.inspection, text: receipt.listing)
    }
}

struct RefreshReceiptCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Exchange a receipt at Apple for a newer one, which has the risk metric.",
        discussion: """
            Sends the receipt in base64 with a developer token to /v1/attestationData and verifies the answer. Field 17, the risk metric, is the \
            approximate number of keys that the device attested for the app in the last thirty days. Apple answers 304 before the time in \
            field 19, and 404 thirty days after the last attestation.

            Example:
              sealward receipt refresh receipt.b64 --app-id ABCDE12345.com.example.app --team-id ABCDE12345 --key-id KEY7890123 \\
                --key-file AuthKey.p8

            Exit status: 0 a newer receipt that is accepted, 1 one that is refused, 2 no newer receipt.
            """
    )

    @Argument(help: .value("The receipt, raw, in base64 or in another form; - is standard input.", "FILE"))
    var file: String

    @OptionGroup var account: AppleAccountOptions

    @Option(
        help: .value(
            "The environment of the key, production or development; by default the one that the receipt names.",
            "ENVIRONMENT"))
    var environment: AttestationEnvironment?

    @Option(help: .value("Trust these roots instead of Apple Root CA - G3; repeatable.", "PEM"))
    var trustRoot: [String] = []

    @OptionGroup var judgement: JudgementOptions

    var form: ResultForm { judgement.form }

    func result() async throws -> CommandResult {
        let roots = try AttestInput.roots(AttestInput.texts(trustRoot), ReceiptRoots.init(pem:)) ?? .apple
        let input = try AttestInput.read(file, .malformedReceipt)
        let (old, named) = try CommandIO.named(file) { () throws(MalformedInput) in
            (try input.get(), try Receipt(decoding: try input.get()).environment)
        }
        // Field 7 says `sandbox` of keys of the development environment.
        let isDevelopment = environment.map { $0 == .development } ?? (named == "sandbox")
        let apples = isDevelopment ? AppleEndpoint.dataDevelopment : .data
        let client = ReceiptRefreshClient(
            transport: try account.transport(), authorization: try await account.authorization(),
            endpoint: try account.endpoint(orApples: apples))
        let outcome = try await client.refresh(old, at: judgement.instant)
        guard case .renewed(let bytes) = outcome else {
            let explanation = CodeCatalog.explanation(of: outcome.code.rawValue)
            let seen = outcome.seen.map { ": \($0)" } ?? ""
            CommandIO.say(
                "sealward: no newer receipt: \(explanation?.meaning ?? "no answer")\(seen) (\(outcome.code)).")
            if let explanation { CommandIO.say("sealward: \(explanation.action).") }
            throw ExitCode(Outcome.undetermined.rawValue)
        }
        let judged = await JudgedReceipt(
            .success(bytes), roots, ReceiptExpectations(app: judgement.appId, type: .receipt),
            at: judgement.instant)
        let receipt = Base64.encode(bytes)
        return CommandResult(
            .object((judged.json.members ?? []) + [.init("receipt", .string(receipt))]),
            text: "\(judged.text)  receipt  \(receipt)\n", fits: false, judged.outcome)
    }
}

extension ReceiptRefreshOutcome {
    /// What came, where the code covers more than one answer.
    fileprivate var seen: String? {
        switch self {
        case .unusable(_, let reason): reason
        case .unavailable(let status, _): status.map { "the status is \($0)" } ?? "no answer came"
        default: nil
        }
    }
}
