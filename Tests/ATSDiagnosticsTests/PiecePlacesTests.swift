// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ATSDiagnostics

@Suite struct PiecePlacesTests {
    @Test func whatIsKeptIsTakenOnce() {
        var places = PiecePlaces(limit: 3)
        func keep(_ place: PieceFile.Place, at number: Int) -> Bool { places.keep(place, at: number) }
        func take(at number: Int) -> PieceFile.Place? { places.take(at: number) }
        #expect(take(at: 0) == nil)
        let far = PieceFile.Place(offset: 1 << 40, count: 7)
        #expect(keep(far, at: 2))
        #expect(keep(.empty, at: 0))
        #expect(places.count == 2)
        #expect(take(at: 2) == far)
        #expect(take(at: 2) == nil)
        #expect(take(at: 0) == .empty)
        #expect(places.count == 0)
    }

    /// Any order, far apart and close together, as often as one likes.
    @Test func numbersOfAListOfAnyLengthAreToldApart() {
        var places = PiecePlaces(limit: 1_000_000)
        func place(_ number: Int) -> PieceFile.Place { PieceFile.Place(offset: number << 12, count: number % 9000) }
        func keep(_ number: Int) -> Bool { places.keep(place(number), at: number) }
        func take(_ number: Int) -> PieceFile.Place? { places.take(at: number) }
        let numbers = Array(stride(from: 999_999, through: 0, by: -1_237)) + [4095, 4096, 8191, 8192]
        for _ in 0..<2 {
            #expect(numbers.allSatisfy(keep))
            #expect(!numbers.contains(where: keep))
            #expect(places.count == numbers.count)
            #expect(take(1) == nil && take(-4096) == nil && take(.min) == nil && take(.max) == nil)
            #expect(numbers.shuffled().allSatisfy { take($0) == place($0) })
            #expect(places.count == 0 && take(4096) == nil)
        }
    }

    @Test func whatHasNoPlaceIsNotKept() {
        var places = PiecePlaces(limit: 2)
        func keep(_ place: PieceFile.Place, at number: Int) -> Bool { places.keep(place, at: number) }
        func take(at number: Int) -> PieceFile.Place? { places.take(at: number) }
        #expect(!keep(.empty, at: 2))
        #expect(!keep(.empty, at: -1))
        #expect(!keep(PieceFile.Place(offset: 0, count: Int(UInt32.max)), at: 0))
        #expect(keep(PieceFile.Place(offset: 0, count: Int(UInt32.max) - 1), at: 0))
        #expect(!keep(.empty, at: 0), "a number has one piece")
        #expect(take(at: 5) == nil)
        #expect(places.count == 1)
    }
}
