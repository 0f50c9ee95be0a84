// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppAttest
package import Formats
import FoundationEssentials
import HTTPService
import HTTPTypes
import Logging
package import TrustStores
import Vocabulary

/// The operators' service on a store that no service has open: what `sealward keys`, `audit` and `secrets` ask with `--store`.
///
/// The audit has each call under the name `cli`. No app is configured, so nothing is said about whether a key is trusted.
package struct OperatorSession: Sendable {
    private let operators: OperatorService
    private let record: AuditRecord
    private let reason: String?
    private let caller = Authority(name: "cli", [Authority.Scope(role: .admin)])

    /// The secrets that can be replaced.
    package static let secretNames = [OperatorService.challenges] + StoredSecret.allCases.map(\.rawValue)

    /// A session with an open store, which the caller closes.
    ///
    /// - Parameter reason: why, for the audit.
    /// - Throws: `StoreFault`.
    package init(_ store: any TrustStore, reason: String? = nil) async throws {
        let (configuration, sources) = (Configuration(), SystemSources.live)
        let log = Logger(label: "sealward") { _ in SwiftLogNoOpLogHandler() }
        let observer = RequestObserver(registry: PrometheusRegistry(), log: log)
        let users = try await UserNames(nil, in: store, random: sources.random)
        operators = OperatorService(
            store: store, trusted: nil, receiptPlan: ReceiptPlan(settings: configuration.receipts), users: users,
            sources: sources, observer: observer, challengeLife: configuration.challenges.ttl, reread: {})
        record = AuditRecord(store: store, observer: observer, refused: RefusedCalls(), users: users)
        self.reason = reason
    }

    /// Keys as `GET /v1/keys` lists them.
    package func list(_ filter: KeyFilter, after place: String?, limit: Int) async throws -> JSONValue {
        try await does("listKeys", .read, [:]) { _ in
            (try await operators.list(filter, after: place, limit: limit, for: caller), .keys(filter))
        }
    }

    package func act(_ deed: KeyDeed, on id: KeyIdentifier?, code: String? = nil) async throws {
        try await does(deed.operation, deed.role, id.map { ["keyId": $0.base64URL] } ?? [:]) { now in
            ((), try await operators.act(deed, on: id, code: { code }, for: caller, at: now))
        }
    }

    package func revokeKeys(
        of app: String, matching rule: RevocationRule, bound: RevocationBound, code: String?
    ) async throws -> JSONValue {
        try await does("revokeKeys", .revoke, ["app": app]) { now in
            let app = try await operators.revocable(app)
            let document = try await operators.revokeKeys(of: app, matching: rule, bound: bound, code: code, at: now)
            return (document, .revocation(rule, app: app, isDryRun: bound == .dryRun))
        }
    }

    package func deleteKeys(ofUser user: String, app: String?) async throws -> JSONValue {
        var names = ["user": user]
        names["app"] = app
        return try await does("deleteUser", .admin, names) { _ in
            (try await operators.deleteKeys(ofUser: user, app: app, for: caller), .user(user, app: app))
        }
    }

    /// Entries of the audit after a number, oldest first.
    package func audit(after number: Int64?, limit: Int) async throws -> [JSONValue] {
        try await does(AuditPage.operation, .audit, [:]) { _ in
            let entries = try await operators.entries(behind: number, limit: limit, for: caller)
            return (entries.map(\.document), AuditPage.areReadings(entries) ? nil : .app(nil))
        }
    }

    package func rotate(_ name: String) async throws -> JSONValue {
        try await does(AuditTarget.secretOperation, .admin, ["name": name]) { now in
            (try await operators.rotate(name, for: caller, at: now), .secret(name))
        }
    }

    /// Does an operation and records it.
    ///
    /// - Parameter names: what it is about, for the audit of one that fails.
    private func does<Value>(
        _ operation: String, _ role: Authority.Role, _ names: [String: String],
        _ body: (Date) async throws -> (Value, AuditTarget?)
    ) async throws -> Value {
        var headers = HTTPFields()
        headers[.auditReason] = reason
        let call = Call(
            operation: operation, parameters: names, query: "", headers: headers, body: [], address: "",
            correlationId: "cli", caller: caller, now: operators.sources.now())
        return try await record.does(call, role) { try await body(call.now) }
    }
}
