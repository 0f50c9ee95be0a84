// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// What one bit means to the team, and when it stops meaning it.
public struct BitMeaning: Hashable, Sendable {
    package let bit: DeviceBit
    package let name: String
    package let resetAfterMonths: Int?

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - bit: which of the two bits.
    ///   - name: the name that requests use, for example `trialUsed`.
    ///   - resetAfterMonths: after how many months without a write the bit counts as clear again; nil for never.
    ///     A device may change hands: Apple advises using the month of the last write and resetting by your own policy.
    public init(bit: DeviceBit, name: String, resetAfterMonths: Int? = nil) {
        self.bit = bit
        self.name = name
        self.resetAfterMonths = resetAfterMonths
    }
}

/// A list of meanings that does not make a registry.
public struct BitRegistryFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// Which entry of the list, counted from 0.
    package let index: Int
    /// The member that is wrong: `bit`, `name` or `resetAfterMonths`.
    package let member: String
    package let reason: String

    public var description: String { "bits[\(index)].\(member): \(reason)" }
}

/// The names of the bits of one team, with their reset rules.
///
/// Both bits belong to the whole team and share one month, so a registry is made once for all of its apps.
public struct BitRegistry: Sendable, Equatable {
    /// At most one for each bit.
    public let meanings: [BitMeaning]

    /// - Throws: ``BitRegistryFault`` for a bit or a name that is used twice, a name that is not 1 to 64 letters, digits, `-`,
    ///   `_` or `.`, or a reset after less than a month.
    public init(_ meanings: [BitMeaning]) throws(BitRegistryFault) {
        var bits: Set<DeviceBit> = []
        var names: Set<String> = []
        for (index, meaning) in meanings.enumerated() {
            guard bits.insert(meaning.bit).inserted else {
                throw BitRegistryFault(index: index, member: "bit", reason: "is named twice")
            }
            guard BitRegistry.isName(meaning.name) else {
                throw BitRegistryFault(
                    index: index, member: "name", reason: "must be 1 to 64 letters, digits, '-', '_' or '.'")
            }
            guard names.insert(meaning.name).inserted else {
                throw BitRegistryFault(index: index, member: "name", reason: "is used twice")
            }
            guard meaning.resetAfterMonths ?? 1 >= 1 else {
                throw BitRegistryFault(index: index, member: "resetAfterMonths", reason: "must be 1 or more")
            }
        }
        self.meanings = meanings
    }

    /// The meaning with this name.
    public subscript(name: String) -> BitMeaning? {
        // By bytes: two spellings of one character are two names.
        meanings.first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// The bits that count in the month `now`: those whose reset is due count as clear.
    ///
    /// A month in the future (a wrong clock on either side) resets nothing.
    public func effective(_ state: DeviceBitState, now: YearMonth) -> BitPair {
        guard case .set(var bits, let lastUpdate) = state else { return .clear }
        for meaning in meanings {
            if let limit = meaning.resetAfterMonths, now.months(since: lastUpdate) >= limit {
                bits[meaning.bit] = false
            }
        }
        return bits
    }

    /// The bits by name, as they count in the month `now`, in the registry's order.
    public func named(_ state: DeviceBitState, now: YearMonth) -> [(name: String, value: Bool)] {
        let bits = effective(state, now: now)
        return meanings.map { ($0.name, bits[$0.bit]) }
    }

    /// What to write so that the named bits get new values and the other keeps its effective value.
    ///
    /// A write gives both bits a new month. Writing the value that counts, and not the value that Apple holds, keeps a bit whose
    /// reset is due from coming back to life.
    /// - Returns: nil if a name is not in the registry.
    public func bits(changing changes: [String: Bool], of state: DeviceBitState, now: YearMonth) -> BitPair? {
        var bits = effective(state, now: now)
        for (name, value) in changes {
            guard let meaning = self[name] else { return nil }
            bits[meaning.bit] = value
        }
        return bits
    }

    private static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_.".utf8.contains($0) }
    }
}

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
