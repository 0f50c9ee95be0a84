// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
public import Foundation

/// Issues and reads challenges without storing anything: a challenge carries its own expiry and binding under a MAC.
///
/// The key is the store's (``TrustStore/secret(named:orElse:)``), so every node on one store reads what any of them issued.
/// Layout, 56 bytes: version 1 | purpose and flags 1 | expiry in ms 6 | random 16 | binding tag 16 | MAC 16. Both tags are
/// truncated HMAC-SHA256: app, key and user are not readable from a challenge, and cannot be tried out offline.
public struct ChallengeCodec: Sendable {
    /// Both codes with the key and their label taken in already: a copy goes on from there.
    private let challengeCode: HMAC<SHA256>
    private let bindingCode: HMAC<SHA256>

    /// The length of every challenge, in bytes. The contract allows 64.
    public static let length = 56
    /// How many random bytes ``issue(for:expiresAt:random:)`` wants.
    public static let randomLength = 16
    /// The name of the secret in the store.
    public static let secretName = "challenge-mac"
    /// The length of the secret, in bytes.
    public static let secretLength = 32

    /// Uses the store-wide secret, at least 16 bytes; nil for a shorter one.
    public init?(secret: some Collection<UInt8>) {
        guard secret.count >= 16 else { return nil }
        let key = SymmetricKey(data: Data(secret))
        challengeCode = ChallengeCodec.code("sealward.challenge/1", key)
        bindingCode = ChallengeCodec.code("sealward.binding/1", key)
    }

    private static func code(_ label: String, _ key: SymmetricKey) -> HMAC<SHA256> {
        var code = HMAC<SHA256>(key: key)
        code.update(data: Array(label.utf8) + [0])
        return code
    }

    /// Fetches the store's secret, or lets the store adopt `candidate` (32 random bytes) if it has none yet.
    public init(store: some TrustStore, candidate: some Collection<UInt8>) async throws {
        let secret = try await store.secret(named: ChallengeCodec.secretName, orElse: Array(candidate))
        guard let codec = ChallengeCodec(secret: secret) else {
            throw StoreFault.damaged("the challenge secret is shorter than 16 bytes")
        }
        self = codec
    }

    /// Makes the bytes of one challenge. Nothing is stored.
    ///
    /// - Parameters:
    ///   - expiresAt: kept to the millisecond, rounded down.
    ///   - random: 16 bytes that were never used before; shorter input is a programming error and gives an unreadable challenge.
    public func issue(for binding: ChallengeBinding, expiresAt: Date, random: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = [1, binding.purpose.rawValue]
        if binding.keyId != nil { bytes[1] |= Flag.key }
        if binding.user != nil { bytes[1] |= Flag.user }
        let expiry = UInt64(StoreTime.milliseconds(expiresAt))
        for shift in stride(from: 40, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: expiry >> shift)) }
        bytes += random.prefix(ChallengeCodec.randomLength)
        bytes += bindingTag(of: bytes[...], binding)
        bytes += tag(challengeCode, bytes)
        return bytes
    }

    /// Reads bytes that claim to be a challenge, for the use that `presented` describes.
    ///
    /// Genuineness comes first, then expiry (refused from the very millisecond on), then purpose, app, key and user. A
    /// challenge that was issued for a key or user serves that one alone. For an attestation a stated user needs a challenge
    /// that was issued for that user; for an assertion a challenge without a user serves any.
    public func read(
        _ bytes: some Collection<UInt8>,
        for presented: ChallengeBinding,
        at instant: Date
    ) -> ChallengeReading {
        let bytes = Array(bytes)
        guard bytes.count == ChallengeCodec.length, bytes[0] == 1,
            constantTimeEqual(tag(challengeCode, Array(bytes.prefix(40))), bytes[40...])
        else { return .refused(.unknown) }
        let expiry = bytes[2..<8].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        if expiry <= StoreTime.milliseconds(instant) { return .refused(.expired) }
        let flags = bytes[1]
        guard flags & Flag.purpose == presented.purpose.rawValue else { return .refused(.binding) }
        var binding = presented
        if flags & Flag.key == 0 { binding.keyId = nil } else if presented.keyId == nil { return .refused(.binding) }
        if flags & Flag.user == 0 {
            if presented.user != nil, presented.purpose == .attest { return .refused(.binding) }
            binding.user = nil
        } else if presented.user == nil {
            return .refused(.binding)
        }
        guard constantTimeEqual(bindingTag(of: bytes[0..<24], binding), bytes[24..<40]) else {
            return .refused(.binding)
        }
        return .valid(SpendableChallenge(id: Array(bytes[8..<24]), expiresAt: StoreTime.date(expiry)))
    }

    private func bindingTag(of head: ArraySlice<UInt8>, _ binding: ChallengeBinding) -> [UInt8] {
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
        return tag(bindingCode, message)
    }

    private func tag(_ code: HMAC<SHA256>, _ message: [UInt8]) -> [UInt8] {
        var code = code
        code.update(data: message)
        return code.finalize().withUnsafeBytes { Array($0.prefix(16)) }
    }

    private func constantTimeEqual(_ left: [UInt8], _ right: ArraySlice<UInt8>) -> Bool {
        left.count == right.count && zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private enum Flag {
        static let purpose: UInt8 = 0x0F
        static let key: UInt8 = 0x10
        static let user: UInt8 = 0x20
    }
}
