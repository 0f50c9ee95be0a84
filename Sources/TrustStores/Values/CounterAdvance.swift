// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
package import Vocabulary

/// How strictly the order of assertions is enforced.
public enum CounterMode: String, Sendable, CaseIterable {
    /// Apple's rule: each accepted counter is higher than the one before.
    case strict
    /// The signed challenge is the guard, because parallel requests may arrive out of order. Lower counters are accepted,
    /// the same counter twice is not (as far back as 64 below the highest); the stored counter still only grows.
    case challenge
}

/// One verified assertion that asks to be accepted.
public struct CounterAdvance: Sendable, Equatable {
    /// The key that signed.
    public var keyId: KeyIdentifier
    /// The counter that the device signed, 1 or more.
    public var counter: UInt32
    /// How strictly the order is enforced.
    public var mode: CounterMode
    /// The challenge that is spent in the same transaction.
    public var challenge: SpendableChallenge
    package init(keyId: KeyIdentifier, counter: UInt32, mode: CounterMode, challenge: SpendableChallenge) {
        self.keyId = keyId
        self.counter = counter
        self.mode = mode
        self.challenge = challenge
    }
}

/// The outcome of one assertion at the store.
public enum AdvanceOutcome: Sendable, Equatable {
    /// Accepted; `previous` is the highest counter before it, from which a caller sees gaps and late arrivals.
    case advanced(previous: UInt32)
    /// Nothing was changed.
    case refused(AdvanceRefusal)
}

/// Why an assertion is not accepted.
public enum AdvanceRefusal: Error, Sendable, CaseIterable {
    /// No such key.
    case keyUnknown
    /// The key was revoked.
    case revoked
    /// The counter was accepted before, or is too low.
    case replayed
    /// The challenge was spent before.
    case challengeUsed
    /// The challenge has expired.
    case challengeExpired

    /// The code of the HTTP contract.
    package var code: Code {
        switch self {
        case .keyUnknown: .keyUnknown
        case .revoked: .keyRevoked
        case .replayed: .assertCounterReplayed
        case .challengeUsed: .challengeUsed
        case .challengeExpired: .challengeExpired
        }
    }
}

/// Which counters below the highest one have been accepted: one bit for each of the 64 last values.
package struct CounterWindow: Equatable, Sendable {
    package var highest: UInt32
    /// Bit n stands for `highest - n`.
    package var seen: UInt64

    /// The window after `counter`, or nil if that value was accepted before. Values further back than the window are
    /// accepted, because nothing is known about them: the challenge is their guard.
    func accepting(_ counter: UInt32) -> CounterWindow? {
        if counter > highest {
            let step = counter - highest
            return CounterWindow(highest: counter, seen: step >= 64 ? 1 : seen << UInt64(step) | 1)
        }
        let back = highest - counter
        if back >= 64 { return self }
        let bit = UInt64(1) << UInt64(back)
        return seen & bit == 0 ? CounterWindow(highest: highest, seen: seen | bit) : nil
    }
}

/// What a store knows of a key when it decides about an assertion.
package struct KeyState: Equatable, Sendable {
    package var window: CounterWindow
    package var largestGap: UInt32
    package var isRevoked: Bool
}

extension CounterAdvance {
    /// The rule of every store: the key after this assertion, or why it is not accepted.
    package func decision(on key: KeyState, spending challenge: SpendOutcome) -> Result<KeyState, AdvanceRefusal> {
        if key.isRevoked { return .failure(.revoked) }
        switch challenge {
        case .alreadyUsed: return .failure(.challengeUsed)
        case .expired: return .failure(.challengeExpired)
        case .spent: break
        }
        guard let window = window(after: key.window) else { return .failure(.replayed) }
        let step = window.highest - key.window.highest
        return .success(KeyState(window: window, largestGap: max(key.largestGap, max(step, 1) - 1), isRevoked: false))
    }

    /// The window after this assertion, or nil if the mode refuses it.
    private func window(after window: CounterWindow) -> CounterWindow? {
        switch mode {
        // Everything below counts as seen, so that a later change of mode brings no old counter back.
        case .strict: counter > window.highest ? CounterWindow(highest: counter, seen: .max) : nil
        case .challenge: window.accepting(counter)
        }
    }
}
