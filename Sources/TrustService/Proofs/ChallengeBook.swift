// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Synchronization
import TrustStores
import Vocabulary

/// The keys of challenges as this node knows them now.
final class ChallengeBook: Sendable {
    private let store: any TrustStore
    private let sources: SystemSources
    private let codec: Mutex<ChallengeCodec>

    /// How long before a new key signs every node has time to read it.
    static let rotationNotice: TimeInterval = 30

    init(store: any TrustStore, sources: SystemSources) async throws {
        self.store = store
        self.sources = sources
        codec = Mutex(try await ChallengeBook.read(store, sources))
    }

    var current: ChallengeCodec { codec.withLock { $0 } }

    /// Takes the keys that the store has now.
    func refresh() async throws {
        let fresh = try await ChallengeBook.read(store, sources)
        codec.withLock { $0 = fresh }
    }

    private static func read(_ store: any TrustStore, _ sources: SystemSources) async throws -> ChallengeCodec {
        try await ChallengeCodec(
            store: store, candidate: sources.random(ChallengeCodec.secretLength), at: sources.now())
    }
}

extension ChallengeReading {
    var spendable: Judged<SpendableChallenge> { mapError { ProofRefusal($0.code) } }
}
