// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings

/// Why an attestation, an assertion or a receipt is not accepted. The first failed step, and nothing after it.
public struct Refusal: Error, Sendable, ComparedByCode, CustomStringConvertible {
    /// The stable name, for example `attest.nonce.mismatch`.
    public let code: Code
    /// The number of the failed step in Apple's published list, or in ours after it; nil if the input could not be read.
    public let step: Int?
    /// One sentence for people, without a full stop.
    public let reason: String

    init(_ code: Code, step: Int? = nil, _ reason: String) {
        self.code = code
        self.step = step
        self.reason = reason
    }

    init(_ malformed: MalformedInput) { self.init(malformed: malformed) }

    /// The refusal of an input that could not be read.
    package init(malformed: MalformedInput) {
        self.init(malformed.code, malformed.description)
    }

    public var description: String { "\(code): \(reason)" }
}
