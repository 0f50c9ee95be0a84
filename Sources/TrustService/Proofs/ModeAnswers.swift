// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// What becomes of a refused proof: it is counted, written to the history of its key, and answered as the app's mode says.
struct ModeAnswers: Sendable {
    let store: any TrustStore
    let signals: SignalBook
    let observer: RequestObserver
    let uptime: @Sendable () -> Double
    /// Bounds how many refusals of one key are written to its history.
    private let limits = RequestLimits(perSecond: 0.05, burst: 5, tableLimit: 4096)

    /// Gives the answer of a proof that is accepted. A refusal is counted, written to the history of its key, and answered as the app's mode
    /// says; if that is `off`, nothing is judged.
    ///
    /// Faults of the request's form, of limits and of the service are the same in every mode.
    ///
    /// - Parameter monitors: false for an interface that can only refuse.
    func judged(
        _ app: ServedApp, _ call: Call, keyId: KeyIdentifier?, monitors: Bool = true,
        _ body: () async throws -> Judged<Answer>
    ) async throws -> Answer {
        if monitors, app.settings.mode == .off { return .unjudged }
        var problem: Problem
        switch try await body() {
        case .success(let answer): return answer
        case .failure(let refusal): problem = refusal.problem
        }
        // An app learns the code: what differs helps whoever builds a proof.
        if !call.caller.permits(.server, app: app.settings.id) { problem.difference = [] }
        let code = problem.code.description
        await signals.count(app.settings.id, kind: EventKind.refused, code: code, at: call.now)
        await remember(problem, app, keyId, call)
        guard monitors, app.settings.mode == .monitor else { throw problem }
        observer.count(.refusalsMonitored, [("code", code)])
        let decision: [JSONValue.Member] = [.init("decision", "refuse"), .init("code", .string(code))]
        var answer = Answer.json(["enforcement": .object(decision + problem.difference)])
        answer.code = problem.code
        answer.details = problem.details
        return answer
    }

    /// Writes a refusal to the history of a key that is known, a few of them at a time.
    ///
    /// The key comes first: names that somebody makes up must take no place in the table of limits from keys that there are.
    private func remember(_ problem: Problem, _ app: ServedApp, _ keyId: KeyIdentifier?, _ call: Call) async {
        guard let keyId else { return }
        do {
            guard try await store.key(keyId)?.app.hasSameBytes(as: app.settings.id) ?? false else { return }
            guard limits.take(keyId.base64, at: uptime()) == nil else { return unwritten("limit") }
            try await store.record(
                StoreEvent(
                    at: call.now, app: app.settings.id, keyId: keyId, kind: EventKind.refused,
                    code: problem.code.description,
                    detail: problem.evidence))
        } catch {
            unwritten("store")
        }
    }

    /// Counts a refusal of a key that is missing from its history.
    private func unwritten(_ reason: String) { observer.count(.refusalsUnwritten, [("reason", reason)]) }
}

extension Answer {
    /// The answer if an app's mode is `off`: nothing was judged, nothing changed.
    static let unjudged = Answer.json(["enforcement": ["decision": "off", "code": nil]])
}
