// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel
import Vocabulary

/// Lets only so many checks at once go to one address, and to one network: /24 of IPv4, /64 of IPv6.
///
/// The rest waits for a place in the order of coming. A place is free again when the check that has it ends, which its own deadline makes
/// sure of; and no more wait than checks are in flight.
package final class PoliteGate: Sendable {
    /// How many checks may be under way at once.
    package struct Limits: Sendable, Equatable {
        package var address: Int
        package var network: Int

        package init(address: Int, network: Int) {
            self.address = max(1, address)
            self.network = max(1, network)
        }
    }

    private let limits: Limits
    /// By the bytes of an address, or of the network part of one.
    let places = Places<[UInt8]>()

    package init(_ limits: Limits) { self.limits = limits }

    /// Runs the body when the address and its network have a place.
    package func run<Value: Sendable>(_ address: IPAddress, _ body: () async -> Value) async throws -> Value {
        let network = Array(address.bytes.prefix(address.isIPv4 ? 3 : 8))
        try await places.take(network, of: limits.network)
        defer { places.leave(network) }
        try await places.take(address.bytes, of: limits.address)
        defer { places.leave(address.bytes) }
        return await body()
    }
}
