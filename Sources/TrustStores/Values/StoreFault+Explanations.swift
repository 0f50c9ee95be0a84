// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

extension StoreFault {
    /// What the codes mean that only the operator sees. `store.unavailable` and `store.clock-off` are answers of the service too.
    package static let explanations: [CodeExplanation] = [
        .init(
            .storeDamaged, "the store contains data that cannot be right", .operator,
            "stop the service, keep a copy, and restore the last backup; sealward store check says what is wrong"),
        .init(
            .storeNewer, "the store was written by a newer version", .operator, "run the newer version, on every node"),
        .init(
            .storeConfiguration, "the configured store cannot be used: a malformed URL, or a file of the wrong kind",
            .operator, "correct `store` in the configuration"),
        .init(
            .storeTLS, "a PostgreSQL on another machine, and a URL that does not say whether TLS is used", .operator,
            "add sslmode=verify-full to the URL in `store`, or sslmode=disable if the network itself is protected"),
        .init(.receiptOlder, "a receipt older than the stored one", .nobody, "nothing: the stored one stays"),
    ]
}
