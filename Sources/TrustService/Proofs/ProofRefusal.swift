// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
package import HTTPService
package import Vocabulary

/// Why a proof is not accepted: its object, its challenge or its key.
///
/// It is returned from the verifier to the answer and never thrown. Only refusals are subject to the app's mode: what else goes wrong (the form
/// of the request, a limit, a store) is thrown, and is the same in every mode.
package struct ProofRefusal: Error, Sendable, Equatable {
    /// What the caller sees.
    package var problem: Problem

    /// What a verifier said; nil if none was asked.
    private(set) var verdict: Refusal?

    package init(_ code: Code, evidence: String = "") { problem = Problem(code, evidence: evidence) }

    init(_ refusal: Refusal) {
        self.init(refusal.code, evidence: refusal.reason)
        verdict = refusal
    }

    /// An object that is malformed: where, and what is there, for callers that may know.
    init(_ malformed: MalformedInput, in object: UnreadObject) {
        self.init(malformed.code, evidence: malformed.description)
        problem.difference = object.members(problem.evidence)
    }

    /// The same for an attestation: a device attests a key once, so after a wasted challenge it needs another key as well.
    var needingNewKey: ProofRefusal {
        var refusal = self
        refusal.problem.retry = .newKey
        return refusal
    }

    /// The key is of an identity that the app has no more.
    static var otherIdentity: ProofRefusal {
        ProofRefusal(.assertAppIdMismatch, evidence: "the key's identity is no longer configured")
    }
}

/// An object of a proof that could not be read.
enum UnreadObject: String {
    case attestation
    case assertion

    /// The members of a refusal, with what is wrong as the form.
    func members(_ reason: String) -> [JSONValue.Member] {
        let method = self == .attestation ? "attestKey" : "generateAssertion"
        return Problem.members(of: (rawValue, reason, "the bytes that \(method) returned, whole and unchanged"))
    }
}

/// What a proof shows, or why it is refused.
typealias Judged<Proof> = Result<Proof, ProofRefusal>

extension Result where Failure == ProofRefusal {
    /// Goes on with what is proved; a refusal stays one.
    func then<Next>(_ body: (Success) async throws -> Judged<Next>) async throws -> Judged<Next> {
        switch self {
        case .success(let proof): try await body(proof)
        case .failure(let refusal): .failure(refusal)
        }
    }
}
