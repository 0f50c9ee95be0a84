// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A port of 127.0.0.1 that is taken for as long as this lives, so that nothing else gets it.
package final class HeldPort: Sendable {
    package let port: Int
    private let descriptor: Int32

    /// - Parameter isListening: whether connections are accepted, by the system alone; else they are refused.
    package init(isListening: Bool = false) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isHeld = withUnsafeMutablePointer(to: &address) { [descriptor] address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
                    && (!isListening || listen(descriptor, 1) == 0)
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isHeld else { throw FreePort.Exhausted() }
    }

    deinit { close(descriptor) }
}
