// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward simulate`, `devicecheck` and `demo` as users meet them.
@Suite(.serialized) struct SimulatorCommandTests {
    private func apple(in folder: TemporaryDirectory) async throws -> ListeningProgram {
        try await ListeningProgram(
            [
                "simulate", "apple", "--seed", "7", "--team", "SIMTEAM001:SIMKEY0001", "--key-folder", folder.path(""),
                "--attestation-root", folder.path("attestation.pem"), "--receipt-root", folder.path("receipt.pem"),
                "--refresh-after", "1",
            ],
            in: folder
        )
    }

    private func service(_ apple: String, in folder: TemporaryDirectory) async throws -> ListeningProgram {
        let configuration = """
            {"listen":"127.0.0.1:0","store":"sqlite:\(folder.path("store.sqlite"))",
             "trustSimulator":{"attestationRoot":"\(folder.path("attestation.pem"))","receiptRoot":"\(folder.path("receipt.pem"))"},
             "apps":[{"id":"shop","teamId":"SIMTEAM001","bundleIds":["com.example.shop"]}],
             "limits":{"requestsPerSecondPerAddress":100000},"adminTokenFile":"\(folder.path("admin.token"))",
             "apple":{"teamId":"SIMTEAM001","keyId":"SIMKEY0001","keyFile":"\(folder.path("AuthKey_SIMKEY0001.p8"))",
                      "dataBaseURL":"\(apple)","deviceCheckBaseURL":"\(apple)"},
             "receipts":{"refreshAfterSeconds":1,"pollSeconds":1}}
            """
        try "demo-admin-token-for-one-machine-only".write(
            toFile: folder.path("admin.token"), atomically: true, encoding: .utf8)
        try configuration.write(toFile: folder.path("sealward.json"), atomically: true, encoding: .utf8)
        return try await ListeningProgram(["serve", "--config", folder.path("sealward.json")], in: folder)
    }

    @Test func simulatedAppleWritesItsFilesAndStopsCleanly() async throws {
        let folder = try TemporaryDirectory()
        let apple = try await apple(in: folder)
        #expect(apple.address.hasPrefix("http://127.0.0.1:"))
        for file in ["attestation.pem", "receipt.pem"] {
            #expect(try String(contentsOfFile: folder.path(file), encoding: .utf8).contains("BEGIN CERTIFICATE"))
        }
        let key = folder.path("AuthKey_SIMKEY0001.p8")
        let mode = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(apple.stop() == 0)
    }

    /// What is there stays as it is: it may be the key of a real team, which Apple gives only once. The same key may be there.
    @Test(arguments: ["file", "link", "pipe", "folder"]) func keysAreWrittenToFilesAlone(_ kind: String) async throws {
        let folder = try TemporaryDirectory()
        let key = folder.path("AuthKey_SIMKEY0001.p8")
        let other = folder.path("other")
        try "kept".write(toFile: other, atomically: true, encoding: .utf8)
        switch kind {
        case "link": try FileManager.default.createSymbolicLink(atPath: key, withDestinationPath: other)
        case "pipe": #expect(mkfifo(key, 0o600) == 0)
        case "folder": try FileManager.default.createDirectory(atPath: key, withIntermediateDirectories: false)
        default:
            let apple = try await apple(in: folder)
            #expect(apple.stop() == 0)
            let text = try String(contentsOfFile: key, encoding: .utf8)
            #expect(chmod(key, 0o644) == 0)
            let again = try await self.apple(in: folder)
            #expect(again.stop() == 0)
            #expect(try String(contentsOfFile: key, encoding: .utf8) == text)
            #expect(try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int == 0o600)
            // What a start leaves that is killed while it writes.
            for length in [0, 1, 100, text.utf8.count - 1] {
                try String(text.prefix(length)).write(toFile: key, atomically: true, encoding: .utf8)
                let third = try await self.apple(in: folder)
                #expect(third.stop() == 0)
                #expect(try String(contentsOfFile: key, encoding: .utf8) == text)
            }
            try (text + "kept").write(toFile: key, atomically: true, encoding: .utf8)
            try FileManager.default.removeItem(atPath: other)
            try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: key)
        }
        let run = try ProgramRun([
            "simulate", "apple", "--listen", "127.0.0.1:0", "--team", "SIMTEAM001:SIMKEY0001", "--key-folder",
            folder.path(""),
        ])
        #expect(run.status == 2)
        #expect(run.errors.contains("AuthKey_SIMKEY0001.p8: cannot be written ("), "\(run.errors)")
        #expect(try String(contentsOfFile: other, encoding: .utf8).hasSuffix("kept"))
    }

    /// Nobody else has the keys of a simulator that was started without a seed, and its seed can be used again.
    @Test func withoutASeedEachStartHasItsOwn() async throws {
        var keys: [String] = []
        var seed: String?
        for _ in 0..<3 {
            let folder = try TemporaryDirectory()
            let words = ["simulate", "apple", "--team", "SIMTEAM001:SIMKEY0001", "--key-folder", folder.path("")]
            let apple = try await ListeningProgram(words + (keys.count == 2 ? ["--seed", seed ?? ""] : []), in: folder)
            #expect(apple.stop() == 0)
            let log = try #require(
                try FileManager.default.contentsOfDirectory(atPath: folder.path("")).first { $0.hasPrefix("log-") })
            let text = try String(contentsOfFile: folder.path(log), encoding: .utf8)
            let said = text.firstMatch(of: #/seed (\d+), made for this start/#)
            #expect((said == nil) == (keys.count == 2))
            if let said { seed = String(said.1) }
            keys.append(try String(contentsOfFile: folder.path("AuthKey_SIMKEY0001.p8"), encoding: .utf8))
        }
        #expect(keys[0] != keys[1] && keys[1] == keys[2])
    }

    @Test func devicecheckSaysWhyItCannot() throws {
        let folder = try TemporaryDirectory()
        try "AAAA".write(toFile: folder.path("token"), atomically: true, encoding: .utf8)
        try "no key".write(toFile: folder.path("key.p8"), atomically: true, encoding: .utf8)
        let result = try ProgramRun([
            "devicecheck", "query", "--team-id", "T", "--key-id", "K", "--key-file", folder.path("key.p8"),
            "--device-token-file", folder.path("token"),
        ])
        #expect(result.status == 2)
        #expect(result.errors.contains("contains no P-256 private key"))
        #expect(try ProgramRun(["devicecheck", "update"]).status == 64)
        #expect(try ProgramRun(["simulate", "fleet", "--devices", "0"]).status == 64)
        #expect(try ProgramRun(["demo", "--devices", "0"]).status == 64)
    }

    @Test func aFleetMeetsTheServiceAndTheBrokerIsNoticed() async throws {
        let folder = try TemporaryDirectory()
        let apple = try await apple(in: folder)
        defer { _ = apple.stop() }
        let service = try await service(apple.address, in: folder)
        let result = try ProgramRun([
            "simulate", "fleet", "--service", service.address, "--apple", apple.address, "--app", "shop", "--app-id",
            "SIMTEAM001.com.example.shop", "--devices", "60", "--watch", "30", "--admin-token-file",
            folder.path("admin.token"), "--format", "json",
        ])
        #expect(result.status == 0, "\(result.output)\n\(result.errors)")
        #expect(result.string("schema") == "sealward.fleet/1")
        #expect(result.json["asExpected"] as? Bool == true)
        let personas = try #require(result.json["personas"] as? [[String: Any]])
        #expect(personas.count == 7)
        let refused = personas.reduce(into: [:] as [String: Int]) { all, persona in
            for (code, count) in persona["refused"] as? [String: Int] ?? [:] { all[code, default: 0] += count }
        }
        #expect(refused["assert.signature.invalid"] ?? 0 > 0)
        #expect(refused["attest.app-id.mismatch"] ?? 0 > 0)
        let broker = try #require(result.json["broker"] as? [String: Any])
        #expect(broker["noticed"] as? Int ?? 0 > 0)
        #expect(service.stop() == 0)
    }

    @Test func thePythonClientOfTheExamplesGoesTheWholeWay() async throws {
        let folder = try TemporaryDirectory()
        let apple = try await apple(in: folder)
        defer { _ = apple.stop() }
        let service = try await service(apple.address, in: folder)
        defer { _ = service.stop() }
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let client = Process()
        client.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        client.arguments = [
            "python3", root.appending(path: "Examples/python-client/client.py").path, service.address, apple.address,
            "shop",
            "SIMTEAM001.com.example.shop",
        ]
        let output = Pipe()
        client.standardOutput = output
        try client.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        client.waitUntilExit()
        #expect(client.terminationStatus == 0, "\(text)")
        #expect(text.contains("attestation: 201") && text.contains("replay: 409"))
    }

    @Test func theDemonstrationEndsWellInUnderAMinute() throws {
        let start = ContinuousClock.now
        let result = try ProgramRun(["demo", "--devices", "40"])
        #expect(result.status == 0, "\(result.output)\n\(result.errors)")
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(60))
        for words in ["ats.tls.version-too-low", "40 devices", "first claim: granted", "not granted", "gets 204"] {
            #expect(result.output.contains(words), "\(words) is missing")
        }
    }
}
