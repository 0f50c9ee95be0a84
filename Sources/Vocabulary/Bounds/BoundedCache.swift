// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Values that were found out once and may be used again: at most `capacity` of them, and if there are more the one that came first leaves.
///
/// Safe to use from several tasks at once; no lock is held while a value is made.
package final class BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var kept: [Key: Value] = [:]
        /// The keys in the order of their coming, as a ring.
        var order: [Key] = []
        /// The place in `order` of the key that came first.
        var first = 0
        var asked = 0
    }

    package let capacity: Int
    private let state = Mutex(State())

    package init(capacity: Int) { self.capacity = max(1, capacity) }

    package subscript(key: Key) -> Value? {
        state.withLock { state in
            state.asked += 1
            return state.kept[key]
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
    package func keep(_ value: Value, for key: Key) {
        state.withLock { state in
            guard state.kept.updateValue(value, forKey: key) == nil else { return }
            guard state.order.count >= capacity else {
                // Room in a ring that has begun to turn is made by `forget` alone, which straightens it.
                state.order.append(key)
                return
            }
            state.kept[state.order[state.first]] = nil
            state.order[state.first] = key
            state.first = (state.first + 1) % capacity
        }
    }

    package func forget(_ key: Key) {
        state.withLock { state in
            guard state.kept.removeValue(forKey: key) != nil else { return }
            state.order = (state.order[state.first...] + state.order[..<state.first]).filter { $0 != key }
            state.first = 0
        }
    }

    package var count: Int { state.withLock { $0.kept.count } }

    /// How often it was asked for a value.
    package var asked: Int { state.withLock { $0.asked } }
}
