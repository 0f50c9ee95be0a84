// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

/// Lets operators change the key that signs challenges.
struct ChallengeKeyHandler: Handler {
    let store: any TrustStore
    let challenges: ChallengeBook
    /// How long a challenge is valid.
    let lifetime: Duration
    let sources: SystemSources
    let observer: RequestObserver

    var routes: [Route] { [Route("rotateChallengeKey", "POST", "/v1/challenge-keys/rotate", .admin, rotate)] }

    /// `POST /v1/challenge-keys/rotate`: the new key signs soon, the old one is accepted until its last challenge has expired.
    @Sendable private func rotate(_ call: Call) async throws -> Answer {
        guard call.caller.permits(.admin, app: nil) else {
            throw Problem(.callerUnauthorized, evidence: "the credential is for some apps, and all apps share the key")
        }
        let signsFrom = call.now.addingTimeInterval(ChallengeBook.rotationNotice)
        // A minute more than the longest challenge lives: nodes' clocks differ.
        let margin = lifetime.inSeconds + StoreClock.largestOffset.inSeconds
        let rotation = ChallengeKeyRotation(
            secret: sources.random(ChallengeCodec.secretLength), signsFrom: signsFrom,
            acceptsOldUntil: signsFrom.addingTimeInterval(margin))
        switch try await store.rotateChallengeKey(rotation, at: call.now) {
        case .tooSoon(let until):
            let seconds = Int(min(max(until.timeIntervalSince(call.now), 1), 86_400).rounded(.up))
            throw Problem(.challengeRotationPending, retryAfterSeconds: seconds)
        case .rotated(let generation):
            observer.count("challengekeys.rotated")
            // This node need not wait for its next look; that one is tried again.
            try? await challenges.refresh()
            return .json([
                "generation": .integer(generation), "signsFrom": .string(Timestamps.text(rotation.signsFrom)),
                "oldAcceptedUntil": .string(Timestamps.text(rotation.acceptsOldUntil)),
            ]).about(.app(nil))
        }
    }
}
