// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Vocabulary

/// What is known about one key and its user when it is judged. Absent knowledge is nil or zero and adds nothing.
public struct RiskSignals: Sendable, Equatable {
    /// Keys that the key's user attested in the last 30 days; one for each device and installation is ordinary.
    public var keysOfUser = 0
    /// The risk metric of the newest receipt: about how many keys the device attested in 30 days.
    public var metric: Int?
    package var baseline: MetricBaseline?
    /// The key is so young that nothing speaks for it yet. It costs no points.
    package var isNewKey = false
    /// The key was revoked once, and restored. It costs no points.
    package var isRestored = false
    /// The largest jump of the counter.
    public var largestCounterGap = 0
    /// An object or key of another environment than the app's was seen for this key's user.
    public var hasEnvironmentSurprise = false
    /// The validation category does not match how this app is distributed.
    public var hasCategorySurprise = false
    /// The device is on a system that always sends extensions, and sent none.
    public var lacksExpectedExtensions = false

    /// Nothing known against the key: the highest tier, until a property says more.
    public init() {}
}

/// One reason in a score.
public struct RiskContribution: Sendable, Equatable {
    /// For example `risk.metric.above-baseline`.
    public let code: Code
    /// 1 ... `RiskScore.largestContribution`.
    public let points: Int
    /// One sentence for the operator.
    public let message: String
}

/// How far a key is trusted. The raw value is the `tier` of answers and tokens.
public enum TrustTier: String, Sendable, CaseIterable, Comparable {
    /// Good only for what costs nothing.
    case low
    /// What an ordinary device has.
    case standard
    /// Nothing speaks against the device.
    case high

    public static func < (left: TrustTier, right: TrustTier) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .low: 0
        case .standard: 1
        case .high: 2
        }
    }
}
