// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Vocabulary

/// Why DeviceCheck did not do what was asked, or why its answer cannot be used.
///
/// Match on ``code``; equality is on the code. Codes: `deviceToken.invalid`, `devicecheck.transaction.invalid`,
/// `devicecheck.request.refused`, `devicecheck.authorization.refused`, `devicecheck.forbidden`, `devicecheck.throttled`,
/// `devicecheck.unavailable`, `devicecheck.status.unknown`, `devicecheck.answer.too-large`, `devicecheck.answer.not-json`,
/// `devicecheck.answer.bits-missing`, `devicecheck.answer.bits-not-boolean`, `devicecheck.answer.time-missing`,
/// `devicecheck.answer.time-malformed`.
public struct DeviceCheckFault: Error, Sendable, ComparedByCode, CustomStringConvertible {
    /// What the caller may do about it.
    public enum Advice: Sendable, Equatable {
        /// The same request will fail again.
        case never
        /// Create a new authorization, then try once more.
        case renewAuthorization
        /// Try later; after so many seconds if Apple said so.
        case later(seconds: Int?)
    }

    /// The stable code, as in `docs/errors.md`.
    public let code: Code
    /// One sentence without a full stop.
    public let reason: String
    /// The HTTP status of Apple's answer; nil if no answer was involved.
    public let status: Int?
    /// What to do about it.
    public let advice: Advice

    package init(code: Code, reason: String, status: Int? = nil, advice: Advice = .never) {
        self.code = code
        self.reason = reason
        self.status = status
        self.advice = advice
    }

    public var description: String { reason }

    /// The token cannot be one, or Apple says that it is none.
    package static let tokenInvalid = DeviceCheckFault(
        code: .deviceTokenInvalid, reason: "the device token is empty, too long or neither base64 nor base64url")

    /// The transaction id is empty or longer than 128 bytes.
    package static let transactionInvalid = DeviceCheckFault(
        code: .devicecheckTransactionInvalid, reason: "the transaction id must have 1 to 128 bytes")
}

extension DeviceCheckFault {
    /// What Apple's words for a fault mean, in lower case; nil for words that are not Apple's.
    package static func code(ofText text: String) -> Code? {
        if text.contains("authorization") { return .devicecheckAuthorizationRefused }
        if text.contains("device token") { return .deviceTokenInvalid }
        return ["formatted bits", "formatted time stamp", "formatted timestamp"].contains(where: text.contains)
            ? .devicecheckRequestRefused : nil
    }

    /// What an answer other than 200 means.
    ///
    /// Apple tells the kinds of 400 apart by text only. The texts here are those of its table and those seen live; they are
    /// compared without regard to case, spaces around, or what follows. The table's numbers are confirmed by no public source
    /// for every row, so an unknown status is never taken for success and never for a bad token.
    package init(status: Int, body: some Collection<UInt8>, retryAfter: String? = nil) {
        let text = DeviceCheckAnswer.plainText(body)
        let seconds = retryAfter?.retryAfterSeconds
        switch status {
        case 400 where DeviceCheckFault.code(ofText: text) == .devicecheckAuthorizationRefused:
            self.init(
                code: .devicecheckAuthorizationRefused, reason: "Apple could not read the authorization",
                status: status, advice: .renewAuthorization)
        case 400 where DeviceCheckFault.code(ofText: text) == .deviceTokenInvalid:
            self.init(
                code: .deviceTokenInvalid,
                reason:
                    "Apple does not know the device token; was it used before, or is it from the other environment?",
                status: status)
        case 400, 405:
            self.init(
                code: .devicecheckRequestRefused,
                reason: "Apple refused the request: \(text.isEmpty ? "no reason given" : text)", status: status)
        case 401:
            self.init(
                code: .devicecheckAuthorizationRefused,
                reason: "Apple refused the authorization: check team id, key id and key", status: status,
                advice: .renewAuthorization)
        case 403:
            self.init(
                code: .devicecheckForbidden,
                reason: "Apple forbids DeviceCheck to this key: is the service enabled for it?", status: status)
        case 429:
            self.init(
                code: .devicecheckThrottled, reason: "Apple asks for fewer requests", status: status,
                advice: .later(seconds: seconds))
        case 500...599:
            self.init(
                code: .devicecheckUnavailable, reason: "DeviceCheck is unavailable (\(status))", status: status,
                advice: .later(seconds: seconds))
        default:
            self.init(
                code: .devicecheckStatusUnknown, reason: "Apple answered with the unexpected status \(status)",
                status: status)
        }
    }
}
