// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import TrustStores

/// Under what a key was attested: what the configuration must still name for the key to count.
struct KeyOrigin: Sendable, Equatable {
    /// The configured id of the app.
    let app: String
    /// The identity that attested: `prefix.bundleId`.
    let identity: String
    /// `production` or `development`.
    let environment: String
    /// Whether a simulated root attested the key.
    let simulated: Bool
    /// The fingerprint of the simulated roots; nil if none was written.
    let simulatedRoots: [UInt8]?

    init(_ key: KeyRecord) {
        (app, identity, simulatedRoots) = (key.app, key.identity, key.simulatedRoots)
        (environment, simulated) = (key.environment, key.simulated)
    }
}

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
