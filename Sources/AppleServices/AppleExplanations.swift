// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// What the outcomes of calls to Apple's servers mean, and who does what about them.
package enum AppleExplanations {
    /// Outcomes of a refresh.
    package static let refreshes: [CodeExplanation] = [
        .init(.receiptRefreshRenewed, "a newer receipt came", .nobody, "nothing: it was stored"),
        .init(
            .receiptRefreshNotModified, "asked before the time in the receipt's field 19", .nobody,
            "nothing: the service keeps the stored receipt and refreshes it later"),
        .init(
            .receiptRefreshBadPayload, "Apple cannot read the receipt", .operator,
            "store receipts as they came; the service does not refresh this one again"),
        .init(
            .receiptRefreshWrongEnvironment, "the receipt belongs to the other environment", .operator,
            "compare apple.dataBaseURL and apple.dataDevelopmentBaseURL with the environments of the app"),
        .init(
            .receiptRefreshUnauthorized, "Apple refuses the authorization", .operator,
            "check apple.teamId, apple.keyId and apple.keyFile, and that the key has DeviceCheck enabled"),
        .init(
            .receiptRefreshNoData, "no attestation for thirty days", .nobody,
            "nothing: the service keeps the last receipt and rarely tries to refresh it"),
        .init(.receiptRefreshThrottled, "too many requests", .operator, "raise receipts.refreshAfterSeconds"),
        .init(.receiptRefreshUnavailable, "Apple's side is down", .nobody, "nothing: the service asks again later"),
        .init(
            .receiptRefreshUnusable, "the answer is not a newer receipt for this key", .operator,
            "see the log: a proxy may have answered, or Apple's answer has a new form; the stored receipt is kept"),
    ]

    /// Faults on the way to Apple.
    package static let transport: [CodeExplanation] = [
        .init(
            .appleUnreachable, "no connection to Apple's service", .operator,
            "allow outgoing connections to Apple's hosts on port 443, and check DNS"),
        .init(
            .appleUntrusted, "Apple's server did not meet the TLS policy", .operator,
            "look for a proxy that intercepts TLS; Apple's hosts need no exception"),
        .init(
            .appleAnswerTooLarge, "Apple's answer is larger than 64 KiB", .operator,
            "find out what answered: Apple's documented answers are smaller"),
    ]
}
