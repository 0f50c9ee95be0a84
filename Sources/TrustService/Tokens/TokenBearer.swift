// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import HTTPService
import TrustStores

/// A token that is good now, of whatever kind it is.
struct GoodToken: Sendable {
    let bearer: TokenBearer
    let jti: String
    /// What its issue said beside the tier.
    let reasons: [String]
    let isSingleUse: Bool
    /// Under which name it is spent, and when it ends.
    let spending: SingleUseToken
}

/// Who holds a token that is good now, of whatever kind the token is: what a gateway is told of a request.
struct TokenBearer: Sendable, Equatable {
    /// The configured id of the app.
    let app: String
    /// The identity of the app: `prefix.bundleId`.
    let identity: String
    /// The key id in standard base64. Without a key `none`, and `debug:` with its name for a debug token.
    let key: String
    /// Who is counted by key: a key by its id, a debug token by its app and name, and all device tokens of an app as one, because a phone makes as
    /// many as it likes and nothing in two of them says that they are of one device.
    let subject: String
    var user: String?
    let tier: String
    /// `production` or `development`; `debug` for a debug token.
    let environment: String
    var simulated = false
    /// Whether a debug token of App Check is all that was proved.
    var isDebug = false
    /// The version of the app that attested the key; nil if it is not known.
    var bundleVersion: String?
}

extension TokenBearer {
    init(_ key: StoredKey, tier: String) {
        self.init(
            app: key.app, identity: key.identity, key: key.id.base64, subject: key.id.base64, user: key.user,
            tier: tier,
            environment: key.environment, simulated: key.simulated, bundleVersion: key.bundleVersion)
    }

    /// A device that Apple knows by a device token alone.
    init(_ app: ServedApp, deviceTokenTier tier: String) {
        self.init(
            app: app.settings.id, identity: app.settings.appIds.first ?? "", key: "none",
            subject: "device:\(app.settings.id)", tier: tier, environment: app.deviceTokenEnvironment)
    }

    /// A caller that cannot attest: nothing is known of it but its address.
    ///
    /// - Parameter address: the caller's; quotas count its /64 of IPv6, or the address itself of IPv4.
    init(untrusted app: ServedApp, identity: String, address: String) {
        let id = app.settings.id
        self.init(
            app: id, identity: identity, key: "none",
            subject: "address:\(id.utf8.count):\(id):\(CallerAddress.bucket(of: address))", tier: TokenTerms.noTier,
            environment: app.deviceTokenEnvironment)
    }

    init(_ app: ServedApp, debugName: String, tier: String) {
        let id = app.settings.id
        self.init(
            app: id, identity: app.settings.appIds.first ?? "", key: "debug:\(debugName)",
            subject: "debug:\(id.utf8.count):\(id):\(debugName)", tier: tier, environment: "debug", isDebug: true)
    }
}
