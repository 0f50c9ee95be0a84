// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Values that were found out once and may be used again: at most `capacity` of them.
///
/// If it is full, the stale ones leave first, then the one that was kept first. Safe to use from several tasks at once; no lock is held
/// while a value is made.
package final class BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// How a cache was used so far.
    package struct Use: Sendable, Equatable {
        /// How often it was asked.
        package var asked = 0
        /// How often it had the value.
        package var found = 0
        /// How many values had to leave for others.
        package var dropped = 0

        package init() {}
    }

    private struct State {
        var kept: [Key: Value] = [:]
        /// The keys in the order of their coming, as a ring.
        var order: [Key] = []
        /// The place in `order` of the key that came first.
        var first = 0
        var use = Use()

        mutating func remove(where isGone: (Key, Value) -> Bool) {
            var remaining: [Key] = []
            remaining.reserveCapacity(order.count)
            for key in order[first...] + order[..<first] {
                guard let value = kept[key] else { continue }
                if isGone(key, value) { kept[key] = nil } else { remaining.append(key) }
            }
            order = remaining
            first = 0
        }
    }

    package let capacity: Int
    private let state = Mutex(State())

    /// - Parameter capacity: at least 1.
    package init(capacity: Int) { self.capacity = max(1, capacity) }

    package subscript(key: Key) -> Value? {
        state.withLock { state in
            state.use.asked += 1
            guard let value = state.kept[key] else { return nil }
            state.use.found += 1
            return value
        }
    }

    /// The value of a key: the one that is kept, or one that is made now. Nil and errors are not kept.
    package func value<Fault: Error>(for key: Key, make: () throws(Fault) -> Value?) throws(Fault) -> Value? {
        if let known = self[key] { return known }
        guard let made = try make() else { return nil }
        keep(made, for: key)
        return made
    }

    /// Keeps a value in place of an earlier one of its key.
    ///
    /// - Parameter isStale: which values may leave, asked only if the cache is full.
    package func keep(_ value: Value, for key: Key, isStale: ((Value) -> Bool)? = nil) {
        state.withLock { state in
            guard state.kept.updateValue(value, forKey: key) == nil else { return }
            if let isStale, state.order.count >= capacity {
                let before = state.order.count
                state.remove { other, value in other != key && isStale(value) }
                state.use.dropped += before - state.order.count
            }
            guard state.order.count >= capacity else {
                // Room in a ring that has begun to turn is made by `remove` alone, which straightens it.
                state.order.append(key)
                return
            }
            state.kept[state.order[state.first]] = nil
            state.order[state.first] = key
            state.first = (state.first + 1) % capacity
            state.use.dropped += 1
        }
    }

    package func forget(_ key: Key) { state.withLock { $0.remove { other, _ in other == key } } }

    /// Forgets all values that are like this.
    package func forget(where isGone: (Value) -> Bool) { state.withLock { $0.remove { _, value in isGone(value) } } }

    /// How many values are kept now.
    package var count: Int { state.withLock { $0.kept.count } }

    package var use: Use { state.withLock { $0.use } }
}
