// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import DeviceCheckBits
import Formats
import FoundationEssentials
import HTTPService

/// One claim's talk with Apple: what the bits say, whether to set one, and whether it was set on the device that was asked about.
///
/// Apple's device tokens are opaque, so nothing in two of them says that they are of one device. The order of the calls says it:
///
/// 1. the first token is queried: the device must not have had the promotion;
/// 2. the second token is queried: neither may its device, so a burned device's token never grants;
/// 3. the second token is updated;
/// 4. the first token is queried again: only if the bit that the second one set is seen through it are both of one device. If it is not seen
///    through the second one either, somebody has written over it with what they had read before: steps 3 and 4 again, over what is there now.
///
/// Whatever Apple refuses on the way, nothing is granted.
struct PromotionExchange {
    let client: DeviceCheckClient
    let rule: PromotionRule
    let tokens: DeviceTokens
    let transactionId: String
    let now: Date

    /// How the talk ended. What is thrown instead is a fault after which nobody knows whether the bit was set.
    enum Outcome {
        /// The promotion is this claim's.
        case granted(first: Bool, lastUpdate: String?)
        /// It is not: a device has had it, or the tokens are of two devices.
        case refused(reason: Refusal, lastUpdate: String?)
    }

    /// Why a promotion is refused. The raw value is a label of the metric.
    enum Refusal: String, CaseIterable {
        case hadIt = "had-it"
        case secondTokenHadIt = "second-token-had-it"
        case twoDevices = "two-devices"
    }

    /// Asks Apple.
    ///
    /// - Parameters:
    ///   - read: what the first token's query answered. It also told the environment of the tokens.
    ///   - note: what an earlier holder of this very claim with these very tokens left behind.
    ///   - leave: leaves a note before the bit is set.
    /// - Throws: `DeviceCheckFault`; ``Problem`` if the claim is another holder's by now.
    func run(
        _ read: DeviceBitState, after note: ClaimNote?, leaving leave: (ClaimNote) async throws -> Void
    ) async throws -> Outcome {
        let month = YearMonth(containing: now)
        let write = try await query(tokens.write)
        let (readDecision, writeDecision) = (rule.decide(read, now: month), rule.decide(write, now: month))
        guard case .grant(_, let first) = readDecision else {
            // An earlier holder of this very claim, with these very tokens, was setting the bit when nobody learned whether it was set: both
            // tokens show it now, so the bit is its own.
            if let note, case .refuse = writeDecision {
                return .granted(first: note.first, lastUpdate: note.lastUpdate)
            }
            return .refused(reason: .hadIt, lastUpdate: read.lastUpdate?.description)
        }
        guard case .grant(var bits, _) = writeDecision else {
            return .refused(reason: .secondTokenHadIt, lastUpdate: write.lastUpdate?.description)
        }
        let lastUpdate = read.lastUpdate?.description
        try await leave(ClaimNote(first: first, lastUpdate: lastUpdate))
        for _ in 0..<DeviceBits.attempts {
            // Whose time is over must not set a bit any more.
            try Task.checkCancellation()
            try await client.update(bits, deviceToken: tokens.write, transactionId: transactionId, at: now)
            if isSet(try await query(tokens.read), after: read) {
                return .granted(first: first, lastUpdate: lastUpdate)
            }
            let written = try await query(tokens.write)
            guard case .grant(let again, _) = rule.decide(written, now: month), !isSet(written, after: write) else {
                return .refused(reason: .twoDevices, lastUpdate: lastUpdate)
            }
            bits = again
        }
        throw DeviceBits.overwritten
    }

    /// Whether the bit was set since `before`. The bit itself counts and not what it means: Apple's month may be behind ours at its end. A bit
    /// that was set before and counts as clear now has another month.
    private func isSet(_ after: DeviceBitState, after before: DeviceBitState) -> Bool {
        let bit = rule.meaning.bit
        return after.bits[bit] && (!before.bits[bit] || after.lastUpdate != before.lastUpdate)
    }

    private func query(_ token: String) async throws(DeviceCheckFault) -> DeviceBitState {
        try await client.query(deviceToken: token, transactionId: transactionId, at: now)
    }
}

/// The two device tokens of a claim: one to read with, one to write with.
struct DeviceTokens: Equatable {
    let read: String
    let write: String

    /// The two tokens of a claim.
    ///
    /// - Throws: ``Problem`` `request.malformed` or `deviceToken.invalid`.
    init(_ value: JSONValue?) throws(Problem) {
        guard case .array(let elements)? = value, elements.count == 2, let read = elements[0].text,
            let write = elements[1].text
        else { throw Problem(.requestMalformed, evidence: "deviceTokens must contain two strings") }
        guard DeviceCheckRequest.isToken(read), DeviceCheckRequest.isToken(write) else {
            throw Problem(.deviceTokenInvalid)
        }
        (self.read, self.write) = (read, write)
    }
}

/// What a holder leaves behind before it sets a bit: the answer that it would give. The store binds it to the two tokens.
struct ClaimNote: Equatable {
    let first: Bool
    let lastUpdate: String?

    var text: String { "writing \(first ? "first" : "again") \(lastUpdate ?? "-")" }
}

extension ClaimNote {
    init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 3, parts[0] == "writing" else { return nil }
        self.init(first: parts[1] == "first", lastUpdate: parts[2] == "-" ? nil : String(parts[2]))
    }
}

extension DeviceCheckFault {
    /// Whether Apple said no for good: what was asked was not done, and asking the same again is no use.
    ///
    /// A timeout, a broken connection or a failure on Apple's side says nothing about whether a bit was set.
    var isDefinite: Bool {
        if let status { return (400..<500).contains(status) }
        return self == .tokenInvalid || self == .transactionInvalid
    }
}
