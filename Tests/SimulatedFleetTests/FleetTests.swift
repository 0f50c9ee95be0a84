// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPService
import Testing

@testable import SimulatedFleet

@Suite struct FleetTests {
    @Test(arguments: [1, 2, 6, 7, 30, 200, 1001])
    func everyDeviceHasAPersona(_ devices: Int) {
        let personas = PersonaMix.usual.personas(devices: devices, seed: 3)
        #expect(personas.count == devices)
        if devices >= Persona.allCases.count { #expect(Set(personas).count == Persona.allCases.count) }
        #expect(personas == PersonaMix.usual.personas(devices: devices, seed: 3))
    }

    @Test func personasThatAreNotNamedStayAway() {
        let mix = PersonaMix(weights: [.honest: 1, .replayer: 3])
        let personas = mix.personas(devices: 40, seed: 1)
        #expect(personas.count { $0 == .honest } == 10)
        #expect(personas.count { $0 == .replayer } == 30)
        #expect(PersonaMix(weights: [:]).personas(devices: 5, seed: 1).isEmpty)
    }

    /// A service that accepts whatever it is sent, and phones that sign whatever they are asked to.
    private static func careless(_ status: Int) -> FleetCalls.Send {
        { _, url, _, _ in
            let bytes = Data("anything at all, thirty-two bytes".utf8.prefix(32)).base64EncodedString()
            let body =
                #"{"challenge":"\#(bytes)","keyId":"\#(bytes)","attestation":"\#(bytes)","assertion":"\#(bytes)","#
                + #""deviceToken":"\#(bytes)","tier":"high","code":"request.malformed"}"#
            let isAccepted = url.hasPrefix("http://apple.test") || url.hasSuffix("/challenges")
            return HTTPTransport.Reply(status: isAccepted ? 200 : status, body: Array(body.utf8))
        }
    }

    private static func run(_ status: Int, _ mix: PersonaMix) async throws -> FleetTally {
        let tally = FleetTally()
        let calls = FleetCalls(
            send: careless(status), service: "http://service.test", apple: "http://apple.test",
            app: "shop", serverToken: nil, adminToken: nil, tally: tally)
        var plan = Fleet.Plan(appId: "SIMTEAM001.com.example.shop")
        plan.devices = 8
        plan.mix = mix
        try await Fleet(plan: plan, calls: calls).run()
        return tally
    }

    /// The fleet must notice a service that lets attacks through, and one that turns honest devices away.
    @Test func aServiceThatAcceptsEverythingIsFound() async throws {
        for persona in [Persona.tamperer, .resigned, .replayer] {
            let tally = try await Self.run(201, PersonaMix(weights: [persona: 1]))
            #expect(await !tally.isAsExpected, "\(persona)")
        }
        let honest = try await Self.run(201, PersonaMix(weights: [.honest: 1]))
        #expect(await honest.isAsExpected)
    }

    @Test func aServiceThatRefusesHonestDevicesIsFound() async throws {
        let tally = try await Self.run(400, PersonaMix(weights: [.honest: 1]))
        #expect(await !tally.isAsExpected)
    }
}
