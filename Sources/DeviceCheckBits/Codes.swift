// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The codes of this module that more than one file needs. `docs/errors.md` says what each means.
extension Code {
    package static let deviceTokenInvalid: Code = "deviceToken.invalid"
    package static let devicecheckAnswerBitsMissing: Code = "devicecheck.answer.bits-missing"
    package static let devicecheckAnswerBitsNotBoolean: Code = "devicecheck.answer.bits-not-boolean"
    package static let devicecheckAnswerNotJSON: Code = "devicecheck.answer.not-json"
    package static let devicecheckAnswerTimeMalformed: Code = "devicecheck.answer.time-malformed"
    package static let devicecheckAnswerTimeMissing: Code = "devicecheck.answer.time-missing"
    package static let devicecheckAnswerTooLarge: Code = "devicecheck.answer.too-large"
    package static let devicecheckAuthorizationRefused: Code = "devicecheck.authorization.refused"
    package static let devicecheckForbidden: Code = "devicecheck.forbidden"
    package static let devicecheckRequestRefused: Code = "devicecheck.request.refused"
    package static let devicecheckStatusUnknown: Code = "devicecheck.status.unknown"
    package static let devicecheckThrottled: Code = "devicecheck.throttled"
    package static let devicecheckTransactionInvalid: Code = "devicecheck.transaction.invalid"
    package static let devicecheckUnavailable: Code = "devicecheck.unavailable"
}
