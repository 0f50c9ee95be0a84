// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Formats
import Vocabulary

struct VerifyAssertionCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-assertion",
        abstract: "Verify an assertion with a previously attested key.",
        discussion: """
            Example:
              sealward attest verify-assertion assertion.b64 --app-id ABCDE12345.com.example.app --public-key BASE64 \\
                --client-data '{"action":"buy"}' --counter 6
            """
    )

    @Argument(help: .value("The assertion object, raw, in base64 or in another form; - is standard input.", "FILE"))
    var file: String

    @Option(
        parsing: .unconditional, help: .value("The attested key: X9.63 (65 bytes), SPKI or PEM.", "B64"),
        transform: PastedArgument.publicKey)
    var publicKey: AttestationPublicKey

    @Option(parsing: .unconditional, help: .value("The client data as text; it is hashed.", "TEXT"))
    var clientData: String?

    @Option(
        parsing: .unconditional, help: .value("The client data in base64; it is hashed.", "B64"),
        transform: PastedArgument.clientData)
    var clientDataBase64: [UInt8]?

    @Option(
        parsing: .unconditional, help: .value("The hash that the app passed to generateAssertion, used as is.", "B64"),
        transform: PastedArgument.clientDataHash)
    var clientDataHash: ClientDataHash?

    @Option(
        help: .value(
            "The counter of the last accepted assertion: a whole number to 4294967295, 0 before the first.", "PREVIOUS")
    )
    var counter: UInt32

    @OptionGroup var judgement: JudgementOptions

    var form: ResultForm { judgement.form }

    func validate() throws { _ = try input() }

    private func input() throws -> HashedInput {
        try HashedInput(
            text: clientData, base64: clientDataBase64, hash: clientDataHash,
            "--client-data, --client-data-base64 and --client-data-hash")
    }

    func result() async throws -> CommandResult {
        let (object, input) = (try AttestInput.read(file), try input())
        let claimed = try? AssertionObject(decoding: object.get())
        let verdict: AssertionVerdict
        switch object {
        case .success(let bytes):
            let verifier = AssertionVerifier(app: judgement.appId)
            let first = verifier.verify(
                bytes, publicKey: publicKey, clientDataHash: input.hash, previousCounter: counter)
            let explained = first.refusal.map {
                verifier.explained(
                    $0, of: bytes, publicKey: publicKey, clientDataHash: input.hash, clientData: input.data)
            }
            verdict = explained.map { .refused($0) } ?? first
        case .failure(let malformed): verdict = .refused(Refusal(malformed: malformed))
        }
        if verdict.refusal != nil { HashedInput.noteFile("--client-data", clientData) }
        return CommandResult(
            verdict.json(claimedCounter: claimed?.claimedCounter), text: verdict.text,
            verdict.refusal == nil ? .clean : .findings)
    }
}

extension AssertionVerdict {
    var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }

    /// `sealward.assertion/1`. The counter is the object's own; it is proven only where the verdict is `accepted`.
    func json(claimedCounter: UInt32?) -> JSONValue {
        var (counter, extensions) = (claimedCounter.map(Int.init), JSONValue.null)
        if case .accepted(let assertion) = self {
            (counter, extensions) = (Int(assertion.counter), assertion.extensions?.json ?? .null)
        }
        return .object(
            Refusal.document("sealward.assertion/1", refusal, step: refusal?.step) + [
                .init("counter", .optional(counter)), .init("extensions", extensions),
            ])
    }

    /// The same for people.
    var text: String {
        switch self {
        case .refused(let refusal): refusal.text(of: "assertion")
        case .accepted(let assertion):
            "accepted: all verification steps of the assertion passed\n  counter  \(assertion.counter)\n"
        }
    }
}
