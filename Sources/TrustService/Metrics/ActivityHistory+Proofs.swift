// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPService
import Logging
import TrustStores
import Vocabulary

extension ActivityHistory {
    /// Counts an accepted proof of a key of an app, with the versions in it.
    func accepted(_ kind: Kind, by key: StoredKey, at now: Date, _ observer: RequestObserver) {
        note(kind, app: key.app, at: now)
        guard !note(system: key.osVersion, bundle: key.bundleVersion, app: key.app, at: now) else { return }
        observer.count("activity.versions.folded")
        if observer.perHour.note("activity.versions.folded", at: now.timeIntervalSince1970).passes {
            observer.log.notice(
                "More versions were seen in an hour than the console lists; the others are counted together.",
                metadata: ["app": "\(key.app.terminalSafe(limit: 64))", "limit": "\(ActivityHistory.versionLimit)"])
        }
    }
}
