// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing
import Vocabulary

@testable import AppAttest
@testable import DeviceSimulator

/// Intermediates are verified once and remembered until they expire, and never more of them than was said.
@Suite struct RememberedAuthoritiesTests {
    /// A root that signs as many intermediates as one likes, each for as long as one likes.
    struct Root {
        let key = SimulatorKey.p384(P384.Signing.PrivateKey())
        let name = SimulatedAuthority.name("SIMULATED root of many")
        let start = Date(timeIntervalSince1970: 1_795_262_400)

        private func recipe(_ subject: [UInt8], _ serial: Int, _ key: SimulatorKey, days: Double) -> CertificateRecipe {
            CertificateRecipe(
                serialNumber: [1, UInt8(serial >> 8 & 0xFF), UInt8(serial & 0xFF)], issuer: name, subject: subject,
                notBefore: start, notAfter: start.addingTimeInterval(days * 86_400), keyInfo: key.keyInfo,
                extensions: [.basicConstraints(authority: true, pathLength: 0), .keyUsage(0x06)], usesSHA384: true)
        }

        var anchors: TrustAnchors {
            get throws {
                var own = recipe(name, 0, key, days: 1000)
                own.extensions = [.basicConstraints(authority: true), .keyUsage(0x06)]
                return try TrustAnchors(pem: SimulatedAuthority.pem(try own.signed(by: key)))
            }
        }

        func intermediate(_ number: Int, days: Double = 100) throws -> [UInt8] {
            let subject = SimulatedAuthority.name("SIMULATED intermediate \(number)")
            return try recipe(subject, number, .p384(P384.Signing.PrivateKey()), days: days).signed(by: key)
        }

        func at(day: Double) -> Date { start.addingTimeInterval(day * 86_400) }
    }

    @Test(arguments: [1, 16])
    func manyIntermediatesTakeNoMoreRoomThanWasSaid(_ limit: Int) async throws {
        let root = Root()
        let chain = ChainVerifier(anchors: try root.anchors, rememberedLimit: limit)
        var last: [[UInt8]] = []
        for number in 1...60 {
            let der = try root.intermediate(number)
            _ = try await chain.authority(der[...], at: root.at(day: 1))
            #expect(chain.remembered.count == min(number, limit))
            last = (last + [der]).suffix(limit)
        }
        // The newest are those that stayed.
        for der in last { #expect(chain.remembered[SHA256.hash(data: der)] != nil) }
    }

    @Test func theSameIntermediateIsRememberedOnce() async throws {
        let root = Root()
        let chain = ChainVerifier(anchors: try root.anchors, rememberedLimit: 4)
        let der = try root.intermediate(1)
        for _ in 0..<5 { _ = try await chain.authority(der[...], at: root.at(day: 1)) }
        // Asked for by many at once before anybody remembered it.
        let other = try root.intermediate(2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { _ = try await chain.authority(other[...], at: root.at(day: 1)) } }
            try await group.waitForAll()
        }
        #expect(chain.remembered.count == 2)
    }

    @Test func whatExpiredIsDropped() async throws {
        let root = Root()
        let chain = ChainVerifier(anchors: try root.anchors, rememberedLimit: 4)
        let short = try root.intermediate(1, days: 10)
        let long = try root.intermediate(2, days: 100)
        for der in [short, long] { _ = try await chain.authority(der[...], at: root.at(day: 1)) }
        #expect(chain.remembered.count == 2)
        // Its last moment belongs to it.
        _ = try await chain.authority(short[...], at: root.at(day: 10))
        #expect(chain.remembered.count == 2)
        // A second later it is known still, so that the refusal can say that it expired, and forgotten with that.
        let late = root.at(day: 10).addingTimeInterval(1)
        let authority = try await chain.authority(short[...], at: late)
        #expect(authority.notAfter == root.at(day: 10))
        #expect(chain.remembered.count == 1)
        #expect(chain.remembered[SHA256.hash(data: short)] == nil)
        // Shown again it is verified again and not remembered.
        _ = try await chain.authority(short[...], at: late)
        #expect(chain.remembered.count == 1)
        #expect(chain.remembered[SHA256.hash(data: long)] != nil)
    }

    /// What no root signed, what is not valid and what is no authority never takes room.
    @Test func strangersAreNotRemembered() async throws {
        let root = Root()
        let chain = ChainVerifier(anchors: try root.anchors, rememberedLimit: 4)
        let stranger = try Root().intermediate(1)
        var flipped = try root.intermediate(2)
        flipped[flipped.count - 1] ^= 1
        for der in [stranger, flipped, [], [0x30, 0x00]] {
            await #expect(throws: ChainFault.self) { try await chain.authority(der[...], at: root.at(day: 1)) }
        }
        _ = try? await chain.authority(try root.intermediate(3)[...], at: root.at(day: -1))
        _ = try? await chain.authority(try root.intermediate(4)[...], at: root.at(day: 101))
        #expect(chain.remembered.count == 0)
    }
}
