// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FoundationEssentials
import HTTPService
import TrustStores
import Vocabulary

extension OperatorSession {
    /// The secrets that `POST /v1/secrets/{name}/rotate` knows.
    package static let secretNames = [SecretHandler.challenges] + StoredSecret.allCases.map(\.rawValue)
}

/// Lets operators replace the secrets of the store.
struct SecretHandler: Handler {
    let store: any TrustStore
    let challenges: ChallengeBook
    /// How long a challenge is valid.
    let lifetime: Duration
    let sources: SystemSources
    let observer: RequestObserver
    /// Makes this node take the new secrets.
    let reread: @Sendable () async throws -> Void

    /// What ``StoredSecret`` does not have, because it has generations.
    static let challenges = "challenges"

    var routes: [Route] {
        [
            Route("rotateChallengeKey", "POST", "/v1/challenge-keys/rotate", .admin) { call in
                try await rotateChallengeKey(call).about(.app(nil))
            },
            Route(AuditTarget.secretOperation, "POST", "/v1/secrets/{name}/rotate", .admin, rotate),
        ]
    }

    /// `POST /v1/secrets/{name}/rotate`: a new secret. Only the key of challenges has a successor and goes on being accepted; what was made
    /// with another one ends at once on this node, and within ten seconds on all.
    @Sendable private func rotate(_ call: Call) async throws -> Answer {
        let name = call.parameters["name"] ?? ""
        if name.hasSameBytes(as: SecretHandler.challenges) {
            return try await rotateChallengeKey(call).about(.secret(name))
        }
        try SecretHandler.requireEveryApp(call)
        guard let secret = StoredSecret.allCases.first(where: { $0.rawValue.hasSameBytes(as: name) }),
            try await secret.replace(in: store, random: sources.random)
        else { throw Problem(.pathUnknown, evidence: "the store has no secret of this name") }
        observer.count(.secretsRotated)
        // The other nodes look every ten seconds, and so does this one if it fails now.
        try? await reread()
        return .json(["name": .string(secret.rawValue), "oldAcceptedUntil": .string(Timestamps.text(call.now))])
            .about(.secret(secret.rawValue))
    }

    private static func requireEveryApp(_ call: Call) throws(Problem) {
        guard call.caller.permits(.admin, app: nil) else {
            throw Problem(.callerUnauthorized, evidence: "the credential is for some apps, and all apps share the key")
        }
    }

    /// The new key signs soon, the old one is accepted until its last challenge has expired.
    private func rotateChallengeKey(_ call: Call) async throws -> Answer {
        try SecretHandler.requireEveryApp(call)
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
            observer.count(.challengeKeysRotated)
            // This node need not wait for its next look; that one is tried again.
            try? await challenges.refresh()
            return .json([
                "name": .string(SecretHandler.challenges), "generation": .integer(generation),
                "signsFrom": .string(Timestamps.text(rotation.signsFrom)),
                "oldAcceptedUntil": .string(Timestamps.text(rotation.acceptsOldUntil)),
            ])
        }
    }
}
