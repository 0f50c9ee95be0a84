// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A TCP connection to a port of this machine, written and read byte by byte. Its own address can be any of 127/8: honest and hostile
/// clients of one machine.
package final class LoopbackClient {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let descriptor: CInt
    private let port: Int

    /// Connects to a port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - last: the last number of the client's own address 127.0.0.x.
    ///   - limit: seconds that a read or a write waits; without one it waits for ever.
    package init(from last: UInt32 = 1, port: Int, limit: Int? = nil) throws {
        self.port = port
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let descriptor = descriptor
        if let limit {
            Self.limit(descriptor, SO_RCVTIMEO, limit)
            Self.limit(descriptor, SO_SNDTIMEO, limit)
        }
        guard
            last == 1 || LoopbackAddress.with(0x7F00_0000 | last, { bind(descriptor, $0, $1) }) == 0,
            LoopbackAddress.with(port: port, { connect(descriptor, $0, $1) }) == 0
        else { throw Failure(description: "127.0.0.\(last) cannot connect to port \(port): errno \(errno)") }
    }

    deinit { close(descriptor) }

    /// Ends the connection, once the client is released, with a reset and not with an end.
    package func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    private static func limit(_ descriptor: CInt, _ option: CInt, _ seconds: Int) {
        var wait = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, option, &wait, socklen_t(MemoryLayout<timeval>.size))
    }

    // MARK: - Writing

    /// Sends a text; false where the other side takes it no more.
    @discardableResult package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Sends what the other side takes; false once it takes nothing more.
    @discardableResult package func send(_ bytes: [UInt8], waits: Bool = true) -> Bool {
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, flags)
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// No more will be sent; the answer can still come.
    package func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    // MARK: - Reading

    /// What came with the next read: empty where the other side closed, nil where nothing came in time.
    package func readBytes() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        if count < 0 { return errno == ECONNRESET ? [] : nil }
        return Array(bytes.prefix(count))
    }

    /// The same as text.
    package func read() -> String? { readBytes().map { String(decoding: $0, as: UTF8.self) } }

    /// Everything until the other side closes or the text ends with `end`.
    package func readAll(until end: String? = nil) -> String {
        var text = ""
        while let part = read(), !part.isEmpty {
            text += part
            if let end, text.hasSuffix(end) { break }
        }
        return text
    }

    /// What has come, without waiting; nil once the other side has closed.
    package func received() -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                bytes += buffer[..<count]
            } else if count < 0, errno == EAGAIN || errno == EINTR {
                return bytes
            } else {
                return bytes.isEmpty ? nil : bytes
            }
        }
    }

    /// What comes until the head of an answer is there, the other side closes, or nothing comes for `seconds`.
    ///
    /// On a thread of its own: a task that blocks would take one of the few threads on which the service answers.
    package func answer(seconds: Int = 30) async -> String { await text(seconds) { $0.contains("\r\n\r\n") } }

    /// All that comes until the other side closes, or until nothing comes for `seconds`.
    package func everything(seconds: Int = 30) async -> String { await text(seconds) { _ in false } }

    private func text(_ seconds: Int, until isEnough: @escaping @Sendable (String) -> Bool) async -> String {
        let descriptor = descriptor
        let text = try? await onThread {
            Self.limit(descriptor, SO_RCVTIMEO, seconds)
            var text = ""
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while !isEnough(text) {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                text += String(decoding: buffer[..<count], as: UTF8.self)
            }
            return text
        }
        return text ?? ""
    }

    // MARK: - The other side

    /// Whether the other side has read everything that was sent: nothing waits in its socket.
    package var isRead: Bool {
        let mine = LoopbackAddress.own(of: descriptor).map { Int(UInt16(bigEndian: $0.sin_port)) }
        return TCPTable().rows.contains { $0.localPort == port && $0.remotePort == mine && $0.unread == 0 }
    }

    /// Whether the other side still waits: it has neither answered nor closed.
    package var isWaiting: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 && errno == EAGAIN
    }
}
