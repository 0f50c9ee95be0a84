// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

/// The checker on histories of one register, whose verdicts are known.
@Suite struct LinearizabilityTests {
    enum Step { case write(Int), read(Int) }

    private func check(_ steps: [(Int, Int?, Step)]) -> Linearizability {
        .check(steps.map { Interval(invoked: $0.0, returned: $0.1, entry: $0.2) }, from: 0) { value, step in
            switch step {
            case .write(let new): [new]
            case .read(let seen): seen == value ? [value] : []
            }
        }
    }

    @Test func overlappingStepsMayComeInAnyOrder() {
        #expect(check([(0, 3, .write(1)), (1, 2, .read(0))]) == .linearizable)
        #expect(check([(0, 3, .write(1)), (1, 2, .read(1))]) == .linearizable)
    }

    @Test func whatEndedBeforeComesBefore() {
        #expect(check([(0, 1, .write(1)), (2, 3, .read(0))]) == .violated)
        #expect(check([(0, 5, .write(1)), (1, 2, .read(1)), (3, 4, .read(0))]) == .violated)
    }

    @Test func anAnswerThatIsMissingLeavesBothOpen() {
        #expect(check([(0, nil, .write(1)), (1, 2, .read(0)), (3, 4, .read(1))]) == .linearizable)
        #expect(check([(0, nil, .write(1)), (1, 2, .read(0)), (3, 4, .read(0))]) == .linearizable)
        #expect(check([(0, nil, .write(1)), (1, 2, .read(1)), (3, 4, .read(0))]) == .violated)
    }

    @Test func theSearchIsBounded() {
        // Forty writes at once, and a read that none of them explains.
        let writes = (0..<40).map { (0, Int?.some(100), Step.write($0)) }
        #expect(check(writes + [(0, 100, .read(-1))]) == .undecided)
        #expect(check((0..<129).map { (0, Int?.some(1), Step.write($0)) }) == .undecided)
    }
}
