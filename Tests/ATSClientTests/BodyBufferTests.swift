// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers
import NIOCore
import Testing

@testable import ATSClient

/// What lies between a channel that delivers a body and the task that reads it: a channel that was stopped is woken, once.
struct BodyBufferTests {
    /// A buffer, and how often it told its channel to read on or to give up.
    private final class Bench: Sendable {
        let wakes = NIOLockedValueBox(0)
        let ends = NIOLockedValueBox(0)
        let buffer: BodyBuffer

        init() {
            let (wakes, ends) = (wakes, ends)
            buffer = BodyBuffer(
                readOn: { wakes.withLockedValue { $0 += 1 } }, giveUp: { ends.withLockedValue { $0 += 1 } })
        }

        func push(_ bytes: Int) -> Bool { buffer.push(ByteBuffer(repeating: 7, count: bytes)) }
    }

    @Test("A small part that comes after the limit does not hide that the channel was stopped")
    func aHeldChannelIsWoken() async throws {
        let bench = Bench()
        #expect(bench.push(100 * 1024))
        #expect(!bench.push(200 * 1024))
        #expect(try await bench.buffer.next()?.readableBytes == 100 * 1024)
        #expect(!bench.push(1), "still stopped")
        #expect(bench.wakes.withLockedValue { $0 } == 0)
        #expect(try await bench.buffer.next()?.readableBytes == 200 * 1024)
        #expect(bench.wakes.withLockedValue { $0 } == 1)
    }

    @Test("Parts of every order: stopped at 256 KiB, woken once at half of it", arguments: [64, 1000, 65_536])
    func everyOrder(size: Int) async throws {
        let bench = Bench()
        var pending = 0
        while bench.push(size) { pending += size }
        pending += size
        #expect(pending >= BodyBuffer.highWatermark && pending < BodyBuffer.highWatermark + size)
        // What was on its way still comes, small parts among it, also after the reader took some.
        #expect(!bench.push(1))
        _ = try await bench.buffer.next()
        pending -= size
        #expect(!bench.push(1))
        pending += 2
        #expect(bench.wakes.withLockedValue { $0 } == 0)
        while pending > 0 {
            let wasWoken = bench.wakes.withLockedValue { $0 } > 0
            #expect(wasWoken == (pending <= BodyBuffer.highWatermark / 2))
            pending -= try #require(try await bench.buffer.next()).readableBytes
        }
        #expect(bench.wakes.withLockedValue { $0 } == 1)
        #expect(bench.push(size))
    }

    @Test("What came before an error is delivered before it; a reader that goes away gives the channel up once")
    func theEnd() async throws {
        let broken = Bench()
        _ = broken.push(3)
        broken.buffer.finish(.failure(CancellationError()))
        #expect(try await broken.buffer.next()?.readableBytes == 3)
        await #expect(throws: CancellationError.self) { try await broken.buffer.next() }
        broken.buffer.abandon()
        #expect(broken.ends.withLockedValue { $0 } == 0)

        let left = Bench()
        _ = left.push(3)
        left.buffer.abandon()
        left.buffer.abandon()
        #expect(left.ends.withLockedValue { $0 } == 1)
        #expect(left.push(1_000_000), "nobody reads: let it flow away")
    }
}
