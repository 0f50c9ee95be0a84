// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import Bounds
import Findings
import Foundation
import Logging
import TrustStores

/// What every handler works with: the parts of a running service, built once.
struct ServiceCore: Sendable {
    /// One configured app with its verifiers.
    struct App: Sendable {
        let settings: Configuration.App
        let verifiers: AppVerifiers
    }

    let configuration: Configuration
    let store: any TrustStore
    let challengeKeys: ChallengeBook
    let live: LiveBook
    let transport: (any AppleTransport)?
    let appLimits: RequestLimits?
    let signals: SignalBook
    let probe: StoreProbe
    let sources: SystemSources
    let observer: RequestObserver
    let log: Logger
    let baselines = MetricBaselines()
    /// Which keys of simulated devices the configured simulated roots vouch for, so that each key is looked at once. A store keeps whether
    /// a simulated root attested a key, not which; the key's receipt says it.
    let vouchers = BoundedCache<KeyIdentifier, Bool>(capacity: 65_536)
    /// Bounds how many refusals of one key are written to its history.
    let refusalLimits = RequestLimits(perSecond: 0.05, burst: 5, tableLimit: 4096)

    var apps: [String: App] { live.current.apps }
    var codec: ChallengeCodec { challengeKeys.current }
    var tokens: TokenAuthority { live.current.tokens }
    var apple: AppleSide? { live.current.apple }

    /// The app of a call, within its limit.
    ///
    /// - Throws: ``Problem`` `app.unknown` or `limit.app`.
    func app(_ id: String?, _ call: Call) throws(Problem) -> App {
        // By bytes and bounded: hashing text that a caller chose costs the square of its length.
        guard let id, id.utf8.count <= Route.parameterLimit, let app = apps[id], app.settings.id.hasSameBytes(as: id)
        else { throw Problem("app.unknown") }
        if call.caller == .anyone, let wait = appLimits?.take(id, at: sources.uptime()) {
            throw Problem("limit.app", retryAfterSeconds: max(1, Int(wait.rounded(.up))))
        }
        return app
    }

    func app(_ call: Call) throws(Problem) -> App { try app(call.parameters["app"], call) }

    /// The app that a body or a query names, if the caller's credential is good for it.
    ///
    /// - Throws: ``Problem`` `app.unknown`, `caller.unauthorized`.
    func app(_ id: String?, _ call: Call, as role: Authority.Role) throws(Problem) -> App {
        let app = try app(id, call)
        guard call.caller.permits(role, app: app.settings.id) else {
            throw Problem("caller.unauthorized", evidence: "the credential is for other apps")
        }
        return app
    }

    /// Turns a refusal into the answer of the app's mode, and counts it.
    ///
    /// Faults of the request's form, of limits and of the service are the same in every mode.
    func judged(
        _ app: App,
        _ call: Call,
        keyId: KeyIdentifier?,
        _ body: () async throws -> Answer
    ) async throws -> Answer {
        let refusal: ProofRefusal
        do {
            return try await body()
        } catch let refused as ProofRefusal {
            refusal = refused
        } catch let malformed as MalformedInput {
            refusal = ProofRefusal(malformed)
        }
        let code = refusal.problem.code
        await signals.count(app.settings.id, kind: "refused", code: code.description, at: call.now)
        await remember(refusal.problem, app, keyId, call)
        guard app.settings.mode == .monitor else { throw refusal }
        observer.count("refusals.monitored", [("code", code.description)])
        var answer = Answer.json(["enforcement": ["decision": "refuse", "code": .string(code.description)]])
        answer.code = code
        return answer
    }

    /// Writes a refusal to the history of a key that is known, a few of them at a time.
    private func remember(_ problem: Problem, _ app: App, _ keyId: KeyIdentifier?, _ call: Call) async {
        guard let keyId, refusalLimits.take(keyId.base64, at: sources.uptime()) == nil else { return }
        guard let known = try? await store.key(keyId), known.app == app.settings.id else { return }
        try? await store.record(
            StoreEvent(
                at: call.now,
                app: app.settings.id,
                keyId: keyId,
                kind: "refused",
                code: problem.code.description,
                detail: problem.evidence
            )
        )
    }

    /// The answer where an app's mode is `off`: nothing was judged, nothing changed.
    static let unjudged: JSONValue = ["enforcement": ["decision": "off", "code": nil]]

    /// The user of a body: a name that every store can take.
    static func user(_ body: RequestBody) throws(Problem) -> String? {
        guard let user = try body.optionalString("user", limit: 256) else { return nil }
        guard !user.utf8.isEmpty, StoreText.isUser(user) else {
            throw Problem("request.malformed", evidence: "user is empty or has a zero byte")
        }
        return user
    }

    /// The key id of a body: base64 of 32 bytes.
    static func keyId(_ body: RequestBody) throws(Problem) -> KeyIdentifier {
        guard let keyId = KeyIdentifier(bytes: try body.bytes("keyId")) else {
            throw Problem("request.malformed", evidence: "keyId must be 32 bytes")
        }
        return keyId
    }
}

extension ChallengeReading {
    /// The challenge that may be spent, or why there is none.
    var spendable: Judged<SpendableChallenge> {
        switch self {
        case .valid(let challenge): .success(challenge)
        case .refused(let refusal): .failure(ProofRefusal(Code(rawValue: refusal.rawValue)))
        }
    }
}

extension JSONValue {
    /// The object with more members at its end.
    func adding(_ members: [Member]) -> JSONValue { .object((self.members ?? []) + members) }
}
