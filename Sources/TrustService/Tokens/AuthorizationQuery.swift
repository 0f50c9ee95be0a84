// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Findings
import TrustPolicy

/// What a gateway asks of a token: the query of `GET /v1/authorize`.
///
/// A parameter that is unknown, given twice or without a value that it knows is refused, never ignored (``StrictQuery``).
struct AuthorizationQuery: Equatable {
    /// The configured ids of the apps whose tokens pass; nil for every configured app.
    private(set) var apps: Set<UTF8Key>?
    /// The environment whose tokens pass; nil for any. Production unless the query says otherwise.
    private(set) var environment: AttestationEnvironment? = .production
    /// The lowest tier that passes; nil for any.
    private(set) var tier: TrustTier?
    /// Whether tokens of simulated devices pass.
    private(set) var allowsSimulated = false
    /// Whether tokens that a debug token of App Check got pass.
    private(set) var allowsDebug = false
    /// The quota that the request is counted under; nil for none.
    private(set) var quota: String?
    /// The status of an answer that lets the request through: 204, or 200 for a gateway that takes nothing else for a yes.
    private(set) var success = 204

    /// Reads a query, without its question mark.
    ///
    /// - Throws: ``Problem`` `request.malformed`.
    init(_ query: String) throws(Problem) {
        let query = try StrictQuery(query, known: Set(AuthorizationQuery.names))
        for name in AuthorizationQuery.names {
            if let value = query[name] { try take(name, value) }
        }
    }

    private static let names: [UTF8Key] = ["app", "env", "tier", "simulated", "debug", "quota", "success"]

    private mutating func take(_ name: UTF8Key, _ value: String) throws(Problem) {
        switch name {
        case "app":
            let ids = value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            guard ids.allSatisfy({ !$0.isEmpty }) else { break }
            apps = Set(ids.map { UTF8Key(String(Substring($0))) })
            return
        case "env":
            if value.hasSameBytes(as: "any") {
                environment = nil
                return
            }
            guard let known = AttestationEnvironment.allCases.first(where: { value.hasSameBytes(as: $0.rawValue) })
            else { break }
            environment = known
            return
        case "tier":
            guard let known = TrustTier.allCases.first(where: { value.hasSameBytes(as: $0.rawValue) }) else { break }
            tier = known
            return
        case "simulated":
            guard value.hasSameBytes(as: "allow") else { break }
            allowsSimulated = true
            return
        case "debug":
            guard value.hasSameBytes(as: "allow") else { break }
            allowsDebug = true
            return
        case "quota":
            quota = value
            return
        case "success":
            guard value.hasSameBytes(as: "200") else { break }
            success = 200
            return
        default: break
        }
        throw Problem(.requestMalformed, evidence: "a query parameter has an unknown value")
    }
}
