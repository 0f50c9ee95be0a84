// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Findings
import Foundation
import StrictJSON

struct VerifyAssertionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-assertion",
        abstract: "Verify an assertion with a previously attested key.",
        discussion: """
            Example:
              sealward attest verify-assertion assertion.b64 --app-id ABCDE12345.com.example.app --public-key BASE64 \\
                --client-data '{"action":"buy"}' --counter 6
            """
    )

    @Argument(help: ArgumentHelp("The assertion object, raw or in base64; - is standard input.", valueName: "FILE"))
    var file: String

    @Option(name: .long, help: ArgumentHelp("The attested key: 65 bytes in X9.63 form.", valueName: "B64"))
    var publicKey: AttestationPublicKey

    @Option(name: .long, help: ArgumentHelp("The client data as text; it is hashed.", valueName: "TEXT"))
    var clientData: String?

    @Option(name: .long, help: ArgumentHelp("The client data in base64; it is hashed.", valueName: "B64"))
    var clientDataBase64: Base64Bytes?

    @Option(
        name: .long,
        help: ArgumentHelp("The hash that the app passed to generateAssertion, used as is.", valueName: "B64"))
    var clientDataHash: ClientDataHash?

    @Option(
        name: .long,
        help: ArgumentHelp("The counter of the last accepted assertion, 0 before the first.", valueName: "PREVIOUS"))
    var counter: UInt32

    @OptionGroup var judgement: JudgementOptions

    func validate() throws {
        let given = [clientData != nil, clientDataBase64 != nil, clientDataHash != nil].filter { $0 }.count
        if given != 1 {
            throw ValidationError("Give exactly one of --client-data, --client-data-base64 and --client-data-hash.")
        }
    }

    func run() async throws {
        try await CommandIO.run {
            let input = try AttestInput.read(file)
            let claimed = try? AssertionObject(decoding: input.get())
            let verdict: AssertionVerdict
            switch input {
            case .success(let bytes):
                verdict = AssertionVerifier(app: judgement.appId).verify(
                    bytes, publicKey: publicKey, clientDataHash: hash, previousCounter: counter)
            case .failure(let malformed): verdict = .refused(Refusal(reading: malformed))
            }
            let text =
                judgement.format == .json
                ? verdict.json(claimedCounter: claimed?.claimedCounter).rendered() + "\n" : verdict.text.fitted
            try CommandIO.write(text, to: judgement.shared.output)
            if case .accepted = verdict { return .clean }
            return .findings
        }
    }

    private var hash: ClientDataHash {
        if let clientDataHash { return clientDataHash }
        return ClientDataHash(hashing: clientDataBase64?.bytes ?? Array((clientData ?? "").utf8))
    }
}

extension AssertionVerdict {
    /// `sealward.assertion/1`. The counter is the object's own; it is proven only where the verdict is `accepted`.
    func json(claimedCounter: UInt32?) -> JSONValue {
        switch self {
        case .accepted(let assertion):
            [
                "schema": "sealward.assertion/1", "verdict": "accepted", "step": nil, "code": nil,
                "message": "all verification steps passed", "counter": .integer(Int(assertion.counter)),
                "extensions": assertion.extensions?.json ?? nil,
            ]
        case .refused(let refusal):
            [
                "schema": "sealward.assertion/1", "verdict": "refused", "step": .optional(refusal.step),
                "code": .string(refusal.code.rawValue), "message": .string(refusal.reason),
                "counter": .optional(claimedCounter.map(Int.init)), "extensions": nil,
            ]
        }
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
