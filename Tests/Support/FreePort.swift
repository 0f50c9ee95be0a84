// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Ports of 127.0.0.1 for servers that must be told one.
package enum FreePort {
    /// Below the ports that the system gives to clients: one of those may be taken between the choice and the server's start, and stays
    /// taken for a minute after its connection has ended.
    private static let range = UInt16(15_000)..<32_000

    /// A port that nothing holds at this moment.
    ///
    /// - Throws: ``Exhausted`` where none of many is free.
    package static func take() throws -> Int {
        for _ in 0..<1000 {
            let port = UInt16.random(in: range)
            if isFree(port) { return Int(port) }
        }
        throw Exhausted()
    }

    package struct Exhausted: Error, CustomStringConvertible {
        package var description: String {
            "no port of 127.0.0.1 is free between \(range.lowerBound) and \(range.upperBound)"
        }
    }

    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return withLoopback(port) { bind(descriptor, $0, $1) == 0 }
    }

    /// Whether something listens there.
    package static func accepts(_ port: Int) -> Bool {
        guard let port = UInt16(exactly: port) else { return false }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return withLoopback(port) { connect(descriptor, $0, $1) == 0 }
    }

    private static func withLoopback<Result>(
        _ port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
}
