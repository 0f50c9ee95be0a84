// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
public import Foundation

/// Everything that the trust service remembers.
///
/// Each verb is an atom: callers never read first and write afterwards, and every backend passes the same contract suite. Time
/// is an argument. A verb that changes something has committed durably (as far as the backend keeps anything) before it
/// returns. What a caller did wrong is a returned outcome; a ``StoreFault`` is thrown when the store cannot answer.
public protocol TrustStore: Sendable {
    // MARK: The store itself

    /// Gives the named secret. Of any number of first callers, one candidate is kept, and all get that one.
    func secret(named name: String, orElse candidate: [UInt8]) async throws -> [UInt8]

    /// Returns if the store answers a read and a write now; throws a ``StoreFault`` if not.
    func check() async throws

    /// Removes what no promise needs any more. Any number of nodes may sweep at once. A challenge that was swept stays refused,
    /// also where a node's clock is behind.
    func sweep(at instant: Date, keeping retention: Retention) async throws -> SweepReport

    /// Finishes what was begun, then closes. Every later call throws a ``StoreFault``.
    func close() async

    // MARK: Things that are spent once

    /// Spends the challenge. Of any number of concurrent callers on any number of nodes, exactly one receives `.spent`.
    func spend(_ challenge: SpendableChallenge, at instant: Date) async throws -> SpendOutcome

    /// Whether the challenge is spent already: a hint that saves work, never a guard.
    func isSpent(_ challenge: SpendableChallenge) async throws -> Bool

    /// Spends a single-use token. Of any number of concurrent callers on any number of nodes, exactly one receives `.spent`.
    func consume(_ token: SingleUseToken, at instant: Date) async throws -> SpendOutcome

    // MARK: Keys

    /// Stores a verified key with its user and receipt and spends the challenge, both or neither.
    ///
    /// Of any number of concurrent callers with one key, exactly one receives `.inserted`; the byte-equal object of the same user
    /// and app receives `.existing`, whatever became of the challenge; everything else is refused and changes nothing.
    func insert(_ registration: KeyRegistration, spending challenge: SpendableChallenge, at instant: Date) async throws
        -> InsertOutcome

    /// Reads one key as it was committed last.
    func key(_ id: KeyIdentifier) async throws -> StoredKey?

    /// Accepts a counter and spends the challenge, both or neither.
    ///
    /// Of any number of concurrent callers with one challenge or one counter value, exactly one receives `.advanced`; the stored
    /// counter never goes down; a refused assertion changes nothing.
    func advance(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome

    /// Revokes a key for good. Exactly one of any number of callers receives `.revoked`; what is asked afterwards sees it.
    func revoke(_ id: KeyIdentifier, code: String?, at instant: Date) async throws -> RevokeOutcome

    /// How many keys of an app one user has attested since an instant.
    func keyCount(ofUser user: String, app: String, since instant: Date) async throws -> Int

    // MARK: Receipts

    /// Hands out receipts whose refresh is due, longest overdue first, none of them to two callers until its lease runs out.
    func leaseDueReceipts(at instant: Date, limit: Int, for duration: Duration) async throws -> [ReceiptLease]

    /// Ends a lease with its result. A receipt that is not newer than the stored one is never stored; a lease that ran out and
    /// was given to another caller changes nothing.
    func complete(_ lease: ReceiptLease, with result: RefreshResult, at instant: Date) async throws -> RefreshOutcome

    /// The receipts of one key, newest first.
    func receipts(of id: KeyIdentifier, limit: Int) async throws -> [StoredReceipt]

    /// How many unrevoked production or development keys of an app have which risk metric, by ascending metric.
    func riskMetrics(app: String, environment: String) async throws -> [RiskMetricCount]

    // MARK: Events and counts

    /// Appends an event. Events of one key keep the order in which they were committed.
    func record(_ event: StoreEvent) async throws

    /// What happened to one key, oldest first; where there is more than `limit`, the newest of it.
    func history(of id: KeyIdentifier, limit: Int) async throws -> [StoreEvent]

    /// Adds to the counts of an hour. Additions of all nodes are summed; none is lost.
    func add(_ tallies: [SignalTally]) async throws

    /// The counts of an app from the hour of `start` up to the instant `end`, by ascending hour, then kind, then code.
    func tallies(app: String, from start: Date, to end: Date) async throws -> [SignalTally]

    // MARK: Promotions

    /// Asks for the right to decide a claim. Of any number of concurrent callers, exactly one holds it at a time; once it is
    /// answered, all callers ever after get that answer.
    func reserve(_ claim: PromotionClaim, for duration: Duration, at instant: Date) async throws -> PromotionStanding

    /// Leaves a note for whoever must decide the claim if this holder vanishes. False where the reservation was lost.
    func note(_ note: String, on reservation: PromotionReservation) async throws -> Bool

    /// Stores the answer of a claim, unless another holder did before; gives the answer that stands.
    func answer(_ reservation: PromotionReservation, with answer: [UInt8], at instant: Date) async throws -> [UInt8]
}
