// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// One of the two bits that Apple keeps for each device and team.
public enum DeviceBit: Int, Hashable, Sendable, CaseIterable {
    /// `bit0`.
    case zero = 0
    /// `bit1`.
    case one = 1
}

/// The values of both bits.
public struct BitPair: Hashable, Sendable {
    /// The first bit.
    public var bit0: Bool
    /// The second bit.
    public var bit1: Bool

    /// Makes one from both bits.
    public init(bit0: Bool, bit1: Bool) {
        self.bit0 = bit0
        self.bit1 = bit1
    }

    /// Both bits clear: what a device that was never written counts as.
    public static let clear = BitPair(bit0: false, bit1: false)

    /// The value of one bit.
    public subscript(bit: DeviceBit) -> Bool {
        get { bit == .zero ? bit0 : bit1 }
        set {
            switch bit {
            case .zero: bit0 = newValue
            case .one: bit1 = newValue
            }
        }
    }
}

/// What Apple holds for one device and one team.
///
/// The bits belong to all apps of the team and survive reinstall, erase and a change of owner, so a value without its month says
/// little: see ``BitRegistry`` for reset rules.
public enum DeviceBitState: Hashable, Sendable {
    /// Apple answered that it holds nothing for this device.
    case neverSet
    /// Both bits, and the month in which either was last written.
    case set(BitPair, lastUpdate: YearMonth)

    /// The bits; both clear if nothing was ever set.
    public var bits: BitPair {
        switch self {
        case .neverSet: .clear
        case .set(let bits, _): bits
        }
    }

    /// The month of the last write, or nil if nothing was ever set.
    public var lastUpdate: YearMonth? {
        switch self {
        case .neverSet: nil
        case .set(_, let month): month
        }
    }

    /// Whether anything was ever set.
    public var isSet: Bool { lastUpdate != nil }
}
