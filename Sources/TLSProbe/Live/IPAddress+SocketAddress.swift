// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import TLSModel

extension IPAddress {
    /// The address of a socket, without port and scope; nil for a socket of the file system.
    package init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        self.init(scoped: text)
    }
}

extension AddressKind {
    /// The kind of a socket's address; a socket of the file system belongs to the machine itself.
    package init(_ address: SocketAddress) {
        self = IPAddress(address).map { AddressKind($0) } ?? .loopback
    }
}
