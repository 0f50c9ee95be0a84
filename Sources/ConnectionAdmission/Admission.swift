// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
import Synchronization
package import TLSFacts
import TLSProbe

/// Decides which connections a server keeps: a cap on all, and one on those of one address.
///
/// What is over a cap is closed before anything is read from it. An address is an IPv4 address or an IPv6 network of 64 bits, because a
/// network of that size is given to one customer (RFC 6177). The table has at most one entry for each open connection. Several listeners
/// can share one admission; each gets a ``gate()`` of its own.
package final class Admission: Sendable {
    /// How many connections may be open at a time.
    package struct Limits: Sendable, Equatable {
        /// Of all addresses together; at least 1.
        package var total: Int
        /// Of one IPv4 address or one IPv6 network of 64 bits; at least 1.
        package var perAddress: Int
        /// Addresses without a cap of their own, for example proxies in front of the server. They count in ``total``.
        package var exempt: [AddressRange]

        package init(total: Int, perAddress: Int, exempt: [AddressRange] = []) {
            self.total = max(1, total)
            self.perAddress = max(1, perAddress)
            self.exempt = exempt
        }
    }

    /// The answer about one new connection.
    package enum Verdict: Sendable, Equatable {
        /// It counts until ``Admission/release(_:)`` is called for its address.
        case admitted
        /// There are ``Limits/total`` already.
        case full
        /// Its address has ``Limits/perAddress`` already.
        case addressFull
    }

    /// How often connections were turned away, and why.
    package struct Refusals: Sendable, Equatable {
        /// Closed because there were ``Limits/total``.
        package var full = 0
        /// Closed because their address had ``Limits/perAddress``.
        package var addressFull = 0
        /// The system had no descriptor or memory for another connection (EMFILE, ENFILE, ENOBUFS, ENOMEM), so that none was accepted for
        /// ``AcceptGate/pause``.
        package var exhausted = 0

        package init() {}

        /// Whether nothing was turned away.
        package var isEmpty: Bool { self == Refusals() }

        fileprivate mutating func add(_ verdict: Verdict) {
            switch verdict {
            case .admitted: break
            case .full: full += 1
            case .addressFull: addressFull += 1
            }
        }
    }

    /// The caps.
    package let limits: Limits
    private let onRefusals: @Sendable (Refusals) -> Void
    private let onOpen: @Sendable (Int) -> Void
    private let state = Mutex(State())

    private struct State {
        var open = 0
        var addresses: [IPAddress: Int] = [:]
        var refused = Refusals()
        var unreported = Refusals()
        var isReporting = false
    }

    /// - Parameters:
    ///   - onOpen: called with the number of open connections after each change; must be quick.
    ///   - onRefusals: called with what was turned away since the last call, at once after a quiet second and then once a second. It is the
    ///     place for a log line and counters; ``logger(_:)`` makes one that writes the line.
    package init(
        limits: Limits, onOpen: @escaping @Sendable (Int) -> Void = { _ in },
        onRefusals: @escaping @Sendable (Refusals) -> Void
    ) {
        self.limits = limits
        self.onOpen = onOpen
        self.onRefusals = onRefusals
    }

    /// How many connections are open.
    package var open: Int { state.withLock { $0.open } }

    /// How many addresses have open connections; exempt ones are not counted.
    package var addresses: Int { state.withLock { $0.addresses.count } }

    /// What was turned away since the start.
    package var refused: Refusals { state.withLock { $0.refused } }

    /// The handler for the channel of a listener. It must come first, before the handler that hands accepted connections to their loops.
    package func gate() -> AcceptGate { AcceptGate(self) }

    /// Counts a new connection, if there is room. `address` is nil for a socket of the file system, which has no cap of its own.
    package func admit(_ address: IPAddress?) -> Verdict {
        let key = key(of: address)
        let (verdict, open) = state.withLock { state in
            if state.open >= limits.total { return (Verdict.full, state.open) }
            if let key {
                let count = state.addresses[key, default: 0]
                if count >= limits.perAddress { return (.addressFull, state.open) }
                state.addresses[key] = count + 1
            }
            state.open += 1
            return (.admitted, state.open)
        }
        if verdict == .admitted { onOpen(open) }
        return verdict
    }

    /// Forgets a connection that ``admit(_:)`` counted.
    package func release(_ address: IPAddress?) {
        let key = key(of: address)
        let open = state.withLock { state in
            state.open = max(0, state.open - 1)
            if let key, let count = state.addresses[key] { state.addresses[key] = count > 1 ? count - 1 : nil }
            return state.open
        }
        onOpen(open)
    }

    /// Counts a connection that was closed, or not made, for want of room; the loop is for the report.
    package func refuse(_ verdict: Verdict, on loop: any EventLoop) {
        note(on: loop) { $0.add(verdict) }
    }

    /// Counts that the system had no room for another connection.
    func noteExhausted(on loop: any EventLoop) {
        note(on: loop) { $0.exhausted += 1 }
    }

    private func note(on loop: any EventLoop, _ count: (inout Refusals) -> Void) {
        let due: Refusals? = state.withLock { state in
            count(&state.refused)
            count(&state.unreported)
            if state.isReporting { return nil }
            state.isReporting = true
            defer { state.unreported = Refusals() }
            return state.unreported
        }
        guard let due else { return }
        onRefusals(due)
        reportLater(on: loop)
    }

    private func reportLater(on loop: any EventLoop) {
        loop.scheduleTask(in: .seconds(1)) {
            let due: Refusals? = self.state.withLock { state in
                if state.unreported.isEmpty {
                    state.isReporting = false
                    return nil
                }
                defer { state.unreported = Refusals() }
                return state.unreported
            }
            guard let due else { return }
            self.onRefusals(due)
            self.reportLater(on: loop)
        }
    }

    /// The entry of the table for an address; nil if none is kept.
    private func key(of address: IPAddress?) -> IPAddress? {
        guard let address = address?.unmapped, !limits.exempt.contains(where: { $0.contains(address) }) else {
            return nil
        }
        return Admission.network(of: address)
    }

    /// What counts as one address: an IPv4 address, or an IPv6 network of 64 bits.
    package static func network(of address: IPAddress) -> IPAddress {
        let address = address.unmapped
        if address.isIPv4 { return address }
        return IPAddress(bytes: Array(address.bytes.prefix(8)) + [UInt8](repeating: 0, count: 8)) ?? address
    }
}
