// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import NIOCore
import NIOPosix
import Synchronization
import TLSFacts
import TLSProbe

/// Knows which addresses the proxy never leads to: itself, and those where machines keep secrets for themselves.
final class AddressGuardian: Sendable {
    private let own = Mutex<(port: Int, addresses: Set<IPAddress>)?>(nil)

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
        switch AddressKind(ip) {
        case .linkLocal: return "link-local addresses are blocked"
        case .metadata: return "the address is a metadata service"
        case .special: return "the address is reserved"
        case .loopback, .privateNetwork, .global: return nil
        }
    }
}
