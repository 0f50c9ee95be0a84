// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TLSModel

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

    /// A place that is counted: bytes of an address, or of the network part of one.
    private typealias Place = [UInt8]

    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var counts: [Place: Int] = [:]
        var waiting: [Place: [Waiter]] = [:]
        var nextNumber: UInt64 = 0
    }

    private let limits: Limits
    private let state = Mutex(State())

    package init(_ limits: Limits) { self.limits = limits }

    /// Runs the body when the address and its network have a place.
    package func run<Value: Sendable>(_ address: IPAddress, _ body: () async -> Value) async throws -> Value {
        let network = Array(address.bytes.prefix(address.isIPv4 ? 3 : 8))
        try await enter(network, limits.network)
        defer { leave(network) }
        try await enter(address.bytes, limits.address)
        defer { leave(address.bytes) }
        return await body()
    }

    /// How many checks are under way or wait, for tests.
    package var isIdle: Bool { state.withLock { $0.counts.isEmpty && $0.waiting.isEmpty } }

    /// - Throws: `CancellationError` if the task is cancelled while it waits.
    private func enter(_ place: Place, _ limit: Int) async throws {
        let number = state.withLock { state in
            state.nextNumber &+= 1
            return state.nextNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    let count = state.counts[place, default: 0]
                    guard count >= limit else {
                        state.counts[place] = count + 1
                        return .success(())
                    }
                    state.waiting[place, default: []].append(Waiter(number: number, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let index = state.waiting[place]?.firstIndex(where: { $0.number == number }) else { return nil }
                defer { if state.waiting[place]?.isEmpty == true { state.waiting[place] = nil } }
                return state.waiting[place]?.remove(at: index)
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Gives the place to who waits longest, or frees it.
    private func leave(_ place: Place) {
        let next = state.withLock { state -> Waiter? in
            if var waiters = state.waiting[place], !waiters.isEmpty {
                let next = waiters.removeFirst()
                state.waiting[place] = waiters.isEmpty ? nil : waiters
                return next
            }
            let count = state.counts[place, default: 1] - 1
            state.counts[place] = count > 0 ? count : nil
            return nil
        }
        next?.continuation.resume()
    }
}
