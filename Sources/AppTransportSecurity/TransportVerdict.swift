// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Vocabulary

/// The judgement about one connection.
public struct TransportVerdict: Sendable {
    /// Whether an app could load.
    public let passed: Bool
    /// Every failed requirement, first cause first; empty if all are met.
    public let causes: [Cause]
    /// What is worth knowing and fails nothing.
    public let notes: [Cause]
    /// What an app would get; nil if all is met.
    public let error: URLLoadError?
    /// Whether sources contradict each other about the rule that is broken, so that nobody knows how a load ends.
    package var isDisputed: Bool { causes.first?.isDisputed == true }
    /// Whether only trust evaluation failed, so that app code may accept the certificate where the dictionary permits it.
    package let onlyTrustFailed: Bool
}

extension Cause {
    /// Whether sources contradict each other about the rule.
    package var isDisputed: Bool {
        [Remediation.Situation.disputed, .disputedRoot].contains { $0.rawValue == situation }
    }
}

extension [Cause] {
    /// The same, those first about which sources agree: one of them decides, whatever is not known of the others.
    package var agreedFirst: [Cause] { filter { !$0.isDisputed } + filter(\.isDisputed) }
}
