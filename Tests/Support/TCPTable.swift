// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The system's table of IPv4 sockets, /proc/net/tcp.
package struct TCPTable: Sendable {
    package struct Row: Sendable {
        package let localPort: Int
        package let remotePort: Int
        /// 1 is established, 8 waits for this side to close.
        package let state: Int
        /// Bytes that have come and are not read.
        package let unread: Int
    }

    package let rows: [Row]

    /// Reads it whole: the system hands it out in pieces, and a short piece is not the end.
    package init() {
        var bytes: [UInt8] = []
        let descriptor = open("/proc/self/net/tcp", O_RDONLY)
        defer { close(descriptor) }
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(descriptor, &piece, piece.count)
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        rows = String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst().compactMap { line in
            func number(_ text: Substring) -> Int? { text.split(separator: ":").last.flatMap { Int($0, radix: 16) } }
            let columns = line.split(separator: " ")
            guard columns.count > 4, let local = number(columns[1]), let remote = number(columns[2]),
                let state = number(columns[3]), let unread = number(columns[4])
            else { return nil }
            return Row(localPort: local, remotePort: remote, state: state, unread: unread)
        }
    }
}
