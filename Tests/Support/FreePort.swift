// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Ports of 127.0.0.1 for servers that must be told one.
package enum FreePort {
    /// Below the ports that the system gives to clients: one of those may be taken between the choice and the server's start, and stays
    /// taken for a minute after its connection has ended.
    private static let range = 15_000..<32_000

    /// A port that nothing holds at this moment.
    ///
    /// - Throws: ``Exhausted`` where none of many is free.
    package static func take() throws -> Int {
        for _ in 0..<1000 {
            let port = Int.random(in: range)
            if isFree(port) { return port }
        }
        throw Exhausted()
    }

    package struct Exhausted: Error, CustomStringConvertible {
        package var description: String {
            "no port of 127.0.0.1 is free between \(range.lowerBound) and \(range.upperBound)"
        }
    }

    private static func isFree(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return LoopbackAddress.with(port: port) { bind(descriptor, $0, $1) == 0 }
    }

    /// Whether something listens there.
    package static func accepts(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return LoopbackAddress.with(port: port) { connect(descriptor, $0, $1) == 0 }
    }
}
