// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

extension DeviceCheckFault {
    /// What the codes of `sealward devicecheck` mean. The service says `apple.unavailable` for most of them; its log names the code.
    package static let explanations: [CodeExplanation] = [
        .init(.devicecheckAnswerBitsMissing, "an answer of status 200 without both bits", .operator, other),
        .init(.devicecheckAnswerBitsNotBoolean, "an answer whose bits are not true or false", .operator, other),
        .init(
            .devicecheckAnswerNotJSON,
            "an answer of status 200 that is neither JSON nor one of Apple's texts for bits that were never set",
            .operator, other),
        .init(.devicecheckAnswerTimeMalformed, "an answer whose last_update_time is not YYYY-MM", .operator, other),
        .init(.devicecheckAnswerTimeMissing, "an answer with bits and without last_update_time", .operator, other),
        .init(.devicecheckAnswerTooLarge, "an answer of more than 64 KiB", .operator, other),
        .init(
            .devicecheckAuthorizationRefused,
            "Apple refuses the authorization (`Unable to verify authorization token`, `Missing or badly formatted authorization token`)",
            .operator,
            "use a key of the developer account with DeviceCheck enabled, not one of App Store Connect, its key ID as kid and the team ID as iss, and correct the clock: the token is made with ES256 and has iat in seconds, within the hour"
        ),
        .init(
            .devicecheckForbidden, "Apple forbids DeviceCheck to this key", .operator, "enable DeviceCheck for the key"),
        .init(
            .devicecheckRequestRefused, "Apple refuses the request and gives a reason", .operator,
            "read the reason; the base URL may be that of the other environment. An update has the members bit0 and bit1, and the timestamp is in milliseconds"
        ),
        .init(
            .devicecheckTransactionInvalid, "the transaction id is empty or longer than 128 bytes", .backend,
            "give each call an id of 1 to 128 bytes"),
        .init(.devicecheckThrottled, "Apple asks for fewer requests", .backend, "wait, and ask less often"),
        .init(.devicecheckUnavailable, "Apple's service is down or does not answer", .nobody, "ask again later"),
        .init(
            .devicecheckStatusUnknown, "Apple answered with a status that it does not document", .operator,
            "look at the base URL and at proxies between: this is no status of DeviceCheck. If it came from Apple, ask again later"
        ),
    ]

    private static let other =
        "find out what answered: Apple sends no such answer. Look at the base URL, a proxy and the name server, and ask again"
}
