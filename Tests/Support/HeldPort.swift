// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A port of this machine that is taken for as long as this lives, so that nothing else gets it.
package final class HeldPort: Sendable {
    package let port: Int
    /// The socket. When this object goes, a thread that waits in `accept` is woken.
    package let descriptor: Int32

    /// - Parameters:
    ///   - host: 0 for every address of the machine.
    ///   - number: 0 takes a free port.
    ///   - isListening: whether connections are accepted, by the system alone unless somebody calls `accept`; else they are refused.
    ///   - backlog: how many connections may wait for `accept`.
    package init(
        _ host: UInt32 = LoopbackAddress.first, port number: Int = 0, isListening: Bool = false, backlog: Int32 = 1
    ) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        let isBound = LoopbackAddress.with(host, port: number) { bind(descriptor, $0, $1) == 0 }
        let own = LoopbackAddress.own(of: descriptor)
        port = own.map { Int(UInt16(bigEndian: $0.sin_port)) } ?? 0
        guard isBound, port > 0, !isListening || listen(descriptor, backlog) == 0 else { throw FreePort.Exhausted() }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }
}
