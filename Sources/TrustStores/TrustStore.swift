// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppAttest
public import FoundationEssentials

/// Everything that the trust service remembers.
///
/// Each verb is atomic: callers never read first and write afterwards, and every backend passes the same contract suite. Time
/// is an argument. A verb that changes something has committed durably (as far as the backend keeps anything) before it
/// returns. What a caller did wrong is a returned outcome; a ``StoreFault`` is thrown when the store cannot answer.
public protocol TrustStore: Sendable {
    // MARK: The store itself

    /// Gives the named secret. Of any number of first callers, one candidate is kept, and all get that one.
    func secret(named name: String, orElse candidate: [UInt8]) async throws -> [UInt8]

    /// Replaces the named secret, and says whether there was one. Whoever asks afterwards gets the new one.
    func replaceSecret(named name: String, by secret: [UInt8]) async throws -> Bool

    /// A hash of all secrets but the keys of challenges: it changes with each of them, so a node sees what another one replaced.
    func secretsMark() async throws -> [UInt8]

    /// Commits a write and reads the store's clock and horizon; throws a ``StoreFault`` if the store cannot do so now, or if its schema
    /// is not this program's (`store.newer`). Any number of callers may check at once.
    @discardableResult
    func check() async throws -> StoreReading

    /// Looks at the whole store: schema, horizon, clock, damage. Changes nothing; takes seconds if much is stored.
    func inspect(at instant: Date) async throws -> StoreInspection

    /// Takes an operator's word that `instant` is now, or the store's own clock if it has one: a horizon that is ahead goes back to
    /// now, one that is behind comes up, so that sweeping goes on. Of concurrent callers the last one counts.
    ///
    /// Where the horizon goes back, what was spent before a wrong clock swept it could be spent once more until it expires: the caller
    /// waits, after the wrong clock was put right, as long as challenges and single-use tokens live.
    func settleClock(at instant: Date) async throws -> StoreReading

    /// Removes what no promise needs any more. Any number of nodes may sweep at once. A challenge that was swept stays refused,
    /// also if a node's clock is behind. If the clock cannot be believed nothing is removed, and the report says so.
    func sweep(at instant: Date, keeping retention: Retention) async throws -> SweepReport

    /// Finishes what was begun, then closes. Every later call throws a ``StoreFault``.
    func close() async

    // MARK: Keys of challenges

    /// Gives the keys of challenges, newest first; the newest that may sign does. Of any number of first callers, one candidate is
    /// kept, and all get that one.
    func challengeKeys(orElse candidate: [UInt8], at instant: Date) async throws -> [ChallengeKey]

    /// Adds a newer key of challenges. Of any number of concurrent callers, exactly one receives `.rotated` until its key signs.
    func rotateChallengeKey(_ rotation: ChallengeKeyRotation, at instant: Date) async throws -> RotationOutcome

    // MARK: Things that are spent once

    /// Spends a single-use token. Of any number of concurrent callers on any number of nodes, exactly one receives `.spent`.
    func consume(_ token: SingleUseToken, at instant: Date) async throws -> SpendOutcome

    // MARK: Quotas

    /// Counts a draw if it fits into its window. Over any number of concurrent callers on any number of nodes the draws of a subject in one
    /// window never exceed the limit; what does not fit changes nothing. A window begins with its first draw, and a caller whose clock is
    /// behind counts into the window that is open.
    func draw(_ draw: QuotaDraw, at instant: Date) async throws -> QuotaOutcome

    // MARK: Keys

    /// Stores a verified key with its user and receipt, spends the challenge and counts its draws, all or nothing.
    ///
    /// Of any number of concurrent callers with one key, exactly one receives `.inserted`; the byte-equal object of the same user
    /// and app receives `.existing`, whatever became of the challenge; everything else is refused and changes nothing.
    func insert(
        _ registration: KeyRegistration, spending challenge: SpendableChallenge, at instant: Date
    ) async throws -> InsertOutcome

    /// Reads one key as it was committed last.
    func key(_ id: KeyIdentifier) async throws -> StoredKey?

    /// Reads a key, if it is stored, and whether a challenge is spent, both at one and the same instant.
    ///
    /// A key and its challenge are committed together, so a caller that sees the challenge of an attestation spent also sees its key.
    func attestationStanding(
        of id: KeyIdentifier, challenge: SpendableChallenge
    ) async throws -> (key: StoredKey?, isSpent: Bool)

    /// Accepts a counter and spends the challenge, both or neither.
    ///
    /// Of any number of concurrent callers with one challenge or one counter value, exactly one receives `.advanced`; the stored
    /// counter never goes down; a refused assertion changes nothing.
    func advance(_ advance: CounterAdvance, at instant: Date) async throws -> AdvanceOutcome

    /// Revokes a key. Exactly one of any number of callers receives `.revoked`; what is asked afterwards sees it.
    func revoke(_ id: KeyIdentifier, code: String?, at instant: Date) async throws -> RevokeOutcome

    /// Makes a key good again that was revoked at `start` or later. Exactly one of any number of callers receives `.restored`; what is
    /// asked afterwards sees it.
    ///
    /// - Parameter refreshAt: when its receipt is to be refreshed next; nil for never.
    func restore(
        _ id: KeyIdentifier, revokedSince start: Date, refreshAt: Date?, at instant: Date
    ) async throws -> RestoreOutcome

    /// How many keys of an app one user has attested since an instant.
    func keyCount(ofUser user: String, app: String, since instant: Date) async throws -> Int

    // MARK: Keys, for operators

    /// Lists keys by environment, app and id, behind a cursor. A key that is stored throughout a walk through all pages is seen once.
    func keys(matching filter: KeyFilter, after cursor: KeyCursor?, limit: Int) async throws -> KeyPage

    /// Counts the unrevoked keys of each kind, by environment and app.
    func keyCounts() async throws -> [KeyCount]

    /// Removes a key with its receipts, and its id and the details from its events; the events stay. Exactly one of any number of callers
    /// receives true. A key that was revoked is never inserted again, as long as ``Retention/tombstones`` says.
    func deleteKey(_ id: KeyIdentifier) async throws -> Bool

    /// Removes all keys that a user had when the call began, as ``deleteKey(_:)`` does, and says how many this caller removed. Each key
    /// goes whole; no transaction is long. Promotion records stay; they contain no name.
    func deleteKeys(ofUser user: String, app: String?) async throws -> Int

    /// Revokes all keys of an app that match and were stored when the call began, if the bound admits their number, and says how many
    /// this caller revoked. Each key is revoked once over all callers; no transaction is long.
    ///
    /// Up to 1,000 keys are revoked in one transaction, which also decides whether the bound admits their number. More are counted first, and of
    /// callers that expect the same keys one revokes them.
    func revokeKeys(
        of app: String, matching rule: RevocationRule, bound: RevocationBound, code: String?, at instant: Date
    ) async throws -> RevocationResult

    /// The keys that were revoked since an instant, newest first, and those of its day that were deleted afterwards. Whoever asks after a revocation
    /// committed sees it.
    ///
    /// - Parameter limit: how many are named at most.
    func revokedKeys(since instant: Date, limit: Int) async throws -> RevokedKeys

    // MARK: Audit

    /// Appends entries, in their order, all or none. Numbers grow in the order of commits, so who reads on behind a number misses none.
    func append(_ entries: [AuditEntry]) async throws

    /// The entries behind a number, or from the first one, in their order.
    func audit(after number: Int64?, limit: Int) async throws -> [NumberedAuditEntry]

    /// The number of the entry that was appended last; 0 if there was none.
    func newestAuditNumber() async throws -> Int64

    // MARK: Receipts

    /// Hands out receipts whose refresh is due, longest overdue first, none of them to two callers until its lease runs out.
    func leaseDueReceipts(at instant: Date, limit: Int, for duration: Duration) async throws -> [ReceiptLease]

    /// Ends a lease with its result. A receipt that is not newer than the stored one is never stored; a lease that ran out and
    /// was given to another caller changes nothing.
    func complete(_ lease: ReceiptLease, with result: RefreshResult, at instant: Date) async throws -> RefreshOutcome

    /// The receipts of one key, newest first.
    func receipts(of id: KeyIdentifier, limit: Int) async throws -> [StoredReceipt]

    /// How many unrevoked production or development keys of an app have which risk metric in their newest receipt, by ascending metric.
    func riskMetrics(app: String, environment: String) async throws -> [(metric: Int, keys: Int)]

    // MARK: Events and counts

    /// Appends an event. Events of one key keep the order in which they were committed.
    func record(_ event: StoreEvent) async throws

    /// What happened to one key, oldest first; if there is more than `limit`, the newest of it.
    func history(of id: KeyIdentifier, limit: Int) async throws -> [StoreEvent]

    /// Adds to the counts of an hour. Additions of all nodes are summed; none is lost.
    func add(_ tallies: [SignalTally]) async throws

    /// The counts of an app from the hour of `start` up to the instant `end`, by ascending hour, then kind, then code.
    func tallies(app: String, from start: Date, to end: Date) async throws -> [SignalTally]

    // MARK: Promotions

    /// Asks for the right to decide a claim. Of any number of concurrent callers with one limited subject, exactly one holds it at a
    /// time, whatever their transactions are; without a limited subject, of those with one claim. Once a claim is answered, all callers
    /// ever after get that answer; once a subject is granted, its other claims are told so.
    ///
    /// - Parameter grantStart: grants before this instant no longer count; `.distantPast` counts all.
    func reserve(
        _ claim: PromotionClaim, tokens: PromotionTokens, countingGrantsFrom grantStart: Date, for duration: Duration,
        at instant: Date
    ) async throws -> PromotionStanding

    /// Leaves a note for whoever must decide the claim with the same tokens if this holder vanishes. False if the reservation was
    /// lost, so that the holder must not go on.
    func note(_ note: String, on reservation: PromotionReservation) async throws -> Bool

    /// Gives the right back without an answer and drops the note: for a definite refusal by Apple. A reservation that was lost changes
    /// nothing.
    func release(_ reservation: PromotionReservation, at instant: Date) async throws

    /// Stores the answer of a claim, unless another holder did before, and remembers a grant; gives the answer that stands. Of any
    /// number of concurrent callers with one limited subject, at most one transaction is granted.
    func answer(
        _ reservation: PromotionReservation, with answer: PromotionAnswer, at instant: Date
    ) async throws -> PromotionSettlement
}
