// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Vocabulary

@testable import TrustStores

extension MemoryState {
    mutating func reserve(
        _ claim: PromotionClaim, _ tokens: PromotionTokens, grantsFrom: Int64, for duration: Duration, at instant: Date
    ) -> PromotionStanding {
        var entry = promotions[claim] ?? PromotionEntry()
        if let answer = entry.answer { return .answered(answer) }
        let now = StoreTime.milliseconds(instant)
        let mine = UTF8Key(claim.transactionId)
        var holder = holders[HolderName(claim)] ?? HolderEntry(transactionId: mine)
        if claim.subject.isLimited {
            if let granted = holder.granted(from: grantsFrom) { return .alreadyGranted(granted) }
            if holder.leasedUntil > now, holder.transactionId != mine {
                return .pending(until: StoreTime.date(holder.leasedUntil))
            }
        }
        if entry.leasedUntil > now { return .pending(until: StoreTime.date(entry.leasedUntil)) }
        entry.fence += 1
        entry.leasedUntil = now + StoreTime.milliseconds(duration)
        promotions[claim] = entry
        if claim.subject.isLimited {
            holder.transactionId = mine
            holder.leasedUntil = entry.leasedUntil
            holders[HolderName(claim)] = holder
        }
        let note = entry.noteTokens == tokens ? entry.note : nil
        return .reserved(
            PromotionReservation(claim: claim, note: note, fence: entry.fence, tokens: tokens, grantsFrom: grantsFrom))
    }

    mutating func note(_ note: String, on reservation: PromotionReservation) -> Bool {
        guard isHeld(reservation) else { return false }
        promotions[reservation.claim]?.note = StoreText.stored(note)
        promotions[reservation.claim]?.noteTokens = reservation.tokens
        return true
    }

    mutating func release(_ reservation: PromotionReservation, at instant: Date) {
        guard isHeld(reservation) else { return }
        promotions[reservation.claim]?.note = nil
        promotions[reservation.claim]?.noteTokens = nil
        promotions[reservation.claim]?.leasedUntil = StoreTime.milliseconds(instant)
        letGo(of: reservation.claim, at: instant)
    }

    mutating func answer(
        _ reservation: PromotionReservation, with answer: PromotionAnswer, at instant: Date
    ) -> PromotionSettlement {
        let claim = reservation.claim
        if let standing = promotions[claim]?.answer { return .answered(standing) }
        let name = HolderName(claim)
        if answer.isGranted, let granted = holders[name]?.granted(from: reservation.grantsFrom) {
            return .alreadyGranted(granted)
        }
        var entry = promotions[claim] ?? PromotionEntry()
        entry.answer = answer.bytes
        entry.answeredAt = StoreTime.date(StoreTime.milliseconds(instant))
        entry.note = nil
        entry.noteTokens = nil
        promotions[claim] = entry
        if answer.isGranted, claim.subject.isLimited {
            holders[name] = HolderEntry(
                transactionId: UTF8Key(claim.transactionId), grantedAt: StoreTime.milliseconds(instant))
        } else {
            letGo(of: claim, at: instant)
        }
        return .answered(answer.bytes)
    }

    private func isHeld(_ reservation: PromotionReservation) -> Bool {
        let claim = reservation.claim
        guard let entry = promotions[claim], entry.answer == nil, entry.fence == reservation.fence else { return false }
        guard claim.subject.isLimited else { return true }
        guard let holder = holders[HolderName(claim)] else { return false }
        return holder.granted(from: reservation.grantsFrom) == nil
            && holder.transactionId == UTF8Key(claim.transactionId)
    }

    private mutating func letGo(of claim: PromotionClaim, at instant: Date) {
        guard holders[HolderName(claim)]?.transactionId == UTF8Key(claim.transactionId) else { return }
        holders[HolderName(claim)]?.leasedUntil = StoreTime.milliseconds(instant)
    }
}
