// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import TLSModel
import Testing

@testable import ATSClient

@Suite struct ProxyPasswordTests {
    @Test("Ten wrong passwords at once and then one a second, for each address; a line at most once a second")
    func passwordsByCount() throws {
        let lines = NIOLockedValueBox<[Int]>([])
        let passwords = ProxyPasswords(["me:secret", "you:other"]) { count, _ in
            lines.withLockedValue { $0.append(count) }
        }
        let start = ContinuousClock.now
        let (here, there) = (IPAddress("192.0.2.1"), IPAddress("192.0.2.2"))
        let (wrong, right) = ("Basic bWU6d3Jvbmc=", "basic bWU6c2VjcmV0")
        for _ in 0..<ProxyPasswords.burst { #expect(passwords.judge(wrong, from: here, at: start) == .wrong) }
        #expect(passwords.judge(wrong, from: here, at: start) == .tooMany)
        #expect(passwords.judge(right, from: here, at: start) == .tooMany)
        #expect(passwords.judge(nil, from: here, at: start) == .missing)
        #expect(passwords.judge(right, from: there, at: start) == .right)
        #expect(lines.withLockedValue { $0 } == [1])
        let later = start + .seconds(1)
        #expect(passwords.judge(wrong, from: here, at: later) == .wrong)
        #expect(passwords.judge(wrong, from: here, at: later) == .tooMany)
        #expect(lines.withLockedValue { $0 } == [1, 12])
        #expect(passwords.judge(right, from: here, at: later + .seconds(1)) == .right)
        // One IPv6 network is one address.
        for number in 1...ProxyPasswords.burst {
            #expect(passwords.judge("Bearer x", from: IPAddress("2001:db8::\(number)"), at: start) == .wrong)
        }
        #expect(passwords.judge(right, from: IPAddress("2001:db8::ffff"), at: start) == .tooMany)
    }
}
