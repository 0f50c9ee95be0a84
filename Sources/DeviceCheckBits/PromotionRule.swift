// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Decides whether a device may have a promotion that each device gets once.
///
/// The promotion is one named bit of the team: set means claimed. The bit survives reinstall and erase and is shared by the apps of
/// the team, so none of them lets a device claim again. Two claims that read before either has written both see a clear bit: Apple
/// offers no compare-and-set, so the caller must let only one claim of a device run at a time as far as it can tell devices apart.
public struct PromotionRule: Sendable, Equatable {
    /// What the bits mean.
    package let registry: BitRegistry
    /// The bit that remembers the promotion.
    package let meaning: BitMeaning

    /// - Returns: nil if the registry has no bit of this name.
    public init?(_ name: String, in registry: BitRegistry) {
        guard let meaning = registry[name] else { return nil }
        self.registry = registry
        self.meaning = meaning
    }

    /// What to do with a claim.
    public enum Decision: Sendable, Equatable {
        /// Write these bits; once Apple has acknowledged them, the claim is granted.
        case grant(write: BitPair, firstClaim: Bool)
        /// The device has claimed already and no reset is due.
        case refuse
    }

    /// Judges a claim by what Apple holds.
    ///
    /// `firstClaim` is false if the bit was set once and its reset rule makes it count as clear now.
    public func decide(_ state: DeviceBitState, now: YearMonth) -> Decision {
        var bits = registry.effective(state, now: now)
        guard !bits[meaning.bit] else { return .refuse }
        bits[meaning.bit] = true
        return .grant(write: bits, firstClaim: !state.bits[meaning.bit])
    }
}
