// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import AppleSimulator
import Crypto
import Foundation
import Testing

@Suite struct SimulatedReceiptTests {
    /// A key of a device, attested; its id and its attestation.
    private func attest(
        _ bench: Bench, _ device: String, environment: String = "production", app: String = Bench.app, wall: Date? = nil
    ) async throws -> (keyId: String, attestation: Data) {
        let keyId = try await bench.phone(
            "/\(device)/keys", #"{"app":"\#(app)","environment":"\#(environment)"}"#, member: "keyId", wall: wall)
        let hash = Data(SHA256.hash(data: Data("challenge".utf8))).base64EncodedString()
        let text = try await bench.phone(
            "/\(device)/attest", #"{"keyId":"\#(keyId)","clientDataHash":"\#(hash)"}"#, member: "attestation",
            wall: wall)
        return (keyId, try #require(Data(base64Encoded: text)))
    }

    private func receipt(in attestation: Data) throws -> [UInt8] {
        Array(try AttestationObject(decoding: attestation).receipt)
    }

    private func refresh(
        _ bench: Bench, _ receipt: [UInt8], path: String = "/v1/attestationData", wall: Date? = nil
    )
        async throws -> SimulatorAnswer
    {
        await bench.ask(
            "POST", path, Data(receipt).base64EncodedString(),
            authorization: try await bench.token(at: wall ?? bench.wall), wall: wall)
    }

    private func metric(_ answer: SimulatorAnswer) throws -> Int? {
        let bytes = try #require(Data(base64Encoded: answer.words), "\(answer.status) \(answer.words)")
        return try Receipt(decoding: bytes).riskMetric
    }

    /// Instants that the text of a receipt cannot say are moved to the nearest that it can, and the simulator goes on.
    @Test(arguments: ["-9.9e9", "9.9e9"])
    func receiptsAreReadableWhateverTheClockWasSetTo(_ seconds: String) async throws {
        let bench = try Bench { $0.refreshAfter = .seconds(Int.max) }
        for _ in 0..<30 { _ = await bench.ask("PUT", "/control/clock", #"{"advanceSeconds":\#(seconds)}"#) }
        _ = try await bench.phone("", #"{"device":"a"}"#, member: "device")
        let first = try receipt(in: try await attest(bench, "a").attestation)
        let answer = try await refresh(bench, first)
        let renewed = try Receipt(decoding: try #require(Data(base64Encoded: answer.words), "\(answer.words)"))
        let edge = Date(timeIntervalSince1970: seconds.hasPrefix("-") ? 0 : 253_402_300_799)
        #expect(try Receipt(decoding: first).creationTime == edge)
        #expect(renewed.creationTime == edge)
        #expect(renewed.refreshNotBefore == Date(timeIntervalSince1970: 253_402_300_799))
    }

    @Test(arguments: [("14.2", "production"), ("17.6", "development"), ("26.1", "production"), ("27.0", "production")])
    func theVerifierAcceptsWhatItIssues(os: String, environment: String) async throws {
        let bench = try Bench()
        _ = try await bench.phone("", #"{"device":"a","os":"\#(os)"}"#, member: "device")
        let made = try await attest(bench, "a", environment: environment)
        let app = try AppIdentity(Bench.app)
        let verifier = AttestationVerifier(
            apps: [app], environments: [environment == "production" ? .production : .development],
            roots: try AttestationRoots(pem: bench.simulator.attestationRootPEM),
            receiptRoots: try ReceiptRoots(pem: bench.simulator.receiptRootPEM))
        let verdict = await verifier.verify(
            made.attestation, keyId: try #require(KeyIdentifier(base64: made.keyId)),
            clientDataHash: ClientDataHash(hashing: Data("challenge".utf8)), at: bench.wall)
        guard case .accepted(let key) = verdict else {
            Issue.record("refused: \(verdict)")
            return
        }
        for counter in 1...2 as ClosedRange<UInt32> {
            let clientData = Data("order \(counter)".utf8)
            let hash = Data(SHA256.hash(data: clientData)).base64EncodedString()
            let wish = #"{"keyId":"\#(made.keyId)","clientDataHash":"\#(hash)"}"#
            let text = try await bench.phone("/a/assert", wish, member: "assertion")
            let assertion = AssertionVerifier(app: app).verify(
                try #require(Data(base64Encoded: text)), publicKey: key.publicKey,
                clientDataHash: ClientDataHash(hashing: clientData), previousCounter: counter - 1)
            guard case .accepted(let verified) = assertion else {
                Issue.record("refused: \(assertion)")
                return
            }
            #expect(verified.counter == counter)
            #expect((verified.extensions != nil) == (os == "27.0"))
        }
    }

    @Test func theMetricCountsUniqueKeysOfDeviceAndAppWithinThirtyDays() async throws {
        let bench = try Bench { $0.refreshAfter = .zero }
        for device in ["a", "b"] { _ = try await bench.phone("", #"{"device":"\#(device)"}"#, member: "device") }
        let first = try receipt(in: try await attest(bench, "a").attestation)
        #expect(try metric(try await refresh(bench, first)) == 1)
        for _ in 0..<4 { _ = try await attest(bench, "a") }
        // Another device, another app and the other environment do not count.
        _ = try await attest(bench, "b")
        _ = try await attest(bench, "a", app: "SIMTEAM001.com.example.other")
        _ = try await attest(bench, "a", environment: "development")
        #expect(try metric(try await refresh(bench, first)) == 5)
        // 29 days on they still count; after 30 only a new one does.
        _ = await bench.ask("PUT", "/control/clock", #"{"advanceSeconds":2505600}"#)
        #expect(try metric(try await refresh(bench, first)) == 5)
        let late = try receipt(in: try await attest(bench, "a").attestation)
        #expect(try metric(try await refresh(bench, late)) == 6)
        _ = await bench.ask("PUT", "/control/clock", #"{"advanceSeconds":86401}"#)
        #expect(try metric(try await refresh(bench, late)) == 1)
    }

    @Test func everyAnswerOfAppleHasItsCase() async throws {
        let bench = try await Bench.withPhone()
        let first = try receipt(in: try await attest(bench, "a").attestation)
        #expect(
            try await refresh(bench, first, path: "/development/v1/attestationData").words == "Incorrect Environment")
        #expect(try await refresh(bench, [1, 2, 3]).words == "Bad Payload")
        #expect(
            await bench.ask("POST", "/v1/attestationData", "???", authorization: try await bench.token()).words
                == "Bad Payload")
        let foreign = try receipt(in: try await attest(bench, "a", app: "OTHERTEAM1.com.example.x").attestation)
        #expect(try await refresh(bench, foreign).status == 401)

        let renewed = try await refresh(bench, first)
        #expect(renewed.status == 200)
        let second = Array(try #require(Data(base64Encoded: renewed.words)))
        #expect(try await refresh(bench, second).status == 304)
        #expect(try await refresh(bench, first).status == 304)
        _ = await bench.ask("PUT", "/control/clock", #"{"advanceSeconds":86400}"#)
        #expect(try await refresh(bench, second).status == 200)
        _ = await bench.ask("PUT", "/control/clock", #"{"advanceSeconds":2592000}"#)
        #expect(try await refresh(bench, second).words == "No Data Found")
    }

    @Test func keysAreAttestedOnceAndFollowThePhone() async throws {
        let bench = try await Bench.withPhone()
        let made = try await attest(bench, "a")
        let hash = Data(repeating: 7, count: 32).base64EncodedString()
        let body = #"{"keyId":"\#(made.keyId)","clientDataHash":"\#(hash)"}"#
        #expect(await bench.ask("POST", "/device/v1/devices/a/attest", body).object["error"] as? String == "invalidKey")
        #expect(await bench.ask("POST", "/device/v1/devices/a/assert", body).status == 200)
        _ = await bench.ask("POST", "/device/v1/devices/a/reinstall", #"{"app":"\#(Bench.app)"}"#)
        #expect(await bench.ask("POST", "/device/v1/devices/a/assert", body).object["error"] as? String == "invalidKey")
    }

    /// As on a device: the keys of a clip go with it, unless the full app is there and takes them over.
    @Test func aClipTakesItsKeysWithItUnlessTheAppIsThere() async throws {
        let bench = try await Bench.withPhone()
        let keys = { (clip: Bool) in
            try await bench.phone("/a/keys", #"{"app":"\#(Bench.app)","clip":\#(clip)}"#, member: "keyId")
        }
        let reinstall = { (clip: Bool) in
            await bench.ask("POST", "/device/v1/devices/a/reinstall", #"{"app":"\#(Bench.app)","clip":\#(clip)}"#)
                .object["keys"] as? [String]
        }
        _ = try await keys(true)
        #expect(await reinstall(true) == [])
        let (clip, full) = (try await keys(true), try await keys(false))
        #expect(await reinstall(true) == [clip, full].sorted())
    }

    /// The phones of the simulator follow the rules of ``SimulatedDevice``: App Attest came with iOS 14 and macOS 27.
    @Test(arguments: [
        ("ios", "13.7", false), ("ios", "14.0", true), ("macos", "26.4", false), ("macos", "27.0", true),
    ])
    func systemsWithoutAppAttestSaySo(platform: String, os: String, isSupported: Bool) async throws {
        let bench = try Bench()
        let device = await bench.ask(
            "POST", "/device/v1/devices", #"{"device":"a","platform":"\#(platform)","os":"\#(os)"}"#)
        #expect(device.object["supported"] as? Bool == isSupported)
        let key = await bench.ask("POST", "/device/v1/devices/a/keys", #"{"app":"\#(Bench.app)"}"#)
        #expect(key.status == (isSupported ? 201 : 403))
        #expect(key.object["error"] as? String == (isSupported ? nil : "featureUnsupported"))
    }

    @Test func unsupportedAndUnavailable() async throws {
        let bench = try Bench()
        _ = try await bench.phone("", #"{"device":"a","supported":false}"#, member: "device")
        let keys = #"{"app":"\#(Bench.app)"}"#
        let none = await bench.ask("POST", "/device/v1/devices/a/keys", keys)
        #expect(none.object["error"] as? String == "featureUnsupported")

        _ = try await bench.phone("", #"{"device":"b"}"#, member: "device")
        let keyId = try await bench.phone("/b/keys", keys, member: "keyId")
        let hash = Data(repeating: 7, count: 32).base64EncodedString()
        let body = #"{"keyId":"\#(keyId)","clientDataHash":"\#(hash)"}"#
        _ = await bench.ask("PUT", "/control/faults", #"[{"call":"attest","status":503,"count":1}]"#)
        let first = await bench.ask("POST", "/device/v1/devices/b/attest", body)
        #expect(first.object["error"] as? String == "serverUnavailable")
        #expect(await bench.ask("POST", "/device/v1/devices/b/attest", body).status == 200)
    }

    @Test func oneSeedGivesOneWorld() async throws {
        var worlds: [[String]] = []
        for seed in [7, 7, 8] as [UInt64] {
            let bench = try Bench { $0.seed = seed }
            _ = try await bench.phone("", #"{"device":"a"}"#, member: "device")
            let key = try await bench.phone("/a/keys", #"{"app":"\#(Bench.app)"}"#, member: "keyId")
            let token = try await bench.phone("/a/token", #"{"app":"\#(Bench.app)"}"#, member: "deviceToken")
            worlds.append([key, token])
        }
        #expect(worlds[0] == worlds[1])
        #expect(worlds[0] != worlds[2])
    }

    @Test(arguments: ["olderReceipt", "otherReceipt"])
    func spoiledReceiptsAreWellSigned(kind: String) async throws {
        let bench = try await Bench.withPhone { $0.refreshAfter = .zero }
        let first = try receipt(in: try await attest(bench, "a").attestation)
        _ = try await attest(bench, "a", app: "SIMTEAM001.com.example.other")
        _ = await bench.ask("PUT", "/control/faults", #"[{"call":"attestationData","kind":"\#(kind)"}]"#)
        let answer = try await refresh(bench, first)
        let bytes = try #require(Data(base64Encoded: answer.words))
        let old = try Receipt(decoding: first)
        let spoiled = try Receipt(decoding: bytes)
        if kind == "olderReceipt" {
            #expect(try #require(spoiled.creationTime) < #require(old.creationTime))
        } else {
            #expect(spoiled.applicationId != old.applicationId)
        }
    }
}
