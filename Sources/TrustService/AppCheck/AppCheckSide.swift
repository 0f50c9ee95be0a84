// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import TrustStores
import Vocabulary

/// What the interface of App Check needs beyond the parts of the service, made from files of keys and debug tokens and a secret of the store.
struct AppCheckSide: Sendable {
    let settings: Configuration.AppCheck
    let tokens: AppCheckTokens
    let artifacts: AppCheckArtifacts

    init(_ settings: Configuration.AppCheck, store: any TrustStore, random: (Int) -> [UInt8]) async throws {
        var testPEM: String?
        if settings.simulated == .allow || !settings.debugTokens.isEmpty {
            let kept = try await StoredSecret.testTokens.value(
                in: store, orElse: Array(AppCheckSide.candidate.get().utf8))
            testPEM = String(decoding: kept, as: UTF8.self)
        }
        guard let tokens = AppCheckTokens(settings, testPEM: testPEM) else {
            throw StoreFault.damaged("the keys of App Check tokens cannot be used")
        }
        self.settings = settings
        self.tokens = tokens
        artifacts = AppCheckArtifacts(
            secret: try await StoredSecret.artifacts.value(in: store, orElse: random(32)),
            project: settings.projectNumber)
    }

    /// The key that this process proposes to its store: making one takes a while, and only the first of all is kept.
    private static let candidate = Result { try RS256Key.newPEM() }

    /// Whether a path means this project: by its number or its id.
    func isProject(_ name: String) -> Bool {
        name.hasSameBytes(as: settings.projectNumber) || name.hasSameBytes(as: settings.projectId)
    }

    /// The configured id of the app with an App Check id; nil for an unknown one.
    func app(_ id: String) -> String? {
        // By bytes: what a caller chose is never compared as text.
        settings.apps.first { $0.key.hasSameBytes(as: id) }?.value
    }

    /// The name of a debug token of an app; nil for one that is unknown, over or another app's. The comparison takes the same time for each.
    func debugName(of token: String, app: String, at now: Date) -> String? {
        Credentials.first(of: settings.debugTokens, with: Credentials.digest(of: token), \.digest)
            .flatMap { $0.isGood(for: app, at: now) ? $0.name : nil }
    }

    /// Whether the debug token of a name is still accepted for an app, and with it the App Check tokens that it got.
    func accepts(debugName: String, app: String, at now: Date) -> Bool {
        settings.debugTokens.contains { $0.name.hasSameBytes(as: debugName) && $0.isGood(for: app, at: now) }
    }
}

extension Configuration.AppCheck.DebugToken {
    fileprivate func isGood(for app: String, at now: Date) -> Bool { self.app.hasSameBytes(as: app) && now < expires }
}
