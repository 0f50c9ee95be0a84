// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import HTTPService
import TrustStores
import Vocabulary

/// Which stored keys count by the configuration of now: trust that was taken out of it ends with the next request.
///
/// The one place that decides this. Every use of a key asks here: assertions, tokens, gateways, promotions, receipts, operators.
struct TrustedKeys: Sendable {
    let apps: AppDirectory
    let store: any TrustStore
    let observer: RequestObserver

    /// - Parameter receipt: of the key; nil if it is not known here.
    func trust(in key: StoredKey, receipt known: ReceiptRecord? = nil) async throws -> KeyTrust {
        guard let app = apps[key.app] else { return .app }
        let trust = app.verifiers.trust(in: key.record)
        guard trust == .trusted, key.simulated else { return trust }
        if let known = app.vouchers[key.id] { return known ? .trusted : .simulator }
        var (receipt, vouched) = (known, false)
        if receipt == nil { receipt = try await store.receipts(of: key.id, limit: 1).first?.receipt }
        if let receipt { vouched = await app.verifiers.simulatorSigned(receipt, for: key.record) }
        app.vouchers.keep(vouched, for: key.id)
        return vouched ? .trusted : .simulator
    }

    /// The key, if an app may use it now.
    ///
    /// - Returns: `key.unknown` if its root or environment is no longer configured, `assert.app-id.mismatch` if its identity is not.
    /// - Throws: `StoreFault`.
    func trusted(_ key: StoredKey) async throws -> Judged<StoredKey> {
        let trust = try await trust(in: key)
        if trust == .trusted { return .success(key) }
        countDistrust(trust)
        if trust == .identity { return .failure(.otherIdentity) }
        return .failure(ProofRefusal(.keyUnknown, evidence: "the key's \(trust.rawValue) is no longer configured"))
    }

    /// The key that a genuine token names, as long as it may be used.
    ///
    /// - Throws: ``Problem`` `token.invalid` for a key that is not stored, is another than the token says, or is not trusted any more;
    ///   `key.revoked`. `StoreFault`.
    func key(ofToken id: String, environment: String, simulated: Bool) async throws -> StoredKey {
        guard let id = KeyIdentifier(strictBase64: id), let key = try await store.key(id),
            key.simulated == simulated, key.environment.hasSameBytes(as: environment)
        else { throw Problem(.tokenInvalid, evidence: "an unknown device key") }
        let trust = try await trust(in: key)
        guard trust == .trusted else {
            countDistrust(trust)
            throw Problem(.tokenInvalid, evidence: "the key's \(trust.rawValue) is no longer configured")
        }
        if key.revokedAt != nil { throw Problem(.keyRevoked) }
        return key
    }

    /// Counts one use of a key that the configuration does not trust any more.
    func countDistrust(_ trust: KeyTrust) { observer.count(.keysUntrustedUsed, [("reason", trust.rawValue)]) }
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
