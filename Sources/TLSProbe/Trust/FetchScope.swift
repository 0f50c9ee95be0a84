// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import TLSModel

/// Which addresses may be connected to on the word of somebody else: of a server that redirects, of a certificate that names its issuer, of
/// the place of an enrollment, of whoever asks a proxy or an exporter. The one rule about that.
///
/// A server may lead to public addresses and to those of its own kind. Nobody leads to metadata services and link-local addresses, where
/// machines keep secrets for themselves. What the user names himself is not led to, and may be at any address.
public struct FetchScope: Sendable, Hashable {
    /// Nil for every one.
    private let kinds: Set<AddressKind>?

    private init(kinds: Set<AddressKind>?) { self.kinds = kinds }

    /// Public addresses.
    public static let publicAddresses = FetchScope(kinds: [.global])

    /// Every address that somebody may be led to at all, for users who want that.
    public static let anyNetwork = FetchScope(kinds: [.global, .privateNetwork, .loopback, .special])

    /// Every address: what a user named himself.
    package static let named = FetchScope(kinds: nil)

    /// Where a name leads that was allowed by name: any network, but nothing that is no server.
    package static let anyServer = FetchScope(kinds: [.global, .privateNetwork, .loopback])

    /// What users on other machines may be led to by a service of this one.
    ///
    /// - Parameter allowsPrivate: whether the private network is theirs too; this machine itself never is.
    package static func remote(allowsPrivate: Bool) -> FetchScope {
        FetchScope(kinds: allowsPrivate ? [.global, .privateNetwork] : [.global])
    }

    /// What a server at this address may lead to: addresses of its own kind, which is no leap, and public ones.
    package init(of server: SocketAddress) { self.init(of: AddressKind(server)) }

    package init(of kind: AddressKind) {
        switch kind {
        case .global, .metadata, .linkLocal: self = .publicAddresses
        case .loopback, .privateNetwork, .special: self.init(kinds: [.global, kind])
        }
    }

    /// What both allow: on a way over several servers each of them counts.
    package func within(_ other: FetchScope) -> FetchScope {
        guard let kinds, let others = other.kinds else { return kinds == nil ? other : self }
        return FetchScope(kinds: kinds.intersection(others))
    }

    /// What either allows.
    package func joined(with other: FetchScope) -> FetchScope {
        guard let kinds, let others = other.kinds else { return .named }
        return FetchScope(kinds: kinds.union(others))
    }

    package func allows(_ address: SocketAddress) -> Bool { allows(address, of: AddressKind(address)) }

    /// The same for an address as text.
    package func allows(address: String) -> Bool {
        (try? SocketAddress(ipAddress: address, port: 0)).map { allows($0) } ?? (self == .named)
    }

    /// - Parameter kind: what the address counts as.
    package func allows(_ address: SocketAddress, of kind: AddressKind) -> Bool {
        guard let kinds else { return true }
        // Whoever connects to the unspecified address reaches the own machine.
        if let ip = IPAddress(address)?.unmapped, ip.isIPv4 ? ip.bytes.first == 0 : ip.bytes.allSatisfy({ $0 == 0 }) {
            return kinds.contains(.loopback)
        }
        return kinds.contains(kind)
    }

    /// Why none of the addresses of a place was connected to, as the end of a sentence.
    package static let refusal = "a server may lead only to public addresses and to those of its own kind"
}
