// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import NIOCore
import NIOPosix
import Synchronization
import TLSModel
import TLSProbe

/// Knows which addresses the proxy leads to: those of its scope, and never itself.
final class AddressGuardian: Sendable {
    /// What its clients may be led to.
    let scope: FetchScope
    private let own = Mutex<(port: Int, addresses: Set<IPAddress>)?>(nil)

    init(scope: FetchScope = .anyServer) { self.scope = scope }

    /// Remembers where the proxy itself listens.
    func listen(on address: SocketAddress) {
        guard let port = address.port, let listening = IPAddress(address) else { return }
        var addresses: Set<IPAddress> = [listening.unmapped]
        for device in (try? System.enumerateDevices()) ?? [] {
            if let local = device.address.flatMap({ IPAddress($0) }) { addresses.insert(local.unmapped) }
        }
        own.withLock { $0 = (port, addresses) }
    }

    /// Why the address must not be connected to; nil if it may.
    func refusal(of address: SocketAddress) -> String? {
        guard let ip = IPAddress(address)?.unmapped else { return "the address cannot be read" }
        let isOwn = own.withLock { own in
            guard let own, own.port == address.port else { return false }
            return own.addresses.contains(ip) || AddressKind(ip) == .loopback || ip.bytes.allSatisfy { $0 == 0 }
        }
        if isOwn { return "the address is the proxy itself" }
        let isUnspecified = ip.bytes.allSatisfy { $0 == 0 }
        if scope.allows(address), !isUnspecified { return nil }
        switch AddressKind(ip) {
        case .linkLocal: return "link-local addresses are blocked"
        case .metadata: return "the address is a metadata service"
        case .loopback: return "clients on other machines are not led to services of this one"
        case .privateNetwork: return "the address is private; --allow-private lets clients on other machines go there"
        case .special, .global: return "the address is reserved"
        }
    }
}
