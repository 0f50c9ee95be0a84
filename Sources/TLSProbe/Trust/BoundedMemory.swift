// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOConcurrencyHelpers

/// What was found out of bytes that the chains of many servers share. At most `capacity` values: when it is full, all are forgotten.
final class BoundedMemory<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let kept = NIOLockedValueBox<[Key: Value]>([:])
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    subscript(key: Key) -> Value? { kept.withLockedValue { $0[key] } }

    func keep(_ value: Value, for key: Key) {
        kept.withLockedValue { kept in
            if kept.count >= capacity { kept.removeAll(keepingCapacity: true) }
            kept[key] = value
        }
    }

    /// Values that are remembered now.
    var count: Int { kept.withLockedValue { $0.count } }
}
