// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings
import Foundation
import Logging
import Synchronization
import TrustStores

/// The keys of challenges as this node knows them now.
final class ChallengeBook: Sendable {
    private let box: Mutex<ChallengeCodec>

    init(_ codec: ChallengeCodec) { box = Mutex(codec) }

    var current: ChallengeCodec {
        get { box.withLock { $0 } }
        set { box.withLock { $0 = newValue } }
    }
}

extension ServiceCore {
    /// How long before a new key signs every node has time to read it.
    static let rotationNotice: TimeInterval = 30

    static func codec(_ store: any TrustStore, random: (Int) -> [UInt8], at now: Date) async throws -> ChallengeCodec {
        try await ChallengeCodec(store: store, candidate: random(ChallengeCodec.secretLength), at: now)
    }

    /// Takes the keys of challenges that the store has now.
    func readChallengeKeys() async throws {
        challengeKeys.current = try await ServiceCore.codec(store, random: sources.random, at: sources.now())
    }

    /// `POST /v1/challenge-keys/rotate`: the new key signs soon, the old one is accepted until its last challenge has expired.
    func rotateChallengeKey(_ call: Call) async throws -> Answer {
        guard call.caller.permits(.admin, app: nil) else {
            throw Problem("caller.unauthorized", evidence: "the credential is for some apps, the key is of all")
        }
        let signsFrom = call.now.addingTimeInterval(ServiceCore.rotationNotice)
        // A minute more than the longest challenge lives: nodes' clocks differ.
        let lifetime = configuration.challenges.ttl.inSeconds + ServiceCore.clockTolerance.inSeconds
        let rotation = ChallengeKeyRotation(
            secret: sources.random(ChallengeCodec.secretLength),
            signsFrom: signsFrom,
            acceptsOldUntil: signsFrom.addingTimeInterval(lifetime)
        )
        switch try await store.rotateChallengeKey(rotation, at: call.now) {
        case .tooSoon(let until):
            let seconds = Int(min(max(until.timeIntervalSince(call.now), 1), 86_400).rounded(.up))
            throw Problem("challenge.rotation-pending", retryAfterSeconds: seconds)
        case .rotated(let generation):
            observer.count("challengekeys.rotated")
            // This node need not wait for its next look; that one is tried again.
            try? await readChallengeKeys()
            return .json([
                "generation": .integer(generation), "signsFrom": .string(Timestamps.text(rotation.signsFrom)),
                "oldAcceptedUntil": .string(Timestamps.text(rotation.acceptsOldUntil)),
            ]).about(.app(nil))
        }
    }

    /// Counts the keys that the configuration does not trust any more, and warns of them by kind.
    func warnOfUntrustedKeys() async {
        guard let counts = try? await store.keyCounts() else { return }
        var total = 0
        for kind in counts where kind.keys > 0 {
            let names = apps[kind.app]?.settings.environments.map(\.rawValue) ?? []
            let simulatorMissing = kind.simulated && !(apps[kind.app]?.verifiers.trustsSimulator ?? false)
            guard !names.contains(kind.environment) || simulatorMissing else { continue }
            total += kind.keys
            log.warning(
                "The store has keys that the configuration does not trust; they are refused.",
                metadata: [
                    "app": "\(kind.app.terminalSafe(limit: 64))", "environment": "\(kind.environment)",
                    "simulated": "\(kind.simulated)", "keys": "\(kind.keys)",
                ]
            )
        }
        observer.set("keys.untrusted", Double(total))
    }
}
