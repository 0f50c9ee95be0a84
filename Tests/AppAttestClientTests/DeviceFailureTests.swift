// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttestClient
import DeviceSimulator
import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// `docs/dcerror.md` and what a session does are one table.
@Suite struct DeviceFailureTests {
    private static let page = BuiltProgram.repository.appendingPathComponent("docs/dcerror.md")

    @Test func thePageIsTheTable() throws {
        let lines = try String(contentsOf: Self.page, encoding: .utf8).split(separator: "\n").map(String.init)
        let rows = lines.filter { $0.hasPrefix("| `") }
        let expected = DeviceAdvice.table.map {
            "| `\($0.failure.name)` | \($0.attesting.rawValue) | \($0.asserting.rawValue) |"
        }
        #expect(rows == expected)
        #expect(Set(DeviceAdvice.table.map(\.failure)).count == 5)
    }

    private static func rows(_ action: DeviceAdvice.Action) -> [DeviceFailure] {
        DeviceAdvice.table.filter { $0.attesting == action }.map(\.failure)
    }

    private static func rows(asserting action: DeviceAdvice.Action) -> [DeviceFailure] {
        DeviceAdvice.table.filter { $0.asserting == action }.map(\.failure)
    }

    // MARK: While attesting

    @Test(arguments: rows(.sameKeyLater)) func theSameKeyAndHashWithGrowingPauses(_ failure: DeviceFailure) async throws
    {
        let clock = ManualClock()
        try await Site.with(clock: clock) { site in
            site.phone.fail(.attest, failure, failure, failure, failure)
            let session = site.launch()
            let keys = try await allAtOnce(100) { _ in try await session.attestedKey() }
            #expect(Set(keys).count == 1 && site.phone.calls.generated.count == 1)
            #expect(site.phone.calls.attested.count == 5 && Set(site.phone.calls.attested).count == 1)
            #expect(clock.slept == [1, 2, 4, 8].map(Duration.seconds))
        }
    }

    @Test(arguments: rows(.sameKeyLater)) func aLongOutageIsSaidAndTheKeyKept(_ failure: DeviceFailure) async throws {
        let clock = ManualClock()
        try await Site.with(clock: clock) { (site) async throws in
            site.phone.fail(.attest, Array(repeating: failure, count: 1_000))
            let session = site.launch()
            for _ in 0..<100 {
                let error = await #expect(throws: SessionError.self) { try await session.attestedKey() }
                #expect(error?.kind == .unavailable && error?.code == failure.name)
                #expect(error?.retryAfter ?? .zero > .zero)
            }
            // Apple was not asked a hundred times, and always for the same.
            #expect(site.phone.calls.attested.count < 10)
            #expect(Set(site.phone.calls.attested).count == 1)
            // A day later Apple is back. The challenge has expired, the key has not.
            clock.advance(.seconds(86_400))
            site.phone.fail(.attest)
            #expect(try await site.launch().sendSigned(try Site.order()).status == 200)
            #expect(site.phone.calls.generated.count == 1 && site.phone.calls.certified.count == 1)
            // One hash for as long as the first challenge lived, another one now.
            #expect(Set(site.phone.calls.attested).count == 2)
            #expect(site.network.codes.isEmpty)
        }
    }

    @Test(arguments: rows(.newKeyOnce)) func aNewKeyOnce(_ failure: DeviceFailure) async throws {
        try await Site.with { (site) async throws in
            site.phone.fail(.attest, failure)
            #expect(try await site.launch().sendSigned(try Site.order()).status == 200)
            #expect(site.phone.calls.generated.count == 2 && site.phone.calls.certified.count == 1)
        }
    }

    @Test(arguments: rows(.newKeyOnce)) func aDeviceThatFailsAlwaysIsLeftAlone(_ failure: DeviceFailure) async throws {
        let clock = ManualClock()
        try await Site.with(clock: clock) { site in
            site.phone.fail(.attest, Array(repeating: failure, count: 1_000))
            let session = site.launch()
            for _ in 0..<100 {
                let error = await #expect(throws: SessionError.self) { try await session.token() }
                #expect(error?.kind == .unavailable && error?.code == failure.name)
            }
            #expect(site.phone.calls.generated.count == 2)
            // In a day of calls, one each minute: a pause that grows, not a key a minute.
            for _ in 0..<1_440 {
                clock.advance(.seconds(60))
                _ = try? await session.token()
            }
            #expect(site.phone.calls.generated.count <= 24)
        }
    }

    @Test(arguments: rows(.newKeyOnce)) func aKeyThatCannotBeMadeIsTriedOnceMore(_ failure: DeviceFailure) async throws
    {
        try await Site.with { (site) async throws in
            site.phone.fail(.generate, failure)
            #expect(try await site.launch().sendSigned(try Site.order()).status == 200)
            site.phone.fail(.generate, failure, failure)
            await #expect(throws: SessionError(.unavailable, failure.name)) {
                try await site.launch { $0.scope.user = "other" }.attestedKey()
            }
        }
    }

    @Test(arguments: rows(.goOnWithout)) func aSignalAndOnWithout(_ failure: DeviceFailure) async throws {
        try await Site.with { site in
            site.phone.fail(.generate, failure)
            let session = site.launch()
            await #expect(throws: SessionError(.unsupported, failure.name)) { try await session.attestedKey() }
            // The request goes out as it is, and the server decides.
            let request = try Site.order()
            #expect(try await session.sign(request) == request)
            #expect(try await session.authorize(request) == request)
            #expect(try await session.sendSigned(request)["signed"] != nil)
            try await eventually("it is told") { site.network.count("/signals") == 1 }
            #expect(site.network.sent.first { $0.path.hasSuffix("/signals") }?.status == 202)
        }
    }

    @Test func aDeviceWithoutAppAttestSendsOneSignal() async throws {
        try await Site.with(phone: await SimulatedPhone(isSupported: false)) { site in
            let session = site.launch()
            for _ in 0..<10 {
                await #expect(throws: SessionError.self) { try await session.token() }
            }
            #expect(try await session.send(try Site.order()).status == 200)
            try await eventually("it is told") { site.network.count("/signals") == 1 }
            // One for a token without a device, which this service gives to nobody: it is asked once.
            #expect(site.network.count("/challenges") == 1 && site.phone.calls.generated.isEmpty)
        }
    }

    // MARK: While signing

    @Test(arguments: rows(asserting: .sameKeyOnceThenNewKey))
    func theSameKeyOnceMoreThenANewOne(_ failure: DeviceFailure) async throws {
        try await Site.with { site in
            let session = site.launch()
            let key = try await session.attestedKey()
            site.phone.fail(.assert, failure)
            #expect(try await session.sendSigned(try Site.order()).status == 200)
            #expect(try await session.attestedKey() == key)
            site.phone.fail(.assert, failure, failure)
            #expect(try await session.sendSigned(try Site.order()).status == 200)
            #expect(try await session.attestedKey() != key)
            #expect(site.phone.calls.certified.count == 2)
        }
    }

    @Test(arguments: rows(asserting: .newKeyOnce)) func aKeyThatIsGoneIsReplacedOnce(
        _ failure: DeviceFailure
    )
        async throws
    {
        try await Site.with { site in
            let session = site.launch()
            _ = try await session.attestedKey()
            site.phone.fail(.assert, failure)
            #expect(try await session.sendSigned(try Site.order()).status == 200)
            #expect(site.phone.calls.certified.count == 2)
        }
    }

    @Test(arguments: rows(asserting: .sameKeyLater) + rows(asserting: .goOnWithout))
    func aKeyThatCannotSignNowIsKept(_ failure: DeviceFailure) async throws {
        try await Site.with { site in
            let key = try await site.launch().attestedKey()
            site.phone.fail(.assert, Array(repeating: failure, count: 100))
            await #expect(throws: SessionError.self) { try await site.launch().token() }
            site.phone.fail(.assert)
            let session = site.launch()
            #expect(try await site.network.authorization(try await session.token()) == 204)
            #expect(try await session.attestedKey() == key)
        }
    }

    @Test func keysThatDoNotLastAreNotMadeWithoutEnd() async throws {
        let clock = ManualClock()
        try await Site.with(clock: clock) { site in
            let session = site.launch()
            // A device that loses each key at once.
            site.phone.fail(.assert, Array(repeating: .invalidKey, count: 10_000))
            for _ in 0..<200 {
                await #expect(throws: SessionError.self) { try await session.token() }
            }
            #expect(site.phone.calls.generated.count == 3)
        }
    }
}
