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
            "ask again after that time; the service does so by itself and keeps the stored receipt"),
        .init(
            .receiptRefreshBadPayload, "Apple cannot read the receipt", .operator,
            "send the base64 text of the receipt as the whole body; this one is not refreshed again"
        ),
        .init(
            .receiptRefreshWrongEnvironment, "the receipt belongs to the other environment", .operator,
            "send it to the host of its environment, which field 7 names: sandbox is development (apple.dataDevelopmentBaseURL, --environment development), production is production"
        ),
        .init(
            .receiptRefreshUnauthorized, "Apple refuses the authorization", .operator,
            "use a key of the developer account with DeviceCheck enabled, not one of App Store Connect, its key id and the team id (--key-file, --key-id, --team-id; apple.keyFile, apple.keyId, apple.teamId), and correct the clock"
        ),
        .init(
            .receiptRefreshNoData, "no attestation for thirty days", .nobody,
            "nothing: Apple keeps its data for thirty days, and the next attestation of the device makes new ones. The last receipt stays; the service rarely tries to refresh it"
        ),
        .init(
            .receiptRefreshThrottled, "too many requests", .operator,
            "ask less often; in the service raise receipts.refreshAfterSeconds"),
        .init(
            .receiptRefreshUnavailable, "Apple's service is down or does not answer", .nobody,
            "ask again later; the service does so by itself. Nothing answers where outgoing connections to port 443 are not allowed"
        ),
        .init(
            .receiptRefreshUnusable, "the answer is not a newer receipt for this key", .operator,
            "find out what answered: a proxy, or Apple with a new form. The service keeps the stored receipt, and its log has more"
        ),
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
