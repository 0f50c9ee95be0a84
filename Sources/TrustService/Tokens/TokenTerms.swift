// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import HTTPService
import TrustTokens
import Vocabulary

/// Which tokens a caller accepts: one rule for gateways (`/v1/authorize`) and backends (`/v1/tokens/consume`).
struct TokenTerms: Equatable {
    /// The configured ids of the apps whose tokens pass; nil for every configured app.
    private(set) var apps: Set<UTF8Key>?
    /// The environment whose tokens pass; nil for any. Production unless the caller says otherwise.
    private(set) var environment: AttestationEnvironment? = .production
    /// The lowest tier that passes; nil lets callers through that cannot attest.
    private(set) var tier: TrustTier? = .low
    /// The tier of a caller that cannot attest.
    static let noTier = "none"
    private(set) var allowsSimulated = false
    private(set) var allowsDebug = false
    /// Whether the token is spent: then those that are good for one use pass, and no others.
    var spends = false

    /// What the terms are called in queries.
    static let names: Set<UTF8Key> = ["app", "env", "tier", "simulated", "debug", "once"]

    /// Takes one term as callers write it.
    ///
    /// - Throws: ``Problem`` `request.malformed` for an unknown name or value.
    mutating func take(_ name: UTF8Key, _ value: String) throws(Problem) {
        var isKnown = false
        switch name {
        case "app":
            let ids = value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            isKnown = ids.allSatisfy { !$0.isEmpty }
            apps = Set(ids.map { UTF8Key(String(Substring($0))) })
        case "env":
            environment = AttestationEnvironment.allCases.first { value.hasSameBytes(as: $0.rawValue) }
            isKnown = environment != nil || value.hasSameBytes(as: "any")
        case "tier":
            tier = TrustTier.allCases.first { value.hasSameBytes(as: $0.rawValue) }
            isKnown = tier != nil || value.hasSameBytes(as: TokenTerms.noTier)
        case "simulated":
            allowsSimulated = value.hasSameBytes(as: "allow")
            isKnown = allowsSimulated
        case "debug":
            allowsDebug = value.hasSameBytes(as: "allow")
            isKnown = allowsDebug
        case "once":
            spends = value.hasSameBytes(as: "consume")
            isKnown = spends
        default: break
        }
        if !isKnown { throw Problem(.requestMalformed, evidence: "a term of the check has an unknown value") }
    }

    /// Whether a good token passes.
    ///
    /// - Throws: ``Problem`` `token.single-use`, `token.not-single-use`, `policy.simulated`, `token.invalid` for a debug token, `policy.app`,
    ///   `policy.environment`, `policy.tier`.
    func judge(_ token: GoodToken) throws(Problem) {
        let bearer = token.bearer
        guard token.isSingleUse == spends else { throw Problem(spends ? .tokenNotSingleUse : .tokenSingleUse) }
        guard !bearer.simulated || allowsSimulated else { throw Problem(.policySimulated) }
        guard !bearer.isDebug || allowsDebug else { throw Problem(.tokenInvalid, evidence: "a debug token") }
        if let apps, !apps.contains(UTF8Key(bearer.app)) { throw Problem(.policyApp) }
        // A debug token stands for no device, so it is of no environment of App Attest.
        if let environment, !bearer.isDebug, environment.rawValue != bearer.environment {
            throw Problem(.policyEnvironment)
        }
        guard let tier else { return }
        guard let has = TrustTier(rawValue: bearer.tier), has >= tier else { throw Problem(.policyTier) }
    }
}
