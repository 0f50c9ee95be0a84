// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import FoundationEssentials
import Vocabulary

/// Many devices with personas, run against a service with a bounded number at a time.
package struct Fleet: Sendable {
    /// What a fleet is made of.
    package struct Plan: Sendable {
        /// The App ID that the phones attest, for example `SIMTEAM001.com.example.app`.
        package var appId: String
        /// `production` or `development`.
        package var environment = "production"
        package var devices = 200
        package var mix = PersonaMix.usual
        package var usersPerBroker = 25
        package var assertionsPerDevice = 2
        package var concurrency = 32
        package var seed: UInt64 = 1
        /// How long brokers are watched for a sign that they were noticed; zero for not at all.
        package var watch = Duration.zero
        /// A name before those of devices and users, so that one service can meet several fleets.
        package var prefix = "fleet"

        package init(appId: String) { self.appId = appId }
    }

    package let plan: Plan
    package let calls: FleetCalls

    package init(plan: Plan, calls: FleetCalls) {
        self.plan = plan
        self.calls = calls
    }

    /// Runs every device to its end.
    ///
    /// - Parameter progress: called for each device that is done.
    /// - Throws: ``FleetFault`` or a fault of the transport if the service or Apple's side cannot be reached at all.
    package func run(progress: () -> Void = {}) async throws {
        let personas = plan.mix.personas(devices: plan.devices, seed: plan.seed)
        try await BoundedTasks(width: plan.concurrency).run(personas, work: device) { _, _ in progress() }
    }

    @Sendable private func device(_ index: Int, _ persona: Persona) async throws {
        let name = "\(plan.prefix)-\(plan.seed)-\(index)"
        let systems = ["14.8", "17.6", "26.1", "27.0"]
        var random = SimulatorRandom(seed: plan.seed &+ UInt64(index))
        let os = systems[Int.random(in: 0..<systems.count, using: &random)]
        let script = DeviceScript(plan: plan, calls: calls, persona: persona, device: name)
        await calls.tally.begin(persona)
        _ = try await calls.phone("", ["device": name, "os": os])
        switch persona {
        case .honest: try await script.honest()
        case .reinstaller: try await script.reinstaller()
        case .unsupported: try await script.unsupported(os: os)
        case .tamperer: try await script.tamperer()
        case .resigned: try await script.resigned()
        case .replayer: try await script.replayer()
        case .broker: try await script.broker()
        }
    }
}

/// What the devices of each persona do, one after the other.
package struct DeviceScript: Sendable {
    package let plan: Fleet.Plan
    package let calls: FleetCalls
    package let persona: Persona
    package let device: String

    package init(plan: Fleet.Plan, calls: FleetCalls, persona: Persona, device: String) {
        self.plan = plan
        self.calls = calls
        self.persona = persona
        self.device = device
    }

    package func honest() async throws {
        guard let key = try await attest() else { return }
        for _ in 0..<plan.assertionsPerDevice { _ = try await assert(key) }
    }

    package func reinstaller() async throws {
        try await honest()
        _ = try await calls.phone("/\(device)/reinstall", ["app": plan.appId])
        try await honest()
    }

    package func unsupported(os: String) async throws {
        let body = ["kind": "unsupported", "code": "unsupported", "osVersion": os]
        try await expectAccepted("signal", calls.app("signals", body))
    }

    package func tamperer() async throws {
        guard let key = try await attest() else { return }
        let genuine = try await signed(key)
        var changed = genuine
        changed["clientData"] = tampered(genuine["clientData"] ?? nil)
        try await expectRefused(["assert.signature.invalid"], "a changed request", calls.app("assertions", changed))
    }

    package func resigned() async throws {
        let foreign = "EVILTEAM99." + plan.appId.drop { $0 != "." }.dropFirst()
        guard let request = try await attestation(appId: foreign) else { return }
        try await expectRefused(["attest.app-id.mismatch"], "a re-signed app", calls.app("attestations", request.body))
    }

    package func replayer() async throws {
        guard let request = try await attestation(appId: plan.appId) else { return }
        let first = try await calls.app("attestations", request.body)
        await expectAccepted("attestation", first)
        guard first.isSuccess else { return }
        // The stolen object with a challenge of the thief's own.
        var stolen = request.body
        stolen["challenge"] = try await challenge("attest")
        let codes = ["attest.nonce.mismatch", "key.exists", "key.other-user"]
        let second = try await calls.app("attestations", stolen)
        // The byte-equal object of the same user is answered again by contract and changes nothing.
        if second.status == 200 {
            await calls.tally.accepted("repeated attestation", persona)
        } else {
            await expectRefused(codes, "a stolen attestation", second)
        }
        let assertion = try await signed(request.keyId)
        try await expectAccepted("assertion", calls.app("assertions", assertion))
        let replays = ["assert.counter.replayed", "challenge.used"]
        try await expectRefused(replays, "a replayed assertion", calls.app("assertions", assertion))
    }

    package func broker() async throws {
        let start = ContinuousClock.now
        var keys: [String] = []
        for user in 0..<plan.usersPerBroker {
            if let key = try await attest(user: "\(device)-user-\(user)") { keys.append(key) }
        }
        await calls.tally.broker(keys: keys.count)
        guard let key = keys.first else { return }
        let firstTier = try await assert(key)
        while plan.watch > .zero, ContinuousClock.now - start < plan.watch {
            try await Task.sleep(for: .milliseconds(250))
            let tier = try await assert(key)
            let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
            if let tier, DeviceScript.isWorse(tier, than: firstTier) {
                return await calls.tally.noticed(after: seconds, by: "tier \(tier) instead of \(firstTier ?? "none")")
            }
            if calls.adminToken != nil, try await !calls.risk().list("alerts").isEmpty {
                return await calls.tally.noticed(after: seconds, by: "an alert about the app's risk")
            }
        }
    }
}

// The steps that the scripts share.
extension DeviceScript {
    private struct AttestationRequest {
        let keyId: String
        let body: [String: String?]
    }

    /// Makes a key and lets Apple and the service attest it; the key id, or nil if the service refused.
    package func attest(user: String? = nil) async throws -> String? {
        guard let request = try await attestation(appId: plan.appId, user: user) else { return nil }
        let reply = try await calls.app("attestations", request.body)
        await expectAccepted("attestation", reply)
        return reply.isSuccess ? request.keyId : nil
    }

    private func attestation(appId: String, user: String? = nil) async throws -> AttestationRequest? {
        let made = try await calls.phone("/\(device)/keys", ["app": appId, "environment": plan.environment])
        guard let keyId = made.text("keyId") else {
            throw FleetFault(description: "Apple's side made no key: \(made.code)")
        }
        // A user is bound to a challenge only by the app's server.
        let user = calls.serverToken == nil ? nil : user
        let challenge = try await challenge("attest", user: user)
        let hash = DeviceScript.hash(Base64.decode(challenge) ?? [])
        for attempt in 0..<10 {
            let reply = try await calls.phone("/\(device)/attest", ["keyId": keyId, "clientDataHash": hash])
            if let attestation = reply.text("attestation") {
                return AttestationRequest(
                    keyId: keyId,
                    body: ["keyId": keyId, "attestation": attestation, "challenge": challenge, "user": user])
            }
            // With this error, and only with it, the same key and the same hash are tried again.
            guard reply.code == "serverUnavailable" else { break }
            try await Task.sleep(for: .milliseconds(50 << attempt))
        }
        await calls.tally.surprise("Apple attested no key", persona)
        return nil
    }

    /// Sends one assertion; the tier that the service gave.
    private func assert(_ key: String) async throws -> String? {
        let reply = try await calls.app("assertions", try await signed(key))
        await expectAccepted("assertion", reply)
        return reply.text("tier")
    }

    /// An assertion about a small order, with its challenge inside the signed data.
    package func signed(
        _ key: String, saying members: String = #""action":"order","amount":100"#
    ) async throws -> [String: String?] {
        let challenge = try await challenge("assert", key: key)
        let clientData = Array(#"{"challenge":"\#(challenge)",\#(members)}"#.utf8)
        let reply = try await calls.phone(
            "/\(device)/assert", ["keyId": key, "clientDataHash": DeviceScript.hash(clientData)])
        guard let assertion = reply.text("assertion") else {
            throw FleetFault(description: "the phone signed nothing: \(reply.code)")
        }
        return ["keyId": key, "assertion": assertion, "clientData": Base64.encode(clientData)]
    }

    private func challenge(_ purpose: String, key: String? = nil, user: String? = nil) async throws -> String {
        let body = ["purpose": purpose, "keyId": key, "user": user]
        let reply = try await calls.app("challenges", body, asServer: user != nil)
        guard let challenge = reply.text("challenge") else {
            throw FleetFault(description: "the service gave no challenge: \(reply.code)")
        }
        return challenge
    }

    /// The same order with another amount.
    private func tampered(_ clientData: String?) -> String {
        let text = String(decoding: clientData.flatMap { Base64.decode($0) } ?? [], as: UTF8.self)
        return Base64.encode(text.replacing(#""amount":100"#, with: #""amount":999"#).utf8)
    }

    private func expectAccepted(_ what: String, _ reply: FleetReply) async {
        if reply.isSuccess {
            await calls.tally.accepted(what, persona)
        } else {
            await calls.tally.refused(reply.code, persona)
            await calls.tally.surprise("\(what) refused with \(reply.code)", persona)
        }
    }

    private func expectRefused(_ codes: [String], _ what: String, _ reply: FleetReply) async {
        if reply.isSuccess {
            await calls.tally.accepted(what, persona)
            await calls.tally.surprise("\(what) accepted", persona)
        } else {
            await calls.tally.refused(reply.code, persona)
            if !codes.contains(reply.code) { await calls.tally.surprise("\(what) refused with \(reply.code)", persona) }
        }
    }

    /// Whether a tier is lower: by the names low, standard and high, and for other names by being another.
    private static func isWorse(_ tier: String, than first: String?) -> Bool {
        let order = ["low", "standard", "high"]
        guard let first, let new = order.firstIndex(of: tier), let old = order.firstIndex(of: first) else {
            return tier != first
        }
        return new < old
    }

    private static func hash(_ data: [UInt8]) -> String { Base64.encode(SHA256.hash(data: data)) }
}
