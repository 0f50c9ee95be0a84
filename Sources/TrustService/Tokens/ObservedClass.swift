// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import HTTPTypes
import TrustStores

/// What enforcement would find in a request that is only watched. The names are the contract's.
enum ObservedClass: String, CaseIterable {
    /// The token is good and passes the terms of the query.
    case verified
    /// A token without an attested device, or of a tier below the one that the query asks for.
    case untrusted
    /// A token that was good and has ended, or of an app older than every accepted version.
    case outdated
    /// A token that this service did not sign, or of another app, environment or kind than the query asks for.
    case invalid
    /// A single-use token that was spent before.
    case reused
    /// No token.
    case none
    /// The store did not answer.
    case unknown
}

extension TokenHandler {
    /// What enforcement would find, counted and named; nothing is refused, spent or charged.
    func observed(_ call: Call, _ wanted: AuthorizationQuery, _ route: String) async -> Answer {
        let (kind, app) = await observation(of: call, wanted.terms)
        parts.observer.count(.observed, [("app", app ?? "none"), ("class", kind.rawValue), ("route", route)])
        var answer = Answer.empty(wanted.success)
        answer.headers = [(.sealwardClass, kind.rawValue)]
        return answer
    }

    private func observation(
        of call: Call, _ terms: TokenTerms
    ) async -> (kind: ObservedClass, app: String?) {
        do {
            let token = try await presented(call)
            let bearer = token.bearer
            do throws(Problem) { try terms.judge(token) } catch {
                return (error.code == .policyTier ? .untrusted : .invalid, bearer.app)
            }
            if bearer.tier == TokenTerms.noTier { return (.untrusted, bearer.app) }
            // At its end a token cannot be spent any more: the store says only whether it was.
            if token.isSingleUse,
                try await parts.store.consume(token.spending, at: token.spending.expiresAt) == .alreadyUsed
            {
                return (.reused, bearer.app)
            }
            return (isOutdated(bearer) ? .outdated : .verified, bearer.app)
        } catch let problem as Problem {
            switch problem.code {
            case .tokenMissing: return (.none, nil)
            case .policyUntrusted: return (.untrusted, nil)
            case .tokenInvalid where hasEnded(call): return (.outdated, nil)
            default: return (problem.status >= 500 ? .unknown : .invalid, nil)
            }
        } catch { return (.unknown, nil) }
    }

    /// Whether the presented token was good once and has ended.
    private func hasEnded(_ call: Call) -> Bool {
        if let token = call.headers[values: .firebaseAppCheck].first {
            return parts.live.current.appCheck?.tokens.hasEnded(token, at: call.now) ?? false
        }
        return call.bearer.map { tokens.hasEnded($0, at: call.now) } ?? false
    }

    /// Whether the app that attested the key is older than every version that the configuration accepts.
    private func isOutdated(_ bearer: TokenBearer) -> Bool {
        guard let allowed = parts.live.current.apps[bearer.app]?.settings.allowedBundleVersions, !allowed.isEmpty,
            let version = bearer.bundleVersion
        else { return false }
        return allowed.allSatisfy { VersionNumber(version) < VersionNumber($0) }
    }
}

/// A bundle version as people order it: runs of digits by their value, everything else by its bytes, so `1.9` comes before `1.10`.
struct VersionNumber: Comparable {
    private enum Part: Equatable {
        case text([UInt8])
        /// Without zeros in front; as long as it likes.
        case number([UInt8])
    }

    private let parts: [Part]

    init(_ text: String) {
        var parts: [Part] = []
        var rest = Array(text.utf8)[...]
        while let first = rest.first {
            let isNumber = VersionNumber.isDigit(first)
            let run = rest.prefix { VersionNumber.isDigit($0) == isNumber }
            rest = rest.dropFirst(run.count)
            parts.append(isNumber ? .number(Array(run.drop { $0 == 0x30 })) : .text(Array(run)))
        }
        self.parts = parts
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    static func < (one: Self, other: Self) -> Bool {
        for (a, b) in zip(one.parts, other.parts) where a != b {
            switch (a, b) {
            case (.number(let a), .number(let b)) where a.count != b.count: return a.count < b.count
            case (.number(let a), .number(let b)), (.text(let a), .text(let b)): return a.lexicographicallyPrecedes(b)
            case (.number, .text): return true
            case (.text, .number): return false
            }
        }
        return one.parts.count < other.parts.count
    }
}
