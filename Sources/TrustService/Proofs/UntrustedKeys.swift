// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import HTTPService
import Logging
import TrustStores
import Vocabulary

/// Tells operators of keys in the store that the configuration does not trust any more.
struct UntrustedKeys: Sendable {
    let store: any TrustStore
    let apps: AppDirectory
    let observer: RequestObserver
    let log: Logger

    /// Counts the keys that the configuration does not trust any more, and warns of them by kind.
    func warn() async {
        let counts: [KeyCount]
        do {
            counts = try await store.keyCounts()
        } catch {
            log.warning("The keys of the store could not be counted; the next attempt is in an hour.")
            return
        }
        var total = 0
        for kind in counts where kind.keys > 0 {
            let names = apps[kind.app]?.settings.environments.map(\.rawValue) ?? []
            let simulatorMissing = kind.simulated && !(apps[kind.app]?.verifiers.trustsSimulator ?? false)
            guard !names.contains(kind.environment) || simulatorMissing else { continue }
            total += kind.keys
            log.warning(
                "The store has keys that the configuration does not trust; they are refused.",
                metadata: [
                    "app": "\(kind.app.terminalSafe(limit: 64))", "environment": "\(kind.environment)",
                    "simulated": "\(kind.simulated)", "keys": "\(kind.keys)",
                ]
            )
        }
        observer.set(.keysUntrusted, Double(total))
    }
}
