// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore
import Synchronization

/// The body of an answer as a sequence of buffers, read as fast as the consumer asks and no faster.
///
/// One consumer: a second iteration of a body that did not fit into one read finds what the first one left.
public struct ResponseBody: AsyncSequence, Sendable {
    enum Storage: Sendable {
        case buffered(ByteBuffer)
        case streaming(BodyReader)
    }

    let storage: Storage
    /// Makes the error that an app sees of one that ended the body.
    var translate: (@Sendable (ExchangeFailure) -> ATSLoadError)?

    init(_ storage: Storage) { self.storage = storage }

    public func makeAsyncIterator() -> AsyncIterator {
        switch storage {
        case .buffered(let buffer): AsyncIterator(buffered: buffer.readableBytes > 0 ? buffer : nil)
        case .streaming(let reader): AsyncIterator(reader: reader, translate: translate)
        }
    }

    /// Iterates over the buffers of a body.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var buffered: ByteBuffer?
        var reader: BodyReader?
        var translate: (@Sendable (ExchangeFailure) -> ATSLoadError)?

        /// The next buffer, or nil after the last one.
        ///
        /// - Throws: ``ATSLoadError`` if the body breaks off, stalls or grows over its limit; `CancellationError`.
        public mutating func next() async throws -> ByteBuffer? {
            if let buffer = buffered {
                buffered = nil
                return buffer
            }
            do {
                return try await reader?.buffer.next()
            } catch let failure as ExchangeFailure {
                throw translate?(failure) ?? failure
            }
        }
    }

    /// The whole body in one buffer.
    ///
    /// - Parameter limit: the most bytes that are collected.
    /// - Throws: ``BodyTooLarge`` if there are more; what the iteration throws.
    public func collect(upTo limit: Int) async throws -> ByteBuffer {
        var whole = ByteBuffer()
        for try await part in self {
            guard whole.readableBytes + part.readableBytes <= limit else { throw BodyTooLarge(limit: limit) }
            whole.add(part)
        }
        return whole
    }
}

extension ByteBuffer {
    /// Adds a part; the first one is not copied.
    mutating func add(_ part: ByteBuffer) {
        if readableBytes == 0 { self = part } else { writeImmutableBuffer(part) }
    }
}

/// A body that is longer than its reader wanted to hold.
public struct BodyTooLarge: Error, Sendable, Equatable, CustomStringConvertible {
    /// Bytes.
    public let limit: Int

    public var description: String { "the body is larger than \(limit) bytes" }
}

/// The consumer's end of a body: when the last copy goes without having read to the end, the connection is given up.
final class BodyReader: Sendable {
    let buffer: BodyBuffer

    init(_ buffer: BodyBuffer) { self.buffer = buffer }

    deinit { buffer.abandon() }
}

/// What connects a channel that delivers a body with the task that consumes it.
///
/// Above `highWatermark` pending bytes the channel stops reading, and the consumer asks it to go on when half of that is left.
final class BodyBuffer: Sendable {
    private struct State {
        var pending = 0
        var end: Result<Void, any Error>?
        var isHeld = false
    }

    static let highWatermark = 256 * 1024

    private let state = Mutex(State())
    private let parts: AsyncStream<ByteBuffer>
    private let continuation: AsyncStream<ByteBuffer>.Continuation
    private let readOn: @Sendable () -> Void
    private let giveUp: @Sendable () -> Void

    init(readOn: @escaping @Sendable () -> Void, giveUp: @escaping @Sendable () -> Void) {
        self.readOn = readOn
        self.giveUp = giveUp
        (parts, continuation) = AsyncStream.makeStream()
        continuation.onTermination = { [weak self] in if case .cancelled = $0 { self?.abandon() } }
    }

    /// Adds a part; whether the channel may go on reading.
    func push(_ part: ByteBuffer) -> Bool {
        let mayRead = state.withLock { state in
            guard state.end == nil else { return true }
            state.pending += part.readableBytes
            // Once held, only the consumer lets it go on: a small part after that must not look as if nobody had been stopped.
            if state.pending >= BodyBuffer.highWatermark { state.isHeld = true }
            return !state.isHeld
        }
        continuation.yield(part)
        return mayRead
    }

    /// Ends the body, well or with an error; false if it has ended. What was pushed before is still delivered.
    @discardableResult
    func finish(_ end: Result<Void, any Error>) -> Bool {
        let isFirst = state.withLock { state in
            guard state.end == nil else { return false }
            state.end = end
            return true
        }
        continuation.finish()
        return isFirst
    }

    /// The consumer takes no more: the channel is told, unless the body was complete.
    func abandon() {
        if finish(.failure(CancellationError())) { giveUp() }
    }

    /// The next part, nil at the end; waits where there is neither yet.
    func next() async throws -> ByteBuffer? {
        var iterator = parts.makeAsyncIterator()
        guard let part = await iterator.next() else {
            try state.withLock { $0.end }?.get()
            return nil
        }
        let resumes = state.withLock { state in
            state.pending -= part.readableBytes
            guard state.isHeld, state.pending <= BodyBuffer.highWatermark / 2 else { return false }
            state.isHeld = false
            return true
        }
        if resumes { readOn() }
        return part
    }
}
