// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Formats
import Vocabulary

struct VerifyAttestationCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify an attestation step by step, and say which step fails.",
        discussion: """
            Example:
              sealward attest verify attestation.b64 --app-id ABCDE12345.com.example.app --environment production \\
                --key-id BASE64 --challenge "the challenge"
            """
    )

    @Argument(help: .value("The attestation object, raw, in base64 or in another form; - is standard input.", "FILE"))
    var file: String

    @Option(help: .value("The environment of the key.", "ENVIRONMENT"))
    var environment: AttestationEnvironment

    @Option(
        parsing: .unconditional, help: .value("The key identifier that the app sent.", "BASE64"),
        transform: PastedArgument.keyId)
    var keyId: KeyIdentifier

    @Option(parsing: .unconditional, help: .value("The challenge as text; it is hashed.", "TEXT"))
    var challenge: String?

    @Option(
        parsing: .unconditional, help: .value("The challenge in base64; it is hashed.", "B64"),
        transform: PastedArgument.bytes)
    var challengeBase64: [UInt8]?

    @Option(
        parsing: .unconditional,
        help: .value("The hash that the app passed to attestKey, used as is: 16 bytes or more.", "B64"),
        transform: PastedArgument.clientDataHash)
    var clientDataHash: ClientDataHash?

    @Option(help: .value("Trust these roots instead of Apple's, for attestation and receipt; repeatable.", "PEM"))
    var trustRoot: [String] = []

    @Option(
        help: .value(
            "How to treat the receipt inside: report its verdict, require that it is accepted, or ignore it.", "MODE"))
    var receipt: ReceiptWeight = .report

    @Flag(help: "Accept the identifier `appattestsandbox` as development.")
    var acceptSandboxIdentifier = false

    @Option(
        help: .value(
            "Accept only this validation category (iOS 27 and later); repeatable. 1 is the system, 2 TestFlight, 3 development, 4 the App Store, 5 enterprise or ad hoc, 6 Developer ID, 10 other.",
            "N"))
    var validationCategory: [UInt32] = []

    @Option(help: .value("Accept only this bundle version (iOS 27 and later); repeatable.", "VERSION"))
    var bundleVersion: [String] = []

    @Flag(help: "Refuse an object that has no value for the two options above.")
    var requireExtensions = false

    @Flag(help: "Require the access control of a Mac with Full Security.")
    var requireMacAccessControl = false

    @OptionGroup var judgement: JudgementOptions

    var form: ResultForm { judgement.form }

    func validate() throws { _ = try input() }

    private func input() throws -> HashedInput {
        try HashedInput(
            text: challenge, base64: challengeBase64, hash: clientDataHash,
            "--challenge, --challenge-base64 and --client-data-hash")
    }

    func result() async throws -> CommandResult {
        let files = try AttestInput.texts(trustRoot)
        let verifier = AttestationVerifier(
            apps: [judgement.appId], environments: [environment],
            roots: try AttestInput.roots(files, AttestationRoots.init(pem:)) ?? .apple,
            receiptRoots: receipt == .ignore
                ? nil : try AttestInput.roots(files, ReceiptRoots.init(pem:)) ?? .apple, policy: policy)
        let input = try input()
        let verdict: AttestationVerdict
        switch try AttestInput.read(file) {
        case .success(let bytes):
            let first = await verifier.verify(
                bytes, keyId: keyId, clientDataHash: input.hash, at: judgement.instant)
            let explained = first.refusal.map {
                verifier.explained($0, of: bytes, clientDataHash: input.hash, clientData: input.data)
            }
            verdict = explained.map { .refused($0) } ?? first
        case .failure(let malformed): verdict = .refused(Refusal(malformed: malformed))
        }
        let answer = AttestationAnswer(
            verdict: verdict, requiresReceipt: receipt == .require, replacesRoots: !trustRoot.isEmpty)
        if answer.refusal != nil { HashedInput.noteFile("--challenge", challenge) }
        return CommandResult(answer.json, text: answer.text, answer.refusal == nil ? .clean : .findings)
    }

    /// What the receipt inside of an attestation counts for.
    enum ReceiptWeight: String, ExpressibleByArgument, CaseIterable {
        /// Verdict and status judge the key; the receipt's verdict is reported beside it.
        case report
        /// A refused receipt refuses the whole.
        case require
        /// The receipt is not judged.
        case ignore
    }

    private var policy: AttestationPolicy {
        var policy = AttestationPolicy()
        policy.acceptsSandboxIdentifier = acceptSandboxIdentifier
        if !validationCategory.isEmpty {
            let categories = validationCategory.map(ValidationCategory.init(rawValue:))
            policy.validationCategories = .init(Set(categories), acceptsAbsence: !requireExtensions)
        }
        if !bundleVersion.isEmpty {
            policy.bundleVersions = .init(Set(bundleVersion), acceptsAbsence: !requireExtensions)
        }
        if requireMacAccessControl { policy.requiredAccessControl = AttestationPolicy.macFullSecurityAccessControl }
        return policy
    }
}
