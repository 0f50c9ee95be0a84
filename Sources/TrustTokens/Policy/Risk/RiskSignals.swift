// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Vocabulary

/// What is known about one key and its user when it is judged. Absent knowledge is nil or zero and adds nothing.
public struct RiskSignals: Sendable, Equatable {
    /// "Not supported" reports from the same user or address, lately. A client's word: weak.
    public var unsupportedReports = 0
    /// Refused requests by class, lately.
    public var failures: [FailureClass: Int] = [:]
    /// Keys that the key's user attested in the last 30 days; one for each device and installation is ordinary.
    public var keysOfUser = 0
    /// Users who tried to claim this key, including the owner.
    public var usersOfKey = 1
    /// The risk metric of the newest receipt: about how many keys the device attested in 30 days.
    public var metric: Int?
    package var baseline: MetricBaseline?
    /// The key is so young that nothing speaks for it yet. It costs no points.
    package var isNewKey = false
    /// The newest receipt has expired: what Apple said of the device is months old. It costs no points.
    package var hasOldReceipt = false
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
    /// Names of DeviceCheck bits that the app set to mark this device as a bad one.
    public var deviceMarks: [String] = []

    /// Nothing known against the key: the highest tier, until a property says more.
    public init() {}

    /// What kind of failure a refusal was; some happen to everybody.
    public enum FailureClass: String, Sendable, CaseIterable {
        /// Timeouts, expired challenges, throttling: ordinary life.
        case transient
        /// Repeated counters and challenges: retries by clumsy clients, or replay.
        case replay
        /// Signatures, nonces, identities that do not fit: nothing that an honest app produces.
        case forgery
    }
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
