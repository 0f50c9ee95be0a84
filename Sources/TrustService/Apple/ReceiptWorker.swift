// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import FoundationEssentials
import HTTPService
import Logging
import ServiceLifecycle
import TrustStores
import Vocabulary

/// Exchanges receipts for newer ones when they are due.
///
/// The schedule lives in the store, so it survives restarts; leases keep nodes from doing the same work twice. Apple is never asked
/// before field 19 of a receipt.
struct ReceiptWorker: Service {
    let parts: ServiceParts
    /// The account at the start; a newer one counts once its file was read again.
    let apple: AppleSide

    /// How many receipts one node takes at once, and how many exchanges with Apple it has open at most.
    static let batch = 16
    /// How long a node may take for one batch. All of it is asked for at once, and the worst case of one is 60 seconds: two requests, the
    /// second with a new authorization, of 30 seconds each (``LiveAppleTransport``). The rest is for a store that is slow.
    static let lease = Duration.seconds(180)
    static let longestWait: TimeInterval = 86_400

    /// Asks for due receipts at the configured pace, until the service stops.
    func run() async throws {
        while await pause(parts.receiptPlan.settings.poll) {
            do {
                // A full batch means that more is waiting.
                while try await round() == ReceiptWorker.batch, !Task.isShuttingDownGracefully {}
            } catch {
                parts.observer.log.warning("Due receipts could not be refreshed; the next attempt is at the next poll.")
            }
        }
    }

    /// Works off what is due now.
    ///
    /// - Returns: how many receipts were asked for.
    func round() async throws -> Int {
        let now = parts.sources.now()
        let leases = try await parts.store.leaseDueReceipts(
            at: now, limit: ReceiptWorker.batch, for: ReceiptWorker.lease)
        parts.observer.set(.receiptsBatch, Double(leases.count))
        parts.observer.set(.receiptsBatchFull, leases.count == ReceiptWorker.batch ? 1 : 0)
        // One that fails must not take the results of the others along.
        var faults: [any Error] = []
        try await BoundedTasks(width: ReceiptWorker.batch).run(leases) { _, lease -> (any Error)? in
            do {
                try await finish(lease)
                return nil
            } catch {
                return error
            }
        } each: { _, fault in
            if let fault { faults.append(fault) }
        }
        if !faults.isEmpty { parts.observer.count(.receiptsResultsLost, by: faults.count) }
        if let fault = faults.first { throw fault }
        return leases.count
    }

    private func finish(_ lease: ReceiptLease) async throws {
        try Task.checkCancellation()
        let result = await refresh(lease)
        let outcome = try await parts.store.complete(lease, with: result, at: parts.sources.now())
        await report(lease, result, outcome)
    }

    private func refresh(_ lease: ReceiptLease) async -> RefreshResult {
        let now = parts.sources.now()
        guard let trust = try? await parts.trusted.trust(in: lease.key, receipt: lease.receipt) else {
            return .later(retry(lease, now), code: nil)
        }
        guard trust == .trusted else {
            // Apple is never asked about a key that the configuration does not trust; it is looked at again, in case it comes back.
            parts.trusted.countDistrust(trust)
            return .later(now.addingTimeInterval(ReceiptWorker.longestWait), code: nil)
        }
        if let expiry = lease.receipt.expiresAt, expiry <= now { return .stop(code: .receiptExpired) }
        if let notBefore = lease.receipt.notBefore, notBefore > now { return .later(notBefore, code: nil) }
        let outcome: ReceiptRefreshOutcome
        do {
            let client = (parts.live.current.apple ?? apple).receipts(environment: lease.key.environment)
            outcome = try await client.refresh(lease.receipt.bytes, at: now)
        } catch {
            return .later(retry(lease, now), code: .receiptRefreshUnauthorized)
        }
        parts.observer.count(.receiptsRefresh, [("code", outcome.code.rawValue)])
        switch outcome {
        case .renewed(let bytes): return await judge(bytes, lease)
        case .notModified: return .later(next(after: lease.receipt.notBefore, lease, now), code: nil)
        case .wrongEnvironment, .badPayload: return .stop(code: outcome.code)
        case .unauthorized: return .later(now.addingTimeInterval(3600), code: outcome.code)
        case .noData:
            // Apple forgets after 30 days and may know the key again after the next attestation: ask, but rarely.
            let wait = parts.receiptPlan.settings.refreshAfter * 7 / .seconds(1)
            return .later(now.addingTimeInterval(wait), code: outcome.code)
        case .throttled(let seconds), .unavailable(_, let seconds):
            let wait = seconds.map { now.addingTimeInterval(Double($0)) }
            return .later(max(retry(lease, now), wait ?? now), code: outcome.code)
        case .unusable: return .later(retry(lease, now), code: outcome.code)
        }
    }

    private func judge(_ bytes: [UInt8], _ lease: ReceiptLease) async -> RefreshResult {
        let now = parts.sources.now()
        guard let app = parts.apps[lease.key.app] else { return .later(retry(lease, now), code: .appUnknown) }
        let code: Code
        do throws(Problem) {
            switch try await app.verifiers.refreshed(bytes, for: lease, at: now) {
            case .success(let receipt):
                let record = ReceiptRecord(receipt, bytes: bytes)
                return .receipt(record, next: next(after: record.notBefore, lease, now))
            case .failure(let refusal): code = refusal.problem.code
            }
        } catch {
            code = error.code
        }
        parts.observer.count(.receiptsRefused, [("code", code.rawValue)])
        return .later(retry(lease, now), code: code)
    }

    private func next(after notBefore: Date?, _ lease: ReceiptLease, _ now: Date) -> Date {
        parts.receiptPlan.next(after: notBefore, key: lease.key.id.bytes, at: now) ?? now.addingTimeInterval(86_400)
    }

    /// Doubles from the poll interval up to a day.
    private func retry(_ lease: ReceiptLease, _ now: Date) -> Date {
        let first = parts.receiptPlan.settings.poll / .seconds(1)
        let wait = first * Double(1 << min(max(lease.failures, 0), 20))
        return now.addingTimeInterval(min(wait, ReceiptWorker.longestWait))
    }

    private func report(_ lease: ReceiptLease, _ result: RefreshResult, _ outcome: RefreshOutcome) async {
        parts.observer.count(.receiptsOutcome, [("code", "\(outcome)")])
        if outcome == .older {
            parts.observer.log.warning(
                "Apple answered with a receipt that is not newer than the stored one.",
                metadata: ["key": "\(lease.key.id.logPrefix)", "app": "\(lease.key.app)"])
        }
        guard outcome == .stored, case .receipt(let record, _) = result, let metric = record.riskMetric else { return }
        await parts.risk.noteMetric(metric, of: lease)
    }
}

/// When receipts are asked for.
struct ReceiptPlan: Sendable {
    let settings: Configuration.Receipts

    /// When a receipt is asked for next: never before field 19, and spread by key so that a burst does not come back as one.
    func next(after earliest: Date?, key: [UInt8], at now: Date) -> Date? {
        guard settings.refresh else { return nil }
        let wait = settings.refreshAfter / .seconds(1)
        let share = key.prefix(4).reduce(0.0) { $0 * 256 + Double($1) } / 4_294_967_296
        let next = now.addingTimeInterval(wait * (1 + share / 10))
        return max(next, earliest ?? next)
    }
}
