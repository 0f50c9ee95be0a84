// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

struct VerifyReceiptCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a receipt: signature, chain, app, age, key.",
        discussion: """
            Example:
              sealward receipt verify receipt.b64 --app-id ABCDE12345.com.example.app --max-age 5m
            """
    )

    @Argument(
        help: ArgumentHelp("The receipt, raw, in base64 or in another form; - is standard input.", valueName: "FILE"))
    var file: String

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("The attested key: X9.63 (65 bytes), SPKI or PEM.", valueName: "B64"),
        transform: PastedArgument.publicKey)
    var publicKey: AttestationPublicKey?

    @Option(
        name: .long, help: ArgumentHelp("The environment that the receipt must belong to.", valueName: "ENVIRONMENT"))
    var environment: AttestationEnvironment?

    @Option(
        name: .long,
        help: ArgumentHelp("The maximum age of the receipt: seconds, or 90s, 15m, 24h, 7d.", valueName: "DURATION"))
    var maxAge: DurationOption?

    @Option(
        name: .long,
        help: ArgumentHelp("Trust these roots instead of Apple Root CA - G3; repeatable.", valueName: "PEM"))
    var trustRoot: [String] = []

    @OptionGroup var judgement: JudgementOptions

    var form: ResultForm { judgement.form }

    func result() async throws -> CommandResult {
        let roots = try AttestInput.roots(AttestInput.texts(trustRoot), ReceiptRoots.init(pem:)) ?? .apple
        let expectations = ReceiptExpectations(
            app: judgement.appId, publicKey: publicKey, environment: environment,
            maximumAge: maxAge.map { TimeInterval($0.seconds) })
        let judged = await JudgedReceipt(try AttestInput.read(file), roots, expectations, at: judgement.instant)
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

    @Argument(
        help: ArgumentHelp("The receipt, raw, in base64 or in another form; - is standard input.", valueName: "FILE"))
    var file: String

    @OptionGroup var inspection: InspectionOptions

    var form: ResultForm { inspection.form }

    func result() async throws -> CommandResult {
        let input = try AttestInput.read(file)
        let receipt = try CommandIO.named(file) { () throws(MalformedInput) in
            try Receipt(decoding: try input.get())
        }
        return CommandResult(receipt.inspection, text: receipt.listing)
    }
}
