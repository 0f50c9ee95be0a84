// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// First in, first out, both in constant time however long the line is. The caller bounds it.
package struct WaitingLine<Element> {
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    @inlinable package init() {}

    @inlinable package var count: Int { elements.count - head }
    @inlinable package var isEmpty: Bool { count == 0 }
    @inlinable package var first: Element? { isEmpty ? nil : elements[head] }

    @inlinable package mutating func append(_ element: Element) { elements.append(element) }

    /// Takes out those for which `isGone` holds; as long as the line.
    package mutating func removeAll(where isGone: (Element) -> Bool) {
        elements = elements[head...].filter { $0.map { !isGone($0) } ?? false }
        head = 0
    }

    /// Takes up to `limit` elements from the front.
    @inlinable package mutating func take(upTo limit: Int) -> [Element] {
        let end = head + min(max(0, limit), count)
        let taken = elements[head..<end].compactMap { $0 }
        for index in head..<end { elements[index] = nil }
        head = end
        // Moving what is left costs no more than what was taken since the last time.
        if head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return taken
    }
}
