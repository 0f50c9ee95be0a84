// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport

/// A TCP connection to a port of this machine, written and read byte by byte.
final class RawConnection {
    private let descriptor: Int32
    private let port: Int

    init(port: Int) throws {
        self.port = port
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failure("no connection to port \(port)") }
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Whether the other side has read everything that was sent: nothing waits in its socket.
    var isRead: Bool {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        let mine = Int(UInt16(bigEndian: address.sin_port))
        return TCPTable().rows.contains { $0.localPort == port && $0.remotePort == mine && $0.unread == 0 }
    }

    /// Whether the other side still waits: it has neither answered nor closed.
    var isWaiting: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 && errno == EAGAIN
    }

    /// No more will be sent; the answer can still come.
    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// What comes until the head of an answer is there, the other side closes, or nothing comes for `seconds`.
    ///
    /// On a thread of its own: a task that blocks would take one of the few threads on which the service answers.
    func answer(seconds: Int = 30) async -> String {
        let descriptor = descriptor
        return await withCheckedContinuation { continuation in
            Thread {
                var timeout = timeval(tv_sec: seconds, tv_usec: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
                var text = ""
                var buffer = [UInt8](repeating: 0, count: 65536)
                while !text.contains("\r\n\r\n") {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    guard count > 0 else { break }
                    text += String(decoding: buffer[..<count], as: UTF8.self)
                }
                continuation.resume(returning: text)
            }.start()
        }
    }
}
