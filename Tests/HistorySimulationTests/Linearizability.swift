// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// One request to the service with the time in which it took its effect, if it did.
struct Interval<Entry: Sendable>: Sendable {
    /// When it was asked, as a number in the history.
    let invoked: Int
    /// When it was answered; nil where no answer came: its effect may come at any time, or never.
    let returned: Int?
    let entry: Entry
}

/// What a checker finds.
enum Linearizability: Sendable, Equatable {
    /// There is an order of single steps that explains every answer.
    case linearizable
    /// There is none.
    case violated
    /// The search would have become too large.
    case undecided
}

/// Which requests took effect, and what they left.
private struct Point<State: Hashable>: Hashable {
    let taken: UInt128
    let state: State
}

extension Linearizability {
    /// The most pairs of a set of steps and a state that are looked at.
    static let searchLimit = 50_000

    /// Looks for an order of steps that explains every answer and keeps the order of those that did not overlap.
    ///
    /// The search of Wing and Gong (Testing and Verifying Concurrent Objects, 1993) with Lowe's memory of what was seen: from a set of
    /// requests that took effect and the state that they left, any request may be next that was asked before another one, which is not
    /// in the set, was answered. A request without an answer may be left out.
    ///
    /// - Parameter step: the states that a request can leave, given its answer; none where the answer is impossible in that state.
    static func check<State: Hashable, Entry>(
        _ intervals: [Interval<Entry>], from initial: State, step: (State, Entry) -> [State]
    ) -> Linearizability {
        guard intervals.count <= 128 else { return .undecided }
        var answered: UInt128 = 0
        for (index, interval) in intervals.enumerated() where interval.returned != nil {
            answered |= 1 << UInt128(index)
        }
        var stack = [Point(taken: 0, state: initial)]
        var seen = Set(stack)
        while let point = stack.popLast() {
            if point.taken & answered == answered { return .linearizable }
            guard seen.count <= searchLimit else { return .undecided }
            var edge = Int.max
            for (index, interval) in intervals.enumerated() where point.taken & 1 << UInt128(index) == 0 {
                edge = min(edge, interval.returned ?? .max)
            }
            for (index, interval) in intervals.enumerated() where point.taken & 1 << UInt128(index) == 0 {
                guard interval.invoked < edge else { continue }
                for state in step(point.state, interval.entry) {
                    // A request without an answer that changes nothing is the same as one that is left out.
                    if interval.returned == nil, state == point.state { continue }
                    let next = Point(taken: point.taken | 1 << UInt128(index), state: state)
                    if seen.insert(next).inserted { stack.append(next) }
                }
            }
        }
        return .violated
    }
}
