// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Logging
package import NIOCore
import Synchronization
package import TLSModel

/// Decides which connections a server keeps: a cap on all, and one on those of one address.
///
/// What is over a cap is closed before anything is read from it. An address is an IPv4 address or an IPv6 network of 64 bits, because a
/// network of that size is given to one customer (RFC 6177). While all places are taken, a newcomer gets that of the connection which has
/// waited longest for its client, among those of the address with most (``Place``). The tables have at most one entry for each open connection.
/// Several listeners can share one admission; each gets a gate of its own.
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

    /// A connection that can lose its place to another one while it waits for its client.
    package final class Place: Sendable {
        fileprivate let channel: any Channel
        /// Since when it waits, in nanoseconds of `NIODeadline`; 0 while it does not.
        fileprivate let waitingSince = Atomic<UInt64>(0)

        fileprivate init(_ channel: any Channel) { self.channel = channel }

        /// Notes that the connection waits for its client from now on, or does so no more.
        package func isWaiting(_ isWaiting: Bool) {
            waitingSince.store(isWaiting ? NIODeadline.now().uptimeNanoseconds : 0, ordering: .relaxed)
        }
    }

    /// How often connections were turned away, and why.
    package struct Refusals: Sendable, Equatable {
        /// Closed because there were ``Limits/total``.
        package var full = 0
        /// Closed because their address had ``Limits/perAddress``.
        package var addressFull = 0
        /// The system had no descriptor or memory for another connection (EMFILE, ENFILE, ENOBUFS, ENOMEM), so that none was accepted for
        /// 100 ms.
        package var exhausted = 0
        /// Closed while they waited for their client, because another connection needed the place.
        package var replaced = 0

        package init() {}

        package var isEmpty: Bool { self == Refusals() }
    }

    package let limits: Limits
    private let onRefusals: @Sendable (Refusals) -> Void
    private let onOpen: @Sendable (Int) -> Void
    private let state = Mutex(State())

    private struct State {
        var open = 0
        var addresses: [IPAddress: Int] = [:]
        var places: [IPAddress: [ObjectIdentifier: Place]] = [:]
        /// Those that make room next, the first one last. One look at all connections serves many newcomers, so that a flood of them is not
        /// kept out by looking.
        private var next: [Waiting] = []
        /// After a look that found nothing.
        private var looksAgainAt = NIODeadline.uptimeNanoseconds(0)
        var refused = Refusals()
        var unreported = Refusals()
        var isReporting = false

        mutating func forget(_ key: IPAddress?, _ channel: ObjectIdentifier?) {
            if let key {
                if let channel {
                    guard places[key]?.removeValue(forKey: channel) != nil else { return }
                    if places[key]?.isEmpty == true { places[key] = nil }
                }
                if let count = addresses[key] { addresses[key] = count > 1 ? count - 1 : nil }
            }
            open = max(0, open - 1)
        }

        /// Forgets the connection that has waited longest, of the addresses with most connections; nil if none of theirs waits.
        mutating func takeLongestWaiting() -> (any Channel)? {
            if let channel = takeNext() { return channel }
            let now = NIODeadline.now()
            guard now >= looksAgainAt else { return nil }
            next = longestWaiting()
            if next.isEmpty { looksAgainAt = now + .microseconds(10 * Int64(open)) }
            return takeNext()
        }

        private mutating func takeNext() -> (any Channel)? {
            while let (key, channel, since, rank) = next.popLast() {
                // It may have ended or been served meanwhile, or its address may have fewer connections.
                guard let place = places[key]?[channel], place.waitingSince.load(ordering: .relaxed) == since,
                    addresses[key, default: 0] >= rank
                else { continue }
                forget(key, channel)
                return place.channel
            }
            return nil
        }

        /// A sixteenth of the connections that make room, those first that come last here: always the one that has waited longest of the
        /// addresses with most, which then have one less.
        private func longestWaiting() -> [Waiting] {
            var (found, busiest): ([Waiting], Int) = ([], 0)
            for (key, places) in places {
                let count = addresses[key, default: 0]
                let waiting = places.map { (channel: $0, since: $1.waitingSince.load(ordering: .relaxed)) }
                    .filter { $0.since > 0 }.sorted { $0.since < $1.since }
                busiest = max(busiest, count - waiting.count)
                for (index, one) in waiting.enumerated() { found.append((key, one.channel, one.since, count - index)) }
            }
            found.removeAll { $0.rank < busiest }
            found.sort { ($0.rank, $1.since) < ($1.rank, $0.since) }
            return found.suffix(max(1, found.count / 16))
        }
    }

    /// A connection that may make room: its channel, since when it waits, and how many its address has while it is the one to do so.
    private typealias Waiting = (key: IPAddress, channel: ObjectIdentifier, since: UInt64, rank: Int)

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

    package var open: Int { state.withLock { $0.open } }

    /// How many addresses have open connections; exempt ones are not counted.
    package var addresses: Int { state.withLock { $0.addresses.count } }

    /// What was turned away since the start.
    package var refused: Refusals { state.withLock { $0.refused } }

    /// Puts a gate into the channel of a listener, before the handler that hands accepted connections to their loops; on its event loop.
    package func addGate(to listener: any Channel) throws {
        try listener.pipeline.syncOperations.addHandlers([AcceptGate.backoff(), AcceptGate(self)], position: .first)
    }

    /// Counts a new connection, if there is room or another one can be closed for it. `address` is nil for a socket of the file system, which
    /// has no cap of its own.
    package func admit(_ address: IPAddress?) -> Verdict {
        let (verdict, replaced) = admit(address, nil)
        replaced?.close(promise: nil)
        return verdict
    }

    /// Counts a new connection, if there is room or another one can be closed for it.
    ///
    /// - Parameter channel: the connection, which from then on has a ``Place``.
    /// - Returns: also the connection that lost its place, which the caller closes.
    func admit(_ address: IPAddress?, _ channel: (any Channel)?) -> (verdict: Verdict, replaced: (any Channel)?) {
        let key = key(of: address)
        let (verdict, replaced, open) = state.withLock { state -> (Verdict, (any Channel)?, Int) in
            let isFull = state.open >= limits.total
            if let key, state.addresses[key, default: 0] >= limits.perAddress {
                return (isFull ? .full : .addressFull, nil, state.open)
            }
            var replaced: (any Channel)?
            if isFull {
                replaced = state.takeLongestWaiting()
                if replaced == nil { return (.full, nil, state.open) }
            }
            if let key {
                state.addresses[key, default: 0] += 1
                if let channel { state.places[key, default: [:]][ObjectIdentifier(channel)] = Place(channel) }
            }
            state.open += 1
            return (.admitted, replaced, state.open)
        }
        if verdict == .admitted { onOpen(open) }
        return (verdict, replaced)
    }

    /// The place of a connection that a gate let in; nil for one without a cap of its address.
    package func place(of channel: any Channel) -> Place? {
        guard let key = key(of: channel.remoteAddress?.ipAddress.flatMap { IPAddress(scoped: $0) }) else { return nil }
        return state.withLock { $0.places[key]?[ObjectIdentifier(channel)] }
    }

    /// Forgets a connection that ``admit(_:)`` counted.
    ///
    /// - Parameter channel: as it was admitted with. If it lost its place it is forgotten already.
    package func release(_ address: IPAddress?, _ channel: ObjectIdentifier? = nil) {
        let key = key(of: address)
        let open = state.withLock { state in
            state.forget(key, channel)
            return state.open
        }
        onOpen(open)
    }

    /// Counts a connection that was closed, or not made, for want of room; the loop is for the report.
    package func refuse(_ verdict: Verdict, on loop: any EventLoop) {
        switch verdict {
        case .admitted: break
        case .full: note(\.full, on: loop)
        case .addressFull: note(\.addressFull, on: loop)
        }
    }

    /// Counts what was turned away, and reports it.
    func note(_ count: WritableKeyPath<Refusals, Int>, on loop: any EventLoop) {
        let due: Refusals? = state.withLock { state in
            state.refused[keyPath: count] += 1
            state.unreported[keyPath: count] += 1
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

extension Admission {
    /// Writes one line for each report of what was turned away.
    package static func logger(_ log: Logger) -> @Sendable (Refusals) -> Void {
        { refusals in
            log.warning(
                "Connections were turned away.",
                metadata: [
                    "full": "\(refusals.full)", "addressFull": "\(refusals.addressFull)",
                    "noDescriptors": "\(refusals.exhausted)", "replaced": "\(refusals.replaced)",
                ]
            )
        }
    }
}
