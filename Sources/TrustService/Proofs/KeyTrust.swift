// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Bounds
import Findings
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

    init(_ key: StoredKey) {
        (app, identity) = (key.app, key.identity)
        (environment, simulated) = (key.environment, key.simulated)
    }

    init(_ lease: ReceiptLease) {
        (app, identity) = (lease.app, lease.identity)
        (environment, simulated) = (lease.environment, lease.simulated)
    }
}

/// What the configuration of now says about a key that was accepted under an earlier one.
enum KeyTrust: String, Sendable, CaseIterable {
    /// It would be accepted now as it was then.
    case trusted
    /// Its app is not configured any more.
    case app
    /// Its environment is not among the app's `environments` any more.
    case environment
    /// A simulated root attested it, and the configuration names none, or another one.
    case simulator
    /// Its bundle identifier or prefix is not the app's any more.
    case identity
}

extension ServiceCore {
    /// Judges a stored key by the configuration of now: trust that was taken out of the configuration ends with the next request.
    ///
    /// The one place that decides this. Every use of a key asks here: assertions, tokens, gateways, promotions, receipts, operators.
    func trust(in key: StoredKey) async throws -> KeyTrust {
        try await trust(in: KeyOrigin(key), key.id) { try await store.receipts(of: key.id, limit: 1).first?.receipt }
    }

    /// Judges the key of a receipt that is due.
    func trust(in lease: ReceiptLease) async throws -> KeyTrust {
        try await trust(in: KeyOrigin(lease), lease.keyId) { lease.receipt }
    }

    private func trust(
        in origin: KeyOrigin,
        _ id: KeyIdentifier,
        receipt: () async throws -> ReceiptRecord?
    ) async throws -> KeyTrust {
        guard let app = apps[origin.app] else { return .app }
        let trust = app.verifiers.trust(in: origin)
        guard trust == .trusted, origin.simulated else { return trust }
        if let known = vouchers[id] { return known ? .trusted : .simulator }
        var vouched = false
        if let receipt = try await receipt() {
            vouched = await app.verifiers.simulatorSigned(receipt, for: origin)
        }
        vouchers.keep(vouched, for: id)
        return vouched ? .trusted : .simulator
    }

    /// The key, if an app may use it now.
    ///
    /// - Returns: `key.unknown` if its root or environment is not configured any more, `assert.app-id.mismatch` if its identity is not.
    /// - Throws: `StoreFault`.
    func trusted(_ key: StoredKey) async throws -> Judged<StoredKey> {
        let trust = try await trust(in: key)
        if trust == .trusted { return .success(key) }
        countDistrust(trust)
        if trust == .identity { return .failure(.otherIdentity) }
        return .failure(
            ProofRefusal("key.unknown", evidence: "the key's \(trust.rawValue) is not configured any more")
        )
    }

    /// Counts one use of a key that the configuration does not trust any more.
    func countDistrust(_ trust: KeyTrust) { observer.count("keys.untrusted.used", [("reason", trust.rawValue)]) }
}
