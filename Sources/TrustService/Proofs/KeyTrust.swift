// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What the configuration of now says about a key that was accepted under an earlier one.
enum KeyTrust: String, Sendable, CaseIterable {
    /// It would be accepted now as it was then.
    case trusted
    /// Its app is no longer configured.
    case app
    /// Its environment is not among the app's `environments` any more.
    case environment
    /// A simulated root attested it, and the configuration names none, or another one.
    case simulator
    /// Its bundle identifier or prefix is not the app's any more.
    case identity
}
