// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Counts what a server sends between two requests, as the system does: a row has no bound of its own in libpq but a gigabyte.
///
/// On a socket of the file system, which the system does not count, what waits at each look is added up.
struct PostgresIntake {
    /// Bytes that came before the request; nil if the system does not count.
    private var before: UInt64?
    private var counted: UInt64 = 0

    /// A page of a thousand keys with the longest names has some megabytes; the rest is for notices.
    private static let limit: UInt64 = 80 << 20

    /// A request is about to leave.
    mutating func begin(_ socket: Int32) {
        before = PostgresIntake.received(socket)
        counted = 0
    }

    /// Whether what has come since the request is no more than it may be.
    mutating func isWithin(_ socket: Int32) -> Bool {
        if let before, let now = PostgresIntake.received(socket) { return now &- before <= PostgresIntake.limit }
        var waiting: Int32 = 0
        // Safe: the system fills the one number that it is lent.
        if unsafe ioctl(socket, UInt(FIONREAD), &waiting) == 0 { counted += UInt64(max(0, waiting)) }
        return counted <= PostgresIntake.limit
    }

    /// All bytes that came over a TCP connection so far; nil if the system does not say.
    private static func received(_ socket: Int32) -> UInt64? {
        // tcpi_bytes_received of struct tcp_info stands here since Linux 4.1; the C library's header may be older.
        let offset = 128
        var info = [UInt8](repeating: 0, count: offset + 8)
        var length = socklen_t(info.count)
        // Safe: the system writes no more than `length`, the size of the buffer; the number ends where the buffer does.
        guard unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0, length == info.count else {
            return nil
        }
        return unsafe info.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }
}
