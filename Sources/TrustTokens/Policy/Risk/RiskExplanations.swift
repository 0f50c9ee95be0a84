// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// What each contribution to a score and each alert means, and who does what about it.
package enum RiskExplanations {
    package static let all: [CodeExplanation] = [
        .init(.unsupported, "the installation reported that it cannot attest", .operator, look),
        .init(
            .transientFailures, "proofs failed as those of honest devices do too", .operator, "nothing, unless it lasts"
        ),
        .init(.replays, "counters or challenges came a second time", .operator, look),
        .init(.forgeries, "signatures or chains came that no device makes", .operator, look),
        .init(.keysOfUser, "one user has many keys", .operator, look),
        .init(.usersOfKey, "one key serves many users", .operator, look),
        .init(
            .metricAboveBaseline, "Apple's risk metric of the device is above what the app's devices have", .operator,
            metric),
        .init(
            .counterGap, "the counter once jumped: some assertions never arrived", .operator, "nothing, unless it lasts"
        ),
        .init(.environment, "a key from another environment than expected was seen", .operator, look),
        .init(.category, "the app was installed from a source through which it is not distributed", .operator, look),
        .init(.extensionsMissing, "the device's system sends extensions, but none arrived", .operator, look),
        .init(.deviceMark, "a bit of DeviceCheck marks the device", .operator, look),
        .init(
            .brokerDevice, "some production keys are on devices that attest for many", .operator, metric),
        .init(
            .unsupportedRising, "the share of installations that cannot attest is rising", .operator,
            "compare its start with your last release; if none explains it, somebody may be asking for untrusted tokens"
        ),
    ]

    private static let look = "decide what a request with this tier may do, and look at the key's history"
    private static let metric = "read docs/risk-metric.md, and decide what such a device may do"
}
