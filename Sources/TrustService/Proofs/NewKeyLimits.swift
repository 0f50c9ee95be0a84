// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import FoundationEssentials
import HTTPService
import TLSModel
import TrustStores

/// How many new keys one user and one address may register: a phone that makes a key for each quota meets its end here.
struct NewKeyLimits: Sendable {
    let settings: Configuration.Limits
    let trustedProxies: [AddressRange]
    let users: UserNames

    /// What a new key counts against in the store. Simulated keys count against nothing.
    ///
    /// - Parameter address: the caller's; this machine and trusted proxies speak for many, so they are not counted.
    func draws(
        app: String, user: String?, environment: AttestationEnvironment, isSimulated: Bool, address: String
    ) -> [QuotaDraw] {
        guard !isSimulated || settings.countsSimulatedKeys else { return [] }
        // No quota of the configuration has a name with a space.
        var draws: [QuotaDraw?] = []
        if let user, environment == .production, settings.newKeysPerUser > 0 {
            draws.append(
                QuotaDraw(
                    quota: "new keys of a user", subject: "\(app.utf8.count):\(app):\(users.counted(user))",
                    limit: settings.newKeysPerUser, window: .seconds(86_400)))
        }
        if settings.newKeysPerAddress > 0, let known = IPAddress(address)?.unmapped,
            !AddressKind.isLoopback(host: known.description), !CallerAddress.isTrusted(address, by: trustedProxies)
        {
            draws.append(
                QuotaDraw(
                    quota: "new keys of an address", subject: CallerAddress.bucket(of: address),
                    limit: settings.newKeysPerAddress, window: .seconds(3600)))
        }
        return draws.compactMap { $0 }
    }
}
