// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import ConnectionAdmission

struct MovingDeadlineTests {
    @Test("A deadline passes once, when it was moved to last, however often and in which direction it moved")
    func moves() {
        let loop = EmbeddedEventLoop()
        var passed = 0
        let deadline = MovingDeadline(on: loop) { passed += 1 }
        deadline.move(in: .seconds(60))
        for _ in 0..<100 {
            loop.advanceTime(by: .seconds(59))
            deadline.move(in: .seconds(60))
        }
        #expect(passed == 0)
        deadline.move(in: .milliseconds(10))
        loop.advanceTime(by: .milliseconds(9))
        #expect(passed == 0)
        loop.advanceTime(by: .milliseconds(1))
        #expect(passed == 1)
        loop.advanceTime(by: .hours(1))
        #expect(passed == 1)
        deadline.move(in: .seconds(60))
        deadline.shorten(to: .seconds(90))
        deadline.shorten(to: .seconds(3))
        loop.advanceTime(by: .seconds(3))
        #expect(passed == 2)
        deadline.move(in: .seconds(7))
        deadline.stop()
        loop.advanceTime(by: .hours(1))
        #expect(passed == 2)
        deadline.move(in: .seconds(7))
        loop.advanceTime(by: .seconds(7))
        #expect(passed == 3)
    }

    @Test("A deadline without an owner does nothing, and a connection owns its end")
    func owners() throws {
        let channel = EmbeddedChannel()
        var passed = 0
        var deadline: MovingDeadline? = MovingDeadline(on: channel.eventLoop) { passed += 1 }
        deadline?.move(in: .seconds(7))
        deadline = nil
        MovingDeadline.close(channel, after: .seconds(60))
        channel.embeddedEventLoop.advanceTime(by: .seconds(59))
        var isClosed = false
        channel.closeFuture.assumeIsolated().whenComplete { _ in isClosed = true }
        #expect(passed == 0 && !isClosed)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(isClosed)
    }

    /// The processor time of so many connections that end while as many stay, each with a deadline.
    private func cost(of count: Int) -> Double {
        let loop = EmbeddedEventLoop()
        var deadlines = (0..<2 * count).map { _ in MovingDeadline(on: loop) {} }
        return CPUTime.measure {
            for deadline in deadlines { deadline.move(in: .seconds(30)) }
            for deadline in deadlines { deadline.move(in: .seconds(2)) }
            deadlines.removeLast(count)
            loop.advanceTime(by: .seconds(5))
        }
    }

    @Test("To move and to end a deadline costs the same, however many there are", Measuring.only)
    func ends() {
        let (few, many) = (cost(of: 400), cost(of: 8000))
        #expect(many < 5 * 20 * few + 0.05, "\(few) s, \(many) s")
    }
}
