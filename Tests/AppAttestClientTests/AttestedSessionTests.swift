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

/// The app's side on a simulated phone, against the real service, on good days and bad ones: nobody is refused for a reason of ours, no key is
/// thrown away that was good, and there is at most one attestation for each key.
@Suite struct AttestedSessionTests {
    @Test func aThousandCallsAtOnceShareOneAttestationAndOneToken() async throws {
        try await Site.with { site in
            let session = site.launch()
            // Half of them want the key itself, half a token.
            let tokens = try await allAtOnce(1_000) { number in
                if number % 2 == 0 { try await session.attestedKey() }
                return try await session.token()
            }
            #expect(Set(tokens).count == 1)
            #expect(site.phone.calls.certified.count == 1)
            #expect(site.network.count("/tokens") == 1)
            #expect(site.network.codes.isEmpty)
            #expect(try await site.network.authorization(try #require(tokens.first)) == 204)
        }
    }

    @Test func manySignedRequestsAtOnceAreAllAccepted() async throws {
        let count = LongForm.isAsked ? 1_000 : 100
        try await Site.with { site in
            let session = site.launch()
            let answers = try await allAtOnce(count) { try await session.sendSigned(try Site.order($0)) }
            #expect(answers.allSatisfy { $0.status == 200 })
            // Each counter once: no assertion was lost or overtaken.
            #expect(Set(answers.compactMap { $0["counter"] as? Int }) == Set(1...count))
            #expect(site.phone.calls.certified.count == 1)
            #expect(site.network.codes.isEmpty)
        }
    }

    @Test func aLaunchAfterwardsUsesTheKeyThatIsThere() async throws {
        try await Site.with { site in
            let first = try await site.launch().attestedKey()
            let second = site.launch()
            #expect(try await second.attestedKey() == first)
            #expect(try await second.sendSigned(try Site.order()).status == 200)
            #expect(site.phone.calls.attested.count == 1)
        }
    }

    @Test func eachUserAndEnvironmentHasAKeyOfItsOwn() async throws {
        try await Site.with { site in
            let sessions = AttestedSessions { user in site.launch { $0.scope.user = user } }
            var keys: Set<String> = []
            for user in [nil, "anna", "bert", "anna"] {
                keys.insert(try await sessions.session(for: user).attestedKey())
            }
            keys.insert(try await site.launch { $0.scope.group = "TEAM123456.other" }.attestedKey())
            #expect(keys.count == 4)
            #expect(site.phone.calls.certified.count == 4)
            let (first, second) = await (sessions.session(for: "anna"), sessions.session(for: "anna"))
            #expect(first === second)
        }
    }

    @Test func aKeyThatTheServiceBindsToAUser() async throws {
        try await Site.with { (site) async throws in
            let network = site.network
            let session = site.launch { configuration in
                configuration.scope.user = "anna"
                configuration.userChallenge = {
                    let answer = try await network.post(
                        "/v1/apps/shop/challenges", ["purpose": "attest", "user": "anna"],
                        token: ServiceProcess.serverToken)
                    return try JSONDecoder().decode(AttestedSession.UserChallenge.self, from: answer.body)
                }
            }
            #expect(try await session.sendSigned(try Site.order()).status == 200)
            #expect(network.codes.isEmpty)
        }
    }

    @Test(arguments: [ChallengeBinding.challenge, .raw, .clientData])
    func attestsByEachBinding(_ binding: ChallengeBinding) async throws {
        try await Site.with(app: #", "binding": "\#(binding.rawValue)""#) { (site) async throws in
            #expect(try await site.launch { $0.binding = binding }.sendSigned(try Site.order()).status == 200)
        }
    }

    // MARK: What happens to devices

    @Test func aReinstalledAppMakesOneNewKey() async throws {
        try await Site.with { site in
            let old = try await site.launch().attestedKey()
            await site.phone.device.reinstall(ServiceProcess.app)
            // The Keychain's item has outlived the key.
            let session = site.launch()
            let answers = try await allAtOnce(20) { try await session.sendSigned(try Site.order($0)) }
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(site.phone.calls.certified.count == 2)
            #expect(try await session.attestedKey() != old)
        }
    }

    @Test func aRestoredBackupMakesOneNewKeyAndLeavesTheOldPhoneAlone() async throws {
        try await Site.with { site in
            let oldPhone = site.phone.device
            let old = try await site.launch().attestedKey()
            await site.phone.restoreBackup()
            let session = site.launch()
            #expect(try await site.network.authorization(try await session.token()) == 204)
            #expect(try await session.attestedKey() != old)
            #expect(site.phone.calls.certified.count == 2)
            let hash = [UInt8](0..<32)
            _ = try await oldPhone.generateAssertion(old, clientDataHash: hash, for: ServiceProcess.app)
        }
    }

    @Test(arguments: [-86_400.0, 86_400]) func aClockThatIsADayOffChangesNothing(_ error: Double) async throws {
        let clock = ManualClock(error: error)
        try await Site.with(clock: clock) { site in
            let session = site.launch()
            let token = try await session.token()
            // Somebody puts the clock right while the token lives.
            clock.setError(0)
            #expect(try await session.token() == token)
            #expect(try await session.sendSigned(try Site.order()).status == 200)
            #expect(try await site.network.authorization(token) == 204)
            #expect(site.network.codes.isEmpty && site.phone.calls.attested.count == 1)
        }
    }

    @Test(arguments: [-86_400.0, 86_400])
    func aClockThatIsPutRightInAnOutageKeepsTheKey(_ error: Double) async throws {
        let clock = ManualClock(error: error)
        try await Site.with(clock: clock) { (site) async throws in
            site.phone.fail(.attest, Array(repeating: .serverUnavailable, count: 30))
            await #expect(throws: SessionError.self) { try await site.launch().attestedKey() }
            clock.setError(0)
            site.phone.fail(.attest)
            #expect(try await site.launch().sendSigned(try Site.order()).status == 200)
            #expect(site.phone.calls.generated.count == 1 && site.network.codes.isEmpty)
        }
    }

    @Test func aFullAppUsesTheKeyOfItsClip() async throws {
        let app = ServiceProcess.app
        try await Site.with(phone: await SimulatedPhone(app.clip)) { site in
            let key = try await site.launch { $0.process = .appClip }.attestedKey()
            await site.phone.device.install(app)
            await site.phone.device.delete(app.clip)
            site.phone.use(app)
            let session = site.launch()
            #expect(try await session.sendSigned(try Site.order()).status == 200)
            #expect(try await session.attestedKey() == key)
            #expect(site.phone.calls.certified.count == 1)
        }
    }

    @Test func aClipThatWasDeletedFirstTakesItsKeyAlong() async throws {
        let app = ServiceProcess.app
        try await Site.with(phone: await SimulatedPhone(app.clip)) { site in
            _ = try await site.launch { $0.process = .appClip }.attestedKey()
            await site.phone.device.delete(app.clip)
            await site.phone.device.install(app)
            site.phone.use(app)
            #expect(try await site.launch().sendSigned(try Site.order()).status == 200)
            #expect(site.phone.calls.certified.count == 2)
        }
    }

    @Test func anExtensionWithoutAppAttestUsesTheTokenOfItsApp() async throws {
        let clock = ManualClock(error: 86_400)
        try await Site.with(clock: clock) { site in
            let extended = site.launch { $0.process = .otherExtension }
            await #expect(throws: SessionError(.unsupported, "unsupported")) { try await extended.token() }
            let token = try await site.launch { $0.sharesToken = true }.token()
            #expect(try await site.launch { $0.process = .otherExtension }.token() == token)
            #expect(try await site.network.authorization(token) == 204)
            // Once it has ended the extension has none.
            clock.advance(.seconds(3_600))
            await #expect(throws: SessionError(.unsupported, "unsupported")) {
                try await site.launch { $0.process = .otherExtension }.token()
            }
            #expect(site.phone.calls.certified.count == 1)
        }
    }

    @Test func aCallerThatCannotAttestGetsATokenThatSaysSo() async throws {
        try await Site.with(app: #", "untrusted": "allow""#, clock: ManualClock(error: 0)) { site in
            let session = site.launch { $0.process = .otherExtension }
            let token = try await session.token()
            #expect(!token.isAttested)
            #expect(try await session.token() == token)
            // A check for attested callers refuses it.
            #expect(try await site.network.authorization(token) == 403)
            #expect(try await site.launch().token().isAttested)
            // What only an attested caller gets stays refused.
            await #expect(throws: SessionError(.unsupported, "unsupported")) { try await session.singleUseToken() }
            await #expect(throws: SessionError(.unsupported, "unsupported")) { try await session.attestedKey() }
        }
    }

    // MARK: What happens to the service

    @Test func aServiceThatIsKilledAndStartedAgainRefusesNobody() async throws {
        try await ServiceProcess.with { service in
            let site = try await Site(service.base, clock: nil)
            let session = site.launch { $0.patience = .seconds(120) }
            let answers = try await withThrowingTaskGroup(of: HTTPAnswer.self) { tasks in
                for number in 0..<60 {
                    tasks.addTask {
                        // The backend asks the service too, and has no answer of its own while that is away.
                        while true {
                            do { return try await session.sendSigned(try Site.order(number)) } catch is URLError {
                                try await Task.sleep(for: .milliseconds(100))
                            }
                        }
                    }
                }
                for try await _ in tasks.prefix(20) {}
                service.kill()
                try await service.start()
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count == 40 && answers.allSatisfy { $0.status == 200 })
            #expect(site.phone.calls.certified.count == 1)
            #expect(site.network.codes.isEmpty)
        }
    }

    @Test func aServiceThatIsAwayDuringTheAttestationCostsNoKey() async throws {
        try await ServiceProcess.with { service in
            let site = try await Site(service.base, clock: nil)
            let session = site.launch { $0.patience = .seconds(120) }
            service.kill()
            async let tokens = allAtOnce(50) { _ in try await session.token() }
            while site.network.sent.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
            try await service.start()
            #expect(try await Set(tokens).count == 1)
            #expect(site.phone.calls.generated.count == 1 && site.phone.calls.certified.count == 1)
            #expect(site.network.codes.isEmpty)
        }
    }

    @Test func anAnswerThatIsLostCostsNoKey() async throws {
        try await Site.with { (site) async throws in
            site.network.fail("/attestations", .lost, .answerLost, .answerLost)
            site.network.fail("/challenges", .lost, .answerLost)
            site.network.fail("/tokens", .answerLost, .lost, .answerLost)
            let session = site.launch()
            #expect(try await site.network.authorization(try await session.token()) == 204)
            #expect(site.phone.calls.attested.count == 1)
            #expect(site.network.codes.isEmpty)
        }
    }

    @Test func aLaunchInTheMiddleSendsWhatAppleCertified() async throws {
        try await Site.with { (site) async throws in
            site.network.fail("/attestations", .lost, .lost, .lost, .lost, .lost, .lost, .lost, .lost)
            await #expect(throws: SessionError.self) { try await site.launch().attestedKey() }
            #expect(site.phone.calls.certified.count == 1)
            site.network.forgetFaults()
            #expect(try await site.launch().sendSigned(try Site.order()).status == 200)
            #expect(site.phone.calls.attested.count == 1)
        }
    }

    @Test func aCounterThatWasSpentMeansAnotherProof() async throws {
        try await Site.with { (site) async throws in
            let session = site.launch()
            site.network.fail("/tokens", .twice)
            #expect(try await site.network.authorization(try await session.token()) == 204)
            site.network.fail("/orders/café", .twice)
            #expect(try await session.sendSigned(try Site.order()).status == 200)
            // Each was refused once, as a repeat, and nothing was thrown away for it.
            #expect(site.network.codes.count == 2)
            #expect(site.phone.calls.certified.count == 1 && site.phone.calls.assertions == 4)
        }
    }

    @Test func aRevokedKeyIsReplacedOnce() async throws {
        try await Site.with { site in
            let session = site.launch()
            let key = try await session.attestedKey()
            try await site.revoke(key)
            let answers = try await allAtOnce(20) { try await session.sendSigned(try Site.order($0)) }
            #expect(answers.allSatisfy { $0.status == 200 })
            #expect(site.network.codes == ["key.revoked"])
            #expect(site.phone.calls.certified.count == 2)
        }
    }

    @Test func aServiceThatLostItsStoreGetsANewKey() async throws {
        try await ServiceProcess.with { service in
            let site = try await Site(service.base)
            let session = site.launch()
            _ = try await session.attestedKey()
            try await service.forgetEverything()
            #expect(try await site.network.authorization(try await session.token()) == 204)
            #expect(site.phone.calls.certified.count == 2)
        }
    }

    @Test func aRefusalForGoodIsNotRepeated() async throws {
        try await Site.with(app: #", "environments": ["development"]"#) { site in
            let session = site.launch()
            for _ in 0..<5 {
                let error = await #expect(throws: SessionError.self) { try await session.attestedKey() }
                #expect(error?.kind == .refused && error?.code == "attest.environment.mismatch")
            }
            #expect(site.network.count("/attestations") == 1)
            #expect(site.phone.calls.attested.count == 1)
        }
    }

    @Test(arguments: ["off", "monitor"]) func aServiceThatRefusesNothingIsNoObstacle(_ mode: String) async throws {
        let app = #", "mode": "\#(mode)", "environments": ["development"]"#
        try await Site.with(app: app) { (site) async throws in
            let session = site.launch()
            #expect(try await session.send(try Site.order()).status == 200)
            #expect(try await session.sendSigned(try Site.order()).status == 200)
            #expect(site.phone.calls.certified.count == 1)
        }
    }

    @Test func theRampDecidesWhenToBegin() async throws {
        try await Site.with(app: #", "ramp": {"percent": 0}"#) { site in
            let session = site.launch { $0.installation = "4711 é" }
            let error = await #expect(throws: SessionError.self) { try await session.attestedKey() }
            #expect(error?.kind == .unavailable && error?.code == "ramp")
            #expect(site.phone.calls.generated.isEmpty)
        }
    }
}
