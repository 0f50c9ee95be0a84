// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TrustStores

/// The secrets that a service keeps in its store, by the names under which operators replace them.
enum StoredSecret: String, CaseIterable, Sendable {
    /// Seals the artifacts of App Check.
    case artifacts
    /// The token key, if none is configured.
    case tokens
    /// The token key of simulated devices.
    case simulatorTokens = "simulator-tokens"
    /// The token key of callers that cannot attest.
    case untrustedTokens = "untrusted-tokens"
    /// The key of App Check tokens of debug tokens and simulated devices.
    case testTokens = "app-check-test-tokens"
    /// Seals checkpoints of the audit, and hashes users in its lines.
    case audit

    private var place: String {
        switch self {
        case .artifacts: "app-check-artifact"
        case .tokens: "token-key"
        case .simulatorTokens: "token-key-simulator"
        case .untrustedTokens: "token-key-untrusted"
        case .testTokens: "app-check-test-key"
        case .audit: AuditChain.secretName
        }
    }

    /// What keys are derived for, in which the name in the store has always been.
    var purpose: String { "sealward.\(place)/1" }

    /// A new one: 32 random bytes, or a key in PEM.
    private func candidate(_ random: (Int) -> [UInt8]) throws -> [UInt8] {
        self == .testTokens ? Array(try RS256Key.newPEM().utf8) : random(32)
    }

    /// The secret as all nodes on the store have it, which is made if there is none.
    func value(in store: any TrustStore, orElse candidate: [UInt8]) async throws -> [UInt8] {
        try await store.secret(named: place, orElse: candidate)
    }

    /// Replaces it by a new one; false if the store has none.
    func replace(in store: any TrustStore, random: (Int) -> [UInt8]) async throws -> Bool {
        var secret = try candidate(random)
        if self == .audit {
            secret = AuditChain.successor(of: try await value(in: store, orElse: secret), random: secret)
        }
        return try await store.replaceSecret(named: place, by: secret)
    }
}
