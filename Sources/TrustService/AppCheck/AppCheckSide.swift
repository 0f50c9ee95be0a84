// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
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

/// What an artifact carries: an assertion of App Check names no key, so the artifact must.
struct AppCheckArtifact: Sendable, Equatable {
    let keyId: KeyIdentifier
    /// `production` or `development`.
    let environment: String
    let simulated: Bool
}

/// Seals and opens artifacts with a secret that all nodes on one store share.
///
/// Layout, 62 bytes: version 1 | nonce 12 | sealed (key id 32, flags 1) | tag 16, by AES-256-GCM. The version, the project, the App Check id
/// and the configured id of the app are authenticated with it, so that the artifact of one app is nothing to another.
struct AppCheckArtifacts: Sendable {
    private let key: SymmetricKey
    private let project: String

    /// How long an artifact is accepted after the attestation of its key. Then the app attests a new key, as after every refusal.
    static let life: Duration = .seconds(366 * 86_400)

    private static let version: UInt8 = 1
    private static let length = 62

    /// Bits of the last sealed byte.
    private enum Flag {
        static let development: UInt8 = 1
        static let simulated: UInt8 = 2
    }

    init(secret: [UInt8], project: String) {
        self.project = project
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(secret)), info: Data(StoredSecret.artifacts.purpose.utf8),
            outputByteCount: 32)
    }

    /// The bytes for an app to keep. The nonce is random, 12 bytes: two of 2^32 artifacts have the same with a chance of 2^-33.
    func seal(_ artifact: AppCheckArtifact, appId: String, app: String) throws -> [UInt8] {
        var flags: UInt8 = 0
        if artifact.environment == "development" { flags |= Flag.development }
        if artifact.simulated { flags |= Flag.simulated }
        let box = try AES.GCM.seal(
            Data(artifact.keyId.bytes + [flags]), using: key, authenticating: authenticated(appId, app))
        return [AppCheckArtifacts.version] + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    /// What was sealed; nil for bytes that this store did not seal for this very app.
    func open(_ bytes: [UInt8], appId: String, app: String) -> AppCheckArtifact? {
        guard bytes.count == AppCheckArtifacts.length, bytes.first == AppCheckArtifacts.version,
            let box = try? AES.GCM.SealedBox(combined: Data(bytes.dropFirst())),
            let plain = try? AES.GCM.open(box, using: key, authenticating: authenticated(appId, app)),
            let keyId = KeyIdentifier(bytes: plain.dropLast()), let flags = plain.last
        else { return nil }
        return AppCheckArtifact(
            keyId: keyId, environment: flags & Flag.development == 0 ? "production" : "development",
            simulated: flags & Flag.simulated != 0)
    }

    /// No id has a zero byte in it, so no two lists of ids give the same bytes.
    private func authenticated(_ appId: String, _ app: String) -> Data {
        Data([AppCheckArtifacts.version]) + Data([project, appId, app].joined(separator: "\0").utf8)
    }
}
