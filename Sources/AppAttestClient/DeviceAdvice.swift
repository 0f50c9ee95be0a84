// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What a session does about each `DCError`: one row of ``table``, which `docs/dcerror.md` shows.
public struct DeviceAdvice: Hashable, Sendable {
    /// What is done about a failure.
    public enum Action: String, Sendable, CaseIterable {
        /// The same call again, with growing pauses. The key is kept, even when the session gives up for now.
        case sameKeyLater = "same key, same hash, growing pauses"
        /// The key is discarded and a new one made; if that fails too, the session gives up for now.
        case newKeyOnce = "new key, once"
        /// The same call once more; if that fails too, a new key, once.
        case sameKeyOnceThenNewKey = "same key once more, then new key, once"
        /// The service gets a signal, and the app goes on without a proof.
        case goOnWithout = "signal, and go on without"
    }

    /// The failure.
    public let failure: DeviceFailure
    /// What is done when `generateKey` or `attestKey` fails this way.
    public let attesting: Action
    /// What is done when `generateAssertion` fails this way.
    public let asserting: Action

    /// The row of a failure.
    public static func advice(for failure: DeviceFailure) -> DeviceAdvice {
        table.first { $0.failure == failure }
            ?? DeviceAdvice(failure: failure, attesting: .newKeyOnce, asserting: .sameKeyOnceThenNewKey)
    }

    /// Every failure, in the order of `DCError`.
    public static let table = [
        DeviceAdvice(failure: .unknownSystemFailure, attesting: .newKeyOnce, asserting: .sameKeyOnceThenNewKey),
        DeviceAdvice(failure: .featureUnsupported, attesting: .goOnWithout, asserting: .goOnWithout),
        DeviceAdvice(failure: .invalidInput, attesting: .newKeyOnce, asserting: .newKeyOnce),
        DeviceAdvice(failure: .invalidKey, attesting: .newKeyOnce, asserting: .newKeyOnce),
        DeviceAdvice(failure: .serverUnavailable, attesting: .sameKeyLater, asserting: .sameKeyLater),
    ]
}
