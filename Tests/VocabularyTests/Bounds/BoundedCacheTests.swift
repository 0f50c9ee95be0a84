// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Vocabulary

/// At most so many values, whatever comes; the oldest leave.
@Suite struct BoundedCacheTests {
    @Test(arguments: [1, 2, 7, 64]) func neverMoreThanItsCapacity(_ capacity: Int) {
        let cache = BoundedCache<Int, Int>(capacity: capacity)
        for key in 0..<300 {
            cache.keep(key * 2, for: key)
            #expect(cache.count == min(key + 1, capacity))
        }
        // The newest are those that stayed.
        for key in 0..<300 { #expect(cache[key] == (key < 300 - capacity ? nil : key * 2)) }
        #expect(cache.asked == 300)
    }

    /// The order survives forgetting and keeping again, in a ring that has turned.
    @Test func forgottenKeysMakeRoom() {
        let cache = BoundedCache<Int, String>(capacity: 3)
        for key in 1...5 { cache.keep("\(key)", for: key) }
        cache.forget(4)
        cache.keep("6", for: 6)
        #expect([3, 4, 5, 6].map { cache[$0] } == ["3", nil, "5", "6"])
        cache.keep("7", for: 7)
        #expect([3, 5, 6, 7].map { cache[$0] } == [nil, "5", "6", "7"])
        for key in [5, 6, 7] { cache.forget(key) }
        #expect(cache.count == 0)
        cache.keep("8", for: 8)
        #expect(cache[8] == "8")
    }

    @Test func aKeyIsKeptOnceWithItsLastValue() {
        let cache = BoundedCache<Int, Int>(capacity: 2)
        for value in 0..<10 { cache.keep(value, for: 1) }
        cache.keep(0, for: 2)
        #expect(cache[1] == 9)
        #expect(cache.count == 2)
    }

    @Test func whatCannotBeMadeIsNotKept() throws {
        struct Fault: Error {}
        let cache = BoundedCache<Int, Int>(capacity: 3)
        var made = 0
        for _ in 0..<2 {
            #expect(
                cache.value(for: 1) {
                    made += 1
                    return nil
                } == nil
            )
        }
        #expect(made == 2)
        #expect(throws: Fault.self) { try cache.value(for: 1) { () throws(Fault) -> Int? in throw Fault() } }
        #expect(cache.value(for: 1) { 7 } == 7)
        #expect(cache.value(for: 1) { 8 } == 7)
    }

    @Test func manyTasksAtOnce() async {
        let cache = BoundedCache<Int, Int>(capacity: 16)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for key in 0..<2000 {
                        if let value = cache[key] { #expect(value == key) } else { cache.keep(key, for: key) }
                        if key % 97 == task { cache.forget(key) }
                    }
                }
            }
        }
        #expect(cache.count <= 16)
    }
}
