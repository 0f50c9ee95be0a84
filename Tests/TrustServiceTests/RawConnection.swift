// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport

/// A TCP connection to a port of this machine, written and read byte by byte.
final class RawConnection {
    private let descriptor: Int32
    private let port: Int

    /// - Parameter source: the last byte of the address of 127.0.0.0/8 that the connection comes from; all of them are this machine.
    init(port: Int, source: UInt8 = 1) throws {
        self.port = port
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let descriptor = descriptor
        let bound = source == 1 ? 0 : LoopbackAddress.with(0x7F00_0000 + UInt32(source)) { bind(descriptor, $0, $1) }
        let connected = LoopbackAddress.with(port: port) { connect(descriptor, $0, $1) }
        guard bound == 0, connected == 0 else { throw Failure("no connection to port \(port)") }
    }

    deinit { close(descriptor) }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Sends what the other side takes; false once it takes nothing more.
    @discardableResult func send(_ bytes: [UInt8], waits: Bool = true) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(
                    descriptor,
                    $0.baseAddress,
                    $0.count,
                    Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
                )
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// What has come, without waiting; nil once the other side has closed.
    func received() -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
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
                RawConnection.limit(descriptor, seconds: seconds)
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

    /// All that comes until the other side closes, or until nothing comes for `seconds`.
    func everything(seconds: Int = 30) async -> String {
        let descriptor = descriptor
        return await withCheckedContinuation { continuation in
            Thread {
                RawConnection.limit(descriptor, seconds: seconds)
                var bytes: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 65536)
                while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
                    bytes += buffer[..<count]
                }
                continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
            }.start()
        }
    }

    /// Lets a read end after so many seconds without a byte.
    private static func limit(_ descriptor: Int32, seconds: Int) {
        // A `timeval`: seconds and microseconds.
        let timeout = (seconds, 0)
        withUnsafeBytes(of: timeout) {
            _ = setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, $0.baseAddress, socklen_t($0.count))
        }
    }
}
