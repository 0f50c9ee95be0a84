// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Foundation
import Testing
import TrustStoreContract

@testable import TrustStores

@Suite struct ChallengeCodecTests {
    let codec = ChallengeCodec(secret: [UInt8](repeating: 7, count: 32))
    let random = [UInt8](1...16)
    let expiry = Sample.now + 300

    func issue(_ binding: ChallengeBinding) throws -> [UInt8] {
        try #require(codec).issue(for: binding, expiresAt: expiry, random: random)
    }

    func read(_ bytes: [UInt8], _ binding: ChallengeBinding, at instant: Date = Sample.now) throws -> ChallengeReading {
        try #require(codec).read(bytes, for: binding, at: instant)
    }

    static let key = Sample.keyId()
    static let plain = ChallengeBinding(purpose: .attest, app: "app")

    @Test("a challenge is short, and names what is spent")
    func shape() throws {
        let bytes = try issue(Self.plain)
        #expect(bytes.count == ChallengeCodec.length && bytes.count <= 64)
        #expect(try read(bytes, Self.plain) == .success(SpendableChallenge(id: random, expiresAt: expiry)))
    }

    struct Use: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let issued: ChallengeBinding
        let presented: ChallengeBinding
        let refusal: ChallengeRefusal?
    }

    static let uses: [Use] = [
        Use(testDescription: "same", issued: plain, presented: plain, refusal: nil),
        Use(
            testDescription: "another app", issued: plain, presented: .init(purpose: .attest, app: "other"),
            refusal: .binding),
        Use(
            testDescription: "another purpose", issued: plain, presented: .init(purpose: .assert, app: "app"),
            refusal: .binding),
        Use(
            testDescription: "any key", issued: plain, presented: .init(purpose: .attest, app: "app", keyId: key),
            refusal: nil),
        Use(
            testDescription: "its key", issued: .init(purpose: .assert, app: "app", keyId: key),
            presented: .init(purpose: .assert, app: "app", keyId: key), refusal: nil),
        Use(
            testDescription: "another key", issued: .init(purpose: .assert, app: "app", keyId: key),
            presented: .init(purpose: .assert, app: "app", keyId: Sample.keyId()), refusal: .binding),
        Use(
            testDescription: "no key where one is bound", issued: .init(purpose: .assert, app: "app", keyId: key),
            presented: .init(purpose: .assert, app: "app"), refusal: .binding),
        Use(
            testDescription: "its user", issued: .init(purpose: .attest, app: "app", user: "ann"),
            presented: .init(purpose: .attest, app: "app", user: "ann"), refusal: nil),
        Use(
            testDescription: "another user", issued: .init(purpose: .attest, app: "app", user: "ann"),
            presented: .init(purpose: .attest, app: "app", user: "bob"), refusal: .binding),
        Use(
            testDescription: "a user who stole an anonymous challenge", issued: plain,
            presented: .init(purpose: .attest, app: "app", user: "bob"), refusal: .binding),
        Use(
            testDescription: "nobody with a user's challenge", issued: .init(purpose: .attest, app: "app", user: "ann"),
            presented: plain, refusal: .binding),
        Use(
            testDescription: "an assertion of a user with an anonymous challenge",
            issued: .init(purpose: .assert, app: "app"), presented: .init(purpose: .assert, app: "app", user: "ann"),
            refusal: nil),
        Use(
            testDescription: "app and user run together", issued: .init(purpose: .attest, app: "app", user: "x"),
            presented: .init(purpose: .attest, app: "appx", user: ""), refusal: .binding),
    ]

    @Test("a challenge serves what it was issued for", arguments: uses)
    func binding(_ use: Use) throws {
        let reading = try read(try issue(use.issued), use.presented)
        if let refusal = use.refusal {
            #expect(reading == .failure(refusal))
        } else {
            guard case .success = reading else { return #expect(reading == .failure(.unknown), "should be valid") }
        }
    }

    @Test("every single bit counts, every length but one is unknown")
    func forgery() throws {
        let bytes = try issue(Self.plain)
        for bit in 0..<bytes.count * 8 {
            var forged = bytes
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try read(forged, Self.plain) == .failure(.unknown))
        }
        for length in 0..<bytes.count {
            #expect(try read(Array(bytes.prefix(length)), Self.plain) == .failure(.unknown))
        }
        #expect(try read(bytes + [0], Self.plain) == .failure(.unknown))
    }

    @Test("another store's challenge is unknown")
    func otherStore() throws {
        let other = try #require(ChallengeCodec(secret: [UInt8](repeating: 8, count: 32)))
        let bytes = other.issue(for: Self.plain, expiresAt: expiry, random: random)
        #expect(try read(bytes, Self.plain) == .failure(.unknown))
        #expect(ChallengeCodec(secret: [1, 2, 3]) == nil)
    }

    @Test("the last millisecond is good, the next is not")
    func edge() throws {
        let bytes = try issue(Self.plain)
        #expect(try read(bytes, Self.plain, at: expiry - 0.001) != .failure(.expired))
        #expect(try read(bytes, Self.plain, at: expiry) == .failure(.expired))
        #expect(try read(bytes, Self.plain, at: .distantFuture) == .failure(.expired))
    }

    @Test("nothing of app, key or user can be read from a challenge")
    func opaque() throws {
        let bytes = try issue(.init(purpose: .assert, app: "app", keyId: Self.key, user: "ann"))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(!text.contains("app") && !text.contains("ann"))
        #expect(!bytes.indices.contains { bytes[$0...].starts(with: Self.key.bytes.prefix(8)) })
    }

    @Test("the codec's key is the store's: all that open the store read each other's challenges")
    func shared() async throws {
        let store = Store.inMemory()
        let first = try await ChallengeCodec(store: store, candidate: Sample.bytes(32), at: Sample.now)
        let second = try await ChallengeCodec(store: store, candidate: Sample.bytes(32), at: Sample.now)
        let bytes = first.issue(for: Self.plain, expiresAt: expiry, random: random)
        guard case .success = second.read(bytes, for: Self.plain, at: Sample.now) else {
            return #expect(Bool(false), "the second node does not know the first one's challenge")
        }
    }

    @Test(
        "after a rotation every node signs with the old key until the new one's time, and the old one is read until its end"
    )
    func rotation() async throws {
        let store = Store.inMemory()
        let early = try await ChallengeCodec(store: store, candidate: Sample.bytes(32), at: Sample.now)
        let old = early.issue(for: Self.plain, expiresAt: Sample.now + 300, random: random)
        let rotation = ChallengeKeyRotation(
            secret: Sample.bytes(32), signsFrom: Sample.now + 30, acceptsOldUntil: Sample.now + 400)
        #expect(try await store.rotateChallengeKey(rotation, at: Sample.now) == .rotated(generation: 2))
        func codec(_ instant: Date) async throws -> ChallengeCodec {
            try await ChallengeCodec(store: store, candidate: [], at: instant)
        }
        func isValid(_ bytes: [UInt8], _ codec: ChallengeCodec, _ instant: Date) -> Bool {
            if case .success = codec.read(bytes, for: Self.plain, at: instant) { true } else { false }
        }
        // Before its time the new key signs nothing, so a node that has not noticed yet reads everything.
        let waiting = try await codec(Sample.now + 29)
        let before = waiting.issue(for: Self.plain, expiresAt: Sample.now + 300, random: random)
        #expect(isValid(before, early, Sample.now + 29) && isValid(before, waiting, Sample.now + 29))
        let after = try await codec(Sample.now + 30)
        let new = after.issue(for: Self.plain, expiresAt: Sample.now + 900, random: random)
        #expect(isValid(new, after, Sample.now + 30) && isValid(new, waiting, Sample.now + 30))
        #expect(!isValid(new, early, Sample.now + 30))
        #expect(isValid(old, after, Sample.now + 299))
        let long = early.issue(for: Self.plain, expiresAt: Sample.now + 900, random: random)
        #expect(isValid(long, after, Sample.now + 399))
        #expect(after.read(long, for: Self.plain, at: Sample.now + 400) == .failure(.unknown))
        #expect(isValid(new, after, Sample.now + 500))
    }
}

extension ChallengeCodec {
    /// Uses one secret for good.
    fileprivate init?(secret: [UInt8]) {
        let key = ChallengeKey(generation: 1, secret: secret, signsFrom: StoreTime.date(0), acceptedUntil: nil)
        self.init(keys: [key], at: StoreTime.date(0))
    }
}
