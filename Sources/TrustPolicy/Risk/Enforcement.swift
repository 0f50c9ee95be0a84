// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings

/// What a service does with its judgements.
public enum EnforcementMode: String, Sendable, CaseIterable {
    /// Nothing is verified or refused.
    case off
    /// Everything is verified, nothing is refused; a would-be refusal is reported.
    case monitor
    /// Refusals refuse.
    case enforce
}

/// What becomes of one request.
public enum EnforcementDecision: Sendable, Equatable {
    /// The request goes ahead.
    case allow
    /// Allowed, although the code says that it would have been refused.
    case allowAndReport(Code)
    /// The request is refused with this code.
    case refuse(Code)
}

extension EnforcementMode {
    /// Decides one request.
    ///
    /// - Parameters:
    ///   - refusal: the code of a verifier or a store; nil where they accepted.
    ///   - score: the risk of an accepted request.
    ///   - minimumTier: what the operation demands; nil for nothing. A score of one signal alone never refuses, whatever is demanded.
    public func decide(refusal: Code?, score: RiskScore, minimumTier: TrustTier?) -> EnforcementDecision {
        if self == .off { return .allow }
        var code = refusal
        if code == nil, let minimumTier, score.tier < minimumTier, score.contributions.count > 1 { code = .policyTier }
        guard let code else { return .allow }
        return self == .monitor ? .allowAndReport(code) : .refuse(code)
    }
}

extension Code {
    /// The operation demands more trust than the key has.
    public static let policyTier: Code = "policy.tier"
}
