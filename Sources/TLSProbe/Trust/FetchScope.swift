// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import TLSFacts

/// Where a server's certificates may send whoever judges them: an issuer's address is the server's choice and must not lead into the judge's own network.
///
/// Public addresses are always allowed, addresses of metadata services never.
public struct FetchScope: Sendable, Equatable {
    private let kinds: [AddressKind]

    private init(kinds: [AddressKind]) { self.kinds = kinds }

    /// Public addresses.
    public static let publicAddresses = FetchScope(kinds: [.global])

    /// Every address but those of metadata services, for users who want that.
    public static let anyNetwork = FetchScope(kinds: [.global, .privateNetwork, .linkLocal, .loopback, .special])

    /// What a server at this address may lead to: addresses of its own kind, which is no leap, and public ones.
    package init(of server: SocketAddress) { self.init(of: AddressKind(server)) }

    package init(of kind: AddressKind) {
        switch kind {
        case .global, .metadata: self = .publicAddresses
        case .loopback, .privateNetwork, .linkLocal, .special: self.init(kinds: [.global, kind])
        }
    }

    package func allows(_ address: SocketAddress) -> Bool {
        // Whoever connects to the unspecified address reaches the own machine.
        if let ip = IPAddress(address)?.unmapped, ip.isIPv4 ? ip.bytes.first == 0 : ip.bytes.allSatisfy({ $0 == 0 }) {
            return kinds.contains(.loopback)
        }
        return kinds.contains(AddressKind(address))
    }
}
