// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import TestSupport
import Testing

/// One name, however it is written.
@Suite struct HostNameTests {
    @Test(
        arguments: [
            ("M\u{FC}nchen.example", "xn--mnchen-3ya.example"), ("mu\u{308}nchen.example", "xn--mnchen-3ya.example"),
            ("M\u{DC}NCHEN.EXAMPLE", "xn--mnchen-3ya.example"), ("XN--MNCHEN-3YA.example", "xn--mnchen-3ya.example"),
            ("www.xn--mnchen-3ya.m\u{FC}nchen.example.", "www.xn--mnchen-3ya.xn--mnchen-3ya.example."),
            ("fa\u{DF}.example", "xn--fa-hia.example"), ("\u{65E5}\u{672C}\u{3002}jp", "xn--wgv71a.jp"),
            ("\u{FF25}\u{FF38}.example", "ex.example"),
            ("\u{3B2}\u{3CC}\u{3BB}\u{3BF}\u{3C2}.example", "xn--nxasmm1c.example"),
            ("plain-Name_1.EXAMPLE", "plain-name_1.example"),
        ]
    )
    func oneNameHasOneForm(_ written: String, _ ascii: String) { #expect(HostName.ascii(written) == ascii) }

    @Test(
        arguments: [
            "", ".", "a..b", "a b.example", "\u{2100}.example", "a%62.example", "b\u{FC}/x",
            "b\u{FC}@x",
            "b\u{FC}:1", String(repeating: "a", count: 64) + ".example",
            String(repeating: "\u{FC}", count: 200) + ".example",
            String(repeating: "a.", count: 200) + "example",
        ]
    )
    func whatNoURLCanHaveIsNone(_ written: String) { #expect(HostName.ascii(written) == nil) }

    @Test func runsOfMarksCostNothingToSpeakOf() {
        let start = ContinuousClock.now
        for count in [500, 511, 600, 2000] {
            for _ in 0..<20 {
                _ = HostName.ascii("a" + String(repeating: "\u{301}\u{316}", count: count / 2) + ".example")
            }
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(5))
    }
}
