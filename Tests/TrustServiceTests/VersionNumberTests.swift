// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TrustService

/// Bundle versions as people order them.
@Suite struct VersionNumberTests {
    @Test(arguments: [
        ("1.9", "1.10"), ("1.2", "1.2.0"), ("9", "10"), ("1.2.3-beta", "1.2.4"), ("1.2b3", "1.2b12"), ("", "1"),
        ("99999999999999999999998", "99999999999999999999999"), ("007", "8"),
    ])
    func isOlder(_ older: String, _ newer: String) {
        #expect(VersionNumber(older) < VersionNumber(newer))
        #expect(!(VersionNumber(newer) < VersionNumber(older)))
    }

    @Test("zeros in front do not count", arguments: [("1.02", "1.2"), ("3", "3")])
    func areEqual(_ one: String, _ other: String) {
        #expect(!(VersionNumber(one) < VersionNumber(other)) && !(VersionNumber(other) < VersionNumber(one)))
    }
}
