// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ATSDiagnostics

@Suite struct PiecePlacesTests {
    @Test func whatIsKeptIsTakenOnce() {
        var places = PiecePlaces(limit: 3)
        #expect(places.take(at: 0) == nil)
        let far = PieceFile.Place(offset: 1 << 40, count: 7)
        #expect(places.keep(far, at: 2))
        #expect(places.keep(.empty, at: 0))
        #expect(places.count == 2)
        #expect(places.take(at: 2) == far)
        #expect(places.take(at: 2) == nil)
        #expect(places.take(at: 0) == .empty)
        #expect(places.count == 0)
    }

    @Test func whatHasNoPlaceIsNotKept() {
        var places = PiecePlaces(limit: 2)
        #expect(!places.keep(.empty, at: 2))
        #expect(!places.keep(.empty, at: -1))
        #expect(!places.keep(PieceFile.Place(offset: 0, count: Int(UInt32.max)), at: 0))
        #expect(places.keep(PieceFile.Place(offset: 0, count: Int(UInt32.max) - 1), at: 0))
        #expect(!places.keep(.empty, at: 0), "a number has one piece")
        #expect(places.take(at: 5) == nil)
        #expect(places.count == 1)
    }
}
