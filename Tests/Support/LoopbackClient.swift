// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A blocking client whose own address can be any of 127/8: honest and hostile ones of one machine.
package final class LoopbackClient {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let descriptor: CInt

    /// Connects to a port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - last: the last number of the client's own address 127.0.0.x.
    ///   - limit: seconds that a read waits.
    package init(from last: UInt32 = 1, port: Int, limit: Int = 10) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var wait = timeval(tv_sec: limit, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, size)
        guard
            LoopbackAddress.with(0x7F00_0000 | last, { bind(descriptor, $0, $1) }) == 0,
            LoopbackAddress.with(port: port, { connect(descriptor, $0, $1) }) == 0
        else { throw Failure(description: "127.0.0.\(last) cannot connect to port \(port): errno \(errno)") }
    }

    deinit { close(descriptor) }

    /// Sends a text; false where the other side takes it no more.
    @discardableResult
    package func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        var at = 0
        while at < bytes.count {
            let count = bytes[at...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            at += count
        }
        return true
    }

    /// What came with the next read: empty where the other side closed, nil where nothing came in time.
    package func read() -> String? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        if count < 0 { return errno == ECONNRESET ? "" : nil }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// Everything until the other side closes or the text ends with `end`.
    package func readAll(until end: String? = nil) -> String {
        var text = ""
        while let part = read(), !part.isEmpty {
            text += part
            if let end, text.hasSuffix(end) { break }
        }
        return text
    }
}
