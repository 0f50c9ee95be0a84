// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// One reason for a decision or a verdict: a code for programs, a sentence for people, and the source of the rule.
public struct Cause: Sendable, ComparedByCode, CustomStringConvertible {
    /// What a cause does to the verdict.
    package enum Kind: Sendable {
        /// It fails or blocks.
        case failure
        /// It names the rule that decided.
        case rule
        /// It is worth knowing and decides nothing.
        case note
    }

    /// What kind of key a cause is about.
    package enum KeyKind: Sendable {
        case rsa
        case ellipticCurve
    }

    /// The stable code, as in `docs/errors.md`.
    public let code: Code
    /// One sentence: what was found, and against which requirement.
    public let message: String
    /// Where the rule is written; nil for what is plain.
    public let citation: Citation?

    /// Whether it fails, names a rule, or only informs.
    package let kind: Kind

    /// Which of several situations with this code it is, where they are fixed in different ways; nil for the usual one.
    package let situation: String?

    /// The kind of the key that a cause about keys found; nil for other causes and other kinds.
    package let keyKind: KeyKind?

    package init(
        _ code: Code, _ message: String, citation: Citation? = nil, kind: Kind = .failure, situation: String? = nil,
        keyKind: KeyKind? = nil
    ) {
        self.situation = situation
        self.keyKind = keyKind
        self.kind = kind
        self.code = code
        self.message = message
        self.citation = citation
    }

    public var description: String { "\(code): \(message)" }

    /// The same in other words.
    package func saying(_ message: String) -> Cause {
        Cause(code, message, citation: citation, kind: kind, situation: situation, keyKind: keyKind)
    }
}
