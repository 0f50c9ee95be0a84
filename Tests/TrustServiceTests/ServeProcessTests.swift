// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import DeviceSimulator
import Formats
import Foundation
import Glibc
import NIOConcurrencyHelpers
import TestSupport
import Testing
import Vocabulary

@testable import TrustService

@Suite(.serialized, .enabled(if: ServeProcess.isBuilt, "needs .build/release/sealward")) struct ServeProcessTests {
    @Test func everythingWrongIsPrintedAtOnce() throws {
        let folder = try ServeProcess.folder()
        let file = folder.appendingPathComponent("bad.json")
        try Data(#"{"listen": 5, "colour": true, "apps": [{"id": "a"}]}"#.utf8).write(to: file)
        let (status, text) = try ServeProcess.run(["serve", "--config", file.path, "--check-config"])
        #expect(status == 2)
        let paths = text.split(separator: "\n").map { $0.prefix { $0 != ":" } }
        #expect(Set(paths) == ["colour", "listen", "apps[0].teamId", "apps[0].bundleIds"])
        let good = try ServeProcess.write(folder)
        #expect(try ServeProcess.run(["serve", "--config", good.path, "--check-config"]).status == 0)
        #expect(try ServeProcess.run(["serve", "--config", folder.path + "/absent"]).status == 2)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func aSignalStopsTheServiceWithStatusZero(_ signal: Int32) async throws {
        let process = try await ServeProcess(ServeProcess.write())
        #expect(process.standardError.contains("WARNING: simulated devices are trusted"))
        #expect(try await process.service.get("/readyz").status == 200)
        // A request that is never finished does not hold the stop up.
        let slow = try LoopbackClient(port: try #require(URL(string: process.base)?.port))
        slow.send("POST /v1/apps/shop/assertions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        let end = process.stop(signal)
        #expect(end.status == 0 && end.reason == .exit)
        #expect(Measuring.isOff || end.seconds < 10.5)
        withExtendedLifetime(slow) {}
    }

    /// Nor does a store that another program holds, with counts that wait to be written.
    @Test func aStoreThatIsHeldDoesNotDelayTheStop() async throws {
        let folder = try ServeProcess.folder()
        let process = try await ServeProcess(ServeProcess.write(folder))
        let holder = Process()
        holder.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        let script = """
            import sqlite3, sys
            store = sqlite3.connect(sys.argv[1], isolation_level=None)
            store.execute("BEGIN IMMEDIATE")
            print("held", flush=True)
            sys.stdin.read()
            """
        holder.arguments = ["-c", script, folder.path + "/s.sqlite"]
        let (input, output) = (Pipe(), Pipe())
        (holder.standardInput, holder.standardOutput) = (input, output)
        try holder.run()
        defer { holder.terminate() }
        #expect(try output.fileHandleForReading.read(upToCount: 5) == Data("held\n".utf8))
        #expect(try await process.service.post("/v1/apps/shop/signals", ["kind": "unsupported"]).status == 202)
        // A commit waits for the file, and those after it wait for this one.
        let port = try #require(URL(string: process.base)?.port)
        let waiting = try LoopbackClient(port: port)
        waiting.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await process.service.get("/livez").status == 200)
        let end = process.stop()
        #expect(end.status == 0 && end.reason == .exit)
        // Ten seconds, and one in which a process with the thread sanitizer ends; without a limit it takes fourteen.
        #expect(Measuring.isOff || end.seconds < 11.5)
        withExtendedLifetime(waiting) {}
        try await eventually("it is said") { process.standardError.contains("Ended with work undone") }
    }

    /// Answers that nobody reads do not hold the stop up either.
    @Test func clientsThatDoNotReadDoNotDelayTheStop() async throws {
        let process = try await ServeProcess(ServeProcess.write())
        let port = try #require(URL(string: process.base)?.port)
        let request = "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n"
        let deaf = try (0..<5).map { _ in try LoopbackClient(port: port) }
        for connection in deaf { connection.send(Array(String(repeating: request, count: 120).utf8), waits: false) }
        #expect(try await process.service.get("/livez").status == 200)
        let end = process.stop()
        #expect(end.status == 0 && end.reason == .exit)
        #expect(Measuring.isOff || end.seconds < 8)
        withExtendedLifetime(deaf) {}
    }

    /// One address takes all connections that it can get, again and again; another one is served at once.
    @Test func oneAddressCannotTakeAllDescriptors() async throws {
        let file = try ServeProcess.write()
        let process = try await ServeProcess(file, descriptors: 256)
        let port = try #require(URL(string: process.base)?.port)
        let isOver = NIOLockedValueBox(false)
        let attacker = Thread {
            var held: [LoopbackClient] = []
            while !isOver.withLockedValue({ $0 }) {
                for _ in 0..<64 {
                    guard let connection = try? LoopbackClient(from: 2, port: port) else { continue }
                    connection.send("GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n")
                    held.append(connection)
                }
                held.removeAll { $0.received() == nil }
            }
        }
        attacker.start()
        defer { isOver.withLockedValue { $0 = true } }
        var times: [Duration] = []
        for _ in 0..<20 {
            let start = ContinuousClock.now
            let honest = try LoopbackClient(port: port)
            honest.send("GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let answer = await honest.everything(seconds: 5)
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            times.append(ContinuousClock.now - start)
        }
        // The attacker, the service and this test share the cores, so one answer may be late.
        #expect(Measuring.isOff || times.sorted()[17] < .seconds(1), "\(times)")
        let metrics = String(decoding: try await process.service.get("/metrics").body, as: UTF8.self)
        #expect(metrics.contains("reason=\"address\"}"))
        #expect(process.standardError.contains("Connections were turned away."))
    }

    @Test func unknownVariablesAreNamed() throws {
        let file = try ServeProcess.write()
        let slip = try ServeProcess.run(
            ["serve", "--config", file.path, "--check-config"],
            environment: [
                "SEALWARD_LIMITS_BODYBYTES": "512", "SEALWARD_PORT_8080_TCP": "tcp://10.0.0.1:8080",
                "SEALWARD_NODE": "/usr/bin/node",
            ]
        )
        #expect(slip.status == 2)
        #expect(slip.error.contains("SEALWARD_LIMITS_BODYBYTES"))
        #expect(!slip.error.contains("SEALWARD_PORT") && !slip.error.contains("SEALWARD_NODE"))
    }

    /// Whatever is logged: libraries that run the service log what it consists of.
    @Test(arguments: ["trace", "debug", "info"]) func noLevelOfTheLogShowsSecrets(_ level: String) async throws {
        let folder = try ServeProcess.folder()
        let key = folder.appendingPathComponent("key.pem").path
        try P256.Signing.PrivateKey().pemRepresentation.write(toFile: key, atomically: true, encoding: .utf8)
        try "Authorization: secret-of-the-receiver".write(toFile: key + ".headers", atomically: true, encoding: .utf8)
        let extra = """
            , "tokens": {"keyFiles": ["\(key)"]}, "apple": {"teamId": "TEAM123456", "keyId": "KEY1234567", "keyFile": "\(key)"},
            "tracing": {"endpoint": "http://127.0.0.1:1", "headersFile": "\(key).headers"}, "internalListen": "127.0.0.1:0"
            """
        let configuration = try ServeProcess.write(folder, store: "sqlite:\(folder.path)/s.sqlite", extra: extra)
        let process = try await ServeProcess(configuration, environment: ["SEALWARD_LOG_LEVEL": level])
        #expect(try await process.service.get("/livez").status == 200)
        #expect(process.stop().status == 0)
        let log = process.standardError
        #expect(log.contains(" debug ") == (level != "info"), "\(log)")
        for secret in [
            RunningService.serverToken, RunningService.adminToken, "PRIVATE KEY", "secret-of-the-receiver",
        ] {
            #expect(!log.contains(secret), "\(secret)")
        }
    }

    @Test func nothingThatWasAnsweredIsLostByKillMinusNine() async throws {
        let configuration = try ServeProcess.write()
        let rounds = LongForm.isAsked ? 20 : 5
        // Key id to the highest counter that was answered with 200.
        let answered = NIOLockedValueBox<[String: Int]>([:])
        let spent = NIOLockedValueBox<[JSONValue]>([])
        for round in 0..<rounds {
            let process = try await ServeProcess(configuration)
            try await check(answered.withLockedValue { $0 }, spent.withLockedValue { $0 }, process.service)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let phone = await Phone(process.service, system: .iOS("26.1"))
                        guard let keyId = try? await phone.attested() else { return }
                        answered.withLockedValue { $0[keyId] = 0 }
                        while let body = try? await phone.assertion(keyId), let reply = try? await phone.assert(body) {
                            guard reply.status == 200, case .integer(let counter)? = reply["counter"] else { return }
                            answered.withLockedValue { $0[keyId] = counter }
                            spent.withLockedValue { $0.append(body) }
                        }
                    }
                }
                group.addTask {
                    let before = spent.withLockedValue { $0.count }
                    try? await eventually("load", within: .seconds(10)) {
                        spent.withLockedValue { $0.count } >= before + 40 + round * 7
                    }
                    process.kill()
                }
            }
        }
        let process = try await ServeProcess(configuration)
        try await check(answered.withLockedValue { $0 }, spent.withLockedValue { $0 }, process.service)
        #expect(spent.withLockedValue { $0.count } >= rounds * 40)
        #expect(process.stop().status == 0)
    }

    private func check(_ answered: [String: Int], _ spent: [JSONValue], _ service: RunningService) async throws {
        for (keyId, counter) in answered {
            let path = RunningService.path(keyId)
            let shown = try await service.get(path, token: RunningService.adminToken)
            guard shown.status == 200, case .integer(let stored)? = shown["counter"] else {
                Issue.record("an attested key is lost: \(shown.verdict)")
                continue
            }
            // One more may have been committed whose answer was cut off.
            #expect(stored == counter || stored == counter + 1)
        }
        for body in spent.suffix(20) {
            #expect(try await service.post("/v1/apps/shop/assertions", body).status == 409)
        }
    }
}
