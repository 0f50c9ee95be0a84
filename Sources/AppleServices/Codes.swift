// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The codes of this module that more than one file needs. `docs/errors.md` says what each means.
extension Code {
    package static let appleAnswerTooLarge: Code = "apple.answer.too-large"
    package static let receiptRefreshUnauthorized: Code = "receipt.refresh.unauthorized"
    package static let appleUnreachable: Code = "apple.unreachable"
    package static let appleUntrusted: Code = "apple.untrusted"
    package static let receiptRefreshBadPayload: Code = "receipt.refresh.bad-payload"
    package static let receiptRefreshNoData: Code = "receipt.refresh.no-data"
    package static let receiptRefreshNotModified: Code = "receipt.refresh.not-modified"
    package static let receiptRefreshRenewed: Code = "receipt.refresh.renewed"
    package static let receiptRefreshThrottled: Code = "receipt.refresh.throttled"
    package static let receiptRefreshUnavailable: Code = "receipt.refresh.unavailable"
    package static let receiptRefreshUnusable: Code = "receipt.refresh.unusable"
    package static let receiptRefreshWrongEnvironment: Code = "receipt.refresh.wrong-environment"
}
