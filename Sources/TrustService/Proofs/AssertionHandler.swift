// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import HTTPService
import TrustStores
import Vocabulary

/// Judges assertions, and gives tokens for them.
struct AssertionHandler: Handler {
    let apps: AppDirectory
    let modes: ModeAnswers
    let proofs: ProofIntake
    let live: LiveBook
    let observer: RequestObserver
    let random: @Sendable (Int) -> [UInt8]

    var routes: [Route] {
        [
            Route("assert", "POST", "/v1/apps/{app}/assertions", .app, assert),
            Route("issueToken", "POST", "/v1/apps/{app}/tokens", .app, issueToken),
        ]
    }

    /// `POST /v1/apps/{app}/assertions`.
    @Sendable private func assert(_ call: Call) async throws -> Answer {
        let app = try apps.app(call)
        let presented = try PresentedAssertion(try RequestBody(call.body))
        if app.settings.mode == .off { return .unjudged }
        return try await modes.judged(app, call, keyId: presented.keyId) {
            try await proofs.accept(presented, app, call) { judged in
                .success(
                    .json(.object([.init("counter", .integer(Int(judged.advance.counter)))] + judged.trust.members)))
            }
        }
    }

    /// `POST /v1/apps/{app}/tokens`.
    @Sendable private func issueToken(_ call: Call) async throws -> Answer {
        let app = try apps.app(call)
        let body = try RequestBody(call.body)
        let presented = try PresentedAssertion(body)
        let singleUse = try body.optionalFlag("singleUse") ?? false
        if app.settings.mode == .off { return .unjudged }
        return try await modes.judged(app, call, keyId: presented.keyId) {
            // Signed before the commit: what fails afterwards would cost the caller an assertion that counts as spent.
            try await proofs.accept(presented, app, call) { judged -> Judged<Answer> in
                let issued = try live.current.tokens.issue(
                    for: judged.key, trust: judged.trust, singleUse: singleUse, identifier: random(16), at: call.now)
                return .success(
                    .json([
                        "token": .string(issued.token), "expiresIn": .integer(issued.expiresIn),
                        "reasons": .array(judged.trust.reasons.map(JSONValue.string)),
                    ]))
            }.map { answer in
                observer.count(.tokensIssued)
                return answer
            }
        }
    }
}
