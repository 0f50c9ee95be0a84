// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Formats
import FoundationEssentials
import Vocabulary

struct VerifyReceiptCommand: AsyncParsableCommand {
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
        name: .long, help: ArgumentHelp("The attested key: X9.63 (65 bytes), SPKI or PEM.", valueName: "B64"),
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

    func run() async throws {
        try await CommandIO.run {
            let roots = try AttestInput.roots(AttestInput.texts(trustRoot), ReceiptRoots.init(pem:)) ?? .apple
            let expectations = ReceiptExpectations(
                app: judgement.appId, publicKey: publicKey, environment: environment,
                maximumAge: maxAge.map { TimeInterval($0.seconds) })
            let judged = await JudgedReceipt(try AttestInput.read(file), roots, expectations, at: judgement.instant)
            try judgement.format.write(judged.json, text: judged.text, to: judgement.shared)
            return judged.outcome
        }
    }
}

struct InspectReceiptCommand: AsyncParsableCommand {
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

    @OptionGroup var form: InspectionOptions

    func run() async throws {
        try await CommandIO.run {
            let input = try AttestInput.read(file)
            let receipt: Receipt
            do throws(MalformedInput) {
                receipt = try Receipt(decoding: try input.get())
            } catch {
                throw error.fault(in: file)
            }
            try form.format.write(
                receipt.json(schema: "sealward.receipt-inspect/1", verdict: []), text: receipt.listing, to: form.shared)
            return .clean
        }
    }
}
