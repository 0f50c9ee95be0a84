// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings

/// What the outcomes of calls to Apple's servers mean, and who does what about them.
package enum AppleExplanations {
    /// Outcomes of a refresh.
    package static let refreshes: [CodeExplanation] = [
        .init(.receiptRefreshRenewed, "a newer receipt came", .nobody, "nothing: it was stored"),
        .init(
            .receiptRefreshNotModified,
            "asked before field 19",
            .nobody,
            "nothing: the stored receipt stays, and is refreshed later"
        ),
        .init(
            .receiptRefreshBadPayload,
            "Apple cannot read the receipt",
            .operator,
            "keep the receipts as they came; this one is not asked for again"
        ),
        .init(
            .receiptRefreshWrongEnvironment,
            "the receipt is of the other environment",
            .operator,
            "compare apple.dataBaseURL and apple.dataDevelopmentBaseURL with the environments of the app"
        ),
        .init(
            .receiptRefreshUnauthorized,
            "Apple refuses the authorization",
            .operator,
            "check apple.teamId, apple.keyId and apple.keyFile, and that the key has DeviceCheck enabled"
        ),
        .init(
            .receiptRefreshNoData,
            "no attestation for thirty days",
            .nobody,
            "nothing: the last receipt is kept and asked for rarely"
        ),
        .init(.receiptRefreshThrottled, "too many requests", .operator, "raise receipts.refreshAfterSeconds"),
        .init(.receiptRefreshUnavailable, "Apple's side is down", .nobody, "nothing: it is asked again later"),
        .init(
            .receiptRefreshUnusable,
            "the answer is not a newer receipt of this key",
            .operator,
            "look at the log: a proxy in between, or a new kind of answer; the stored receipt stays"
        ),
    ]

    /// Faults on the way to Apple.
    package static let transport: [CodeExplanation] = [
        .init(
            .appleUnreachable,
            "no connection to Apple's service",
            .operator,
            "let the service out to Apple's hosts on port 443, and check its name server"
        ),
        .init(
            .appleUntrusted,
            "Apple's server did not meet the policy",
            .operator,
            "look for a proxy that opens TLS; Apple's hosts need no exception"
        ),
        .init(
            .appleAnswerTooLarge,
            "Apple's answer is larger than 64 KiB",
            .operator,
            "look at who answers: it is not Apple's documented answer"
        ),
    ]
}
