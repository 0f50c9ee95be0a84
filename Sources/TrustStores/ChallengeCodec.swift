// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
package import FoundationEssentials

/// Issues and reads challenges without storing anything: a challenge carries its own expiry and binding under a MAC.
///
/// The keys are the store's (``TrustStore/challengeKeys(orElse:at:)``), so every node on one store reads what any of them issued.
/// Layout, 56 bytes: version 1 | purpose and flags 1 | expiry in ms 6 | random 16 | binding tag 16 | MAC 16. Both tags are
/// truncated HMAC-SHA256: app, key and user are not readable from a challenge, and cannot be tried out offline.
///
/// A codec is a picture of the keys at one instant. A node takes a new one every few seconds, more often than the time between a
/// rotation and the first challenge of its key (``ChallengeKeyRotation/signsFrom``).
package struct ChallengeCodec: Sendable {
    /// One key with what is made from it once: both codes with the key and their label taken in already, from which copies go on.
    private struct Codes {
        let challenge: HMAC<SHA256>
        let binding: HMAC<SHA256>
        /// In milliseconds; from then on its challenges are unknown.
        let acceptedUntil: Int64

        init(_ key: ChallengeKey) {
            func code(_ label: String) -> HMAC<SHA256> {
                var code = HMAC<SHA256>(key: SymmetricKey(data: Data(key.secret)))
                code.update(data: Array(label.utf8) + [0])
                return code
            }
            (challenge, binding) = (code("sealward.challenge/1"), code("sealward.binding/1"))
            acceptedUntil = key.acceptedUntil.map(StoreTime.milliseconds) ?? .max
        }
    }

    /// Which makes challenges.
    private let signer: Codes
    /// All that are accepted, the signer first; at most ``ChallengeKey/limit``.
    private let accepted: [Codes]

    /// The length of every challenge, in bytes. The contract allows 64.
    package static let length = 56
    /// How many random bytes ``issue(for:expiresAt:random:)`` wants.
    package static let randomLength = 16
    /// The name of the secret in stores of the first version.
    package static let secretName = "challenge-mac"
    package static let secretLength = 32

    /// Uses the keys of a store as they are at an instant: the newest whose time has come signs, and all are read.
    ///
    /// Nil without a key, and if a secret is shorter than 16 bytes.
    package init?(keys: [ChallengeKey], at instant: Date) {
        let keys = keys.sorted { $0.generation > $1.generation }.prefix(ChallengeKey.limit)
        // A node whose clock is far behind signs with the oldest.
        guard let first = keys.first(where: { $0.signsFrom <= instant }) ?? keys.last,
            keys.allSatisfy({ $0.secret.count >= 16 })
        else { return nil }
        signer = Codes(first)
        accepted = [signer] + keys.filter { $0.generation != first.generation }.map(Codes.init)
    }

    /// Fetches the store's keys, or lets the store adopt `candidate` (32 random bytes) if it has none yet.
    package init(store: some TrustStore, candidate: some Collection<UInt8>, at instant: Date) async throws {
        let keys = try await store.challengeKeys(orElse: Array(candidate), at: instant)
        guard let codec = ChallengeCodec(keys: keys, at: instant) else {
            throw StoreFault.damaged("a challenge secret is shorter than 16 bytes, or there is none")
        }
        self = codec
    }

    /// Makes the bytes of one challenge. Nothing is stored.
    ///
    /// - Parameters:
    ///   - expiresAt: kept to the millisecond, rounded down.
    ///   - random: 16 bytes that were never used before; shorter input is a programming error and gives an unreadable challenge.
    package func issue(for binding: ChallengeBinding, expiresAt: Date, random: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = [1, binding.purpose.rawValue]
        if binding.keyId != nil { bytes[1] |= Flag.key }
        if binding.user != nil { bytes[1] |= Flag.user }
        let expiry = UInt64(StoreTime.milliseconds(expiresAt))
        for shift in stride(from: 40, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: expiry >> shift)) }
        bytes += random.prefix(ChallengeCodec.randomLength)
        bytes += ChallengeCodec.bindingTag(signer, of: bytes[...], binding)
        bytes += ChallengeCodec.tag(signer.challenge, bytes)
        return bytes
    }

    /// Reads bytes that claim to be a challenge, for the use that `presented` describes.
    ///
    /// Genuineness comes first, then expiry (refused from the very millisecond on), then purpose, app, key and user. A
    /// challenge that was issued for a key or user serves that one alone. For an attestation a stated user needs a challenge
    /// that was issued for that user; for an assertion a challenge without a user serves any.
    package func read(_ bytes: [UInt8], for presented: ChallengeBinding, at instant: Date) -> ChallengeReading {
        guard bytes.count == ChallengeCodec.length, bytes[0] == 1 else { return .failure(.unknown) }
        let now = StoreTime.milliseconds(instant)
        let head = Array(bytes.prefix(40))
        let maker = accepted.first { codes in
            codes.acceptedUntil > now
                && ChallengeCodec.constantTimeEqual(ChallengeCodec.tag(codes.challenge, head), bytes[40...])
        }
        guard let maker else { return .failure(.unknown) }
        let expiry = bytes[2..<8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        if expiry <= now { return .failure(.expired) }
        let flags = bytes[1]
        guard flags & Flag.purpose == presented.purpose.rawValue else { return .failure(.binding) }
        var binding = presented
        if flags & Flag.key == 0 { binding.keyId = nil } else if presented.keyId == nil { return .failure(.binding) }
        if flags & Flag.user == 0 {
            if presented.user != nil, presented.purpose == .attest { return .failure(.binding) }
            binding.user = nil
        } else if presented.user == nil {
            return .failure(.binding)
        }
        let tag = ChallengeCodec.bindingTag(maker, of: bytes[0..<24], binding)
        guard ChallengeCodec.constantTimeEqual(tag, bytes[24..<40]) else { return .failure(.binding) }
        return .success(SpendableChallenge(id: Array(bytes[8..<24]), expiresAt: StoreTime.date(expiry)))
    }

    private static func bindingTag(_ codes: Codes, of head: ArraySlice<UInt8>, _ binding: ChallengeBinding) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(128)
        message.append(contentsOf: head)
        func append(_ part: some Collection<UInt8>) {
            let length = UInt32(truncatingIfNeeded: part.count)
            for shift in [24, 16, 8, 0] as [UInt32] { message.append(UInt8(truncatingIfNeeded: length >> shift)) }
            message.append(contentsOf: part)
        }
        append(binding.app.utf8)
        append(binding.keyId?.bytes ?? [])
        append((binding.user ?? "").utf8)
        return tag(codes.binding, message)
    }

    private static func tag(_ code: HMAC<SHA256>, _ message: [UInt8]) -> [UInt8] {
        var code = code
        code.update(data: message)
        return Array(code.finalize().prefix(16))
    }

    private static func constantTimeEqual(_ left: [UInt8], _ right: ArraySlice<UInt8>) -> Bool {
        left.count == right.count && zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Where flags begin in the second byte.
    private enum Flag {
        static let purpose: UInt8 = 0x0F
        static let key: UInt8 = 0x10
        static let user: UInt8 = 0x20
    }
}
