// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Formats
import Vocabulary

/// A case as JSON: what the verifier gets, without the right answer.
enum VerifierQuestion {
    static func line(_ item: VerifierCase) -> [UInt8] {
        let members = [JSONValue.Member("schema", "sealward.verifier-case/1")] + told(item)
        let object = JSONValue.Member("object", .string(Base64.encode(item.object)))
        return JSONValue.object(members + [object]).encoded(pretty: false) + [0x0A]
    }

    private static func told(_ item: VerifierCase) -> [JSONValue.Member] {
        let told = item.told
        return [
            .init("id", .string(item.id)), .init("kind", .string(item.kind.rawValue)),
            .init("appId", .string(told.applicationId)),
            .init("environment", told.isProduction ? "production" : "development"),
            .init("keyId", .string(Base64.encode(told.keyId))),
            .init("clientData", .string(Base64.encode(told.clientData))),
            .init("clientDataHash", .string(Base64.encode(told.clientDataHash))),
            .init("publicKey", .string(Base64.encode(told.publicKey))),
            .init("previousCounter", .integer(Int(told.previousCounter))),
            .init("maximumAgeSeconds", .optional(told.maximumAge)),
            .init("attestationRoot", .string(told.attestationRootPEM)),
            .init("receiptRoot", .string(told.receiptRootPEM)),
        ]
    }

    /// The objects, one file each, and a list of the facts and the right answer for each.
    static func files(_ cases: [VerifierCase]) -> [FreshFolder.File] {
        let list = cases.map { item in
            JSONValue.object(
                told(item) + [
                    .init("file", .string(item.id + ".bin")), .init("group", .optional(item.group)),
                    .init("what", .string(item.what)),
                    .init("expected", item.code == nil ? "accepted" : "refused"), .init("code", .optional(item.code)),
                ]
            )
        }
        let index = JSONValue.object([.init("schema", "sealward.verifier-cases/1"), .init("cases", .array(list))])
        return cases.map { FreshFolder.File($0.id + ".bin", $0.object) }
            + [FreshFolder.File("cases.json", index.rendered() + "\n")]
    }
}

/// What another verifier said about one object.
struct VerifierAnswer: Sendable {
    enum Verdict: String, Sendable {
        case accepted, refused
        /// The verifier does not judge such objects.
        case unsupported
        /// No answer, one that cannot be read, or a failure that the verifier does not call a refusal.
        case crashed
        case tooSlow = "too-slow"
    }

    let verdict: Verdict
    /// Its own words, or ours where it had none.
    let words: String
    /// Whether the verifier's line has a verdict, known or not.
    private(set) var isItsOwn = false

    init(_ verdict: Verdict, _ words: String) {
        self.verdict = verdict
        self.words = words
    }

    /// Reads one line of JSON; what is none is `crashed`, and not its own.
    init(reading line: [UInt8]) {
        var limits = JSONReader.Limits.outside
        limits.depth = 8
        guard let answer = try? JSONReader.read(line, limits: limits), let text = answer.member("verdict")?.text else {
            self.init(.crashed, "the answer is not JSON with a verdict")
            return
        }
        let words = answer.member("reason")?.text ?? ""
        switch Verdict(rawValue: text) {
        case .tooSlow?, nil: self.init(.crashed, "the verdict is '\(text)'")
        case let verdict?: self.init(verdict, words)
        }
        isItsOwn = true
    }
}
