// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Formats
import Foundation
import Glibc
import TestSupport
import Testing
import Vocabulary

@testable import TrustService
@testable import TrustStores
@testable import TrustStoresPostgres

/// The operators' verbs of the command line, against a running service and against its store.
@Suite(.serialized, .enabled(if: ServeProcess.isBuilt, "needs .build/release/sealward")) struct OperatorCommandTests {
    private func run(_ arguments: [String]) throws -> ProgramRun { try ProgramRun(ServeProcess.program, arguments) }

    @Test func keysAndAuditOverHTTPAndInTheStore() async throws {
        let folder = try ServeProcess.folder()
        let store = "sqlite:\(folder.path)/s.sqlite"
        let process = try await ServeProcess(ServeProcess.write(folder, store: store))
        let phone = await Phone(process.service)
        var ids: [String] = []
        for index in 0..<4 { ids.append(try await phone.attested(user: index < 2 ? "anna" : "bert")) }
        for target in [["--url", process.base, "--token-file", folder.path + "/admin"], ["--store", store]] {
            let overHTTP = target[0] == "--url"
            let list = try run(["keys", "list", "--format", "json", "--user", overHTTP ? "anna" : "bert"] + target)
            #expect(list.status == 0 && list.string("schema") == "sealward.keys/1", "\(list.errors)")
            let keys = list.json["keys"] as? [[String: Any]] ?? []
            #expect(keys.count == 2)
            #expect(keys.allSatisfy { ($0["trusted"] as? Bool) == (overHTTP ? true : nil) })
            let first = ids[overHTTP ? 0 : 2]
            let revoked = try run(["keys", "revoke", first, "--format", "json"] + target)
            #expect(revoked.status == 0 && revoked.json["keys"] as? Int == 1, "\(revoked.errors)")
            #expect(try run(["keys", "restore", first] + target).output == "restore: 1 key\n")
            let back = try run(["keys", "list", "--format", "json", "--user", overHTTP ? "anna" : "bert"] + target)
            #expect((back.json["keys"] as? [[String: Any]] ?? []).allSatisfy { $0["revoked"] as? Bool == false })
            #expect(try run(["keys", "revoke", first] + target).status == 0)
            let rule = ["--app", "shop", "--user", overHTTP ? "anna" : "bert"]
            let dry = try run(["keys", "revoke", "--dry-run", "--format", "json"] + rule + target)
            #expect(dry.status == 0 && dry.json["keys"] as? Int == 1, "\(dry.errors)")
            #expect(dry.string("operation") == "would-revoke")
            let other = try run(["keys", "revoke", "--expect", "2"] + rule + target)
            #expect(other.status == 1 && other.errors.contains("revocation.count"), "\(other.errors)")
            #expect(try run(["keys", "revoke", "--dry-run"] + rule + target).output == "would-revoke: 1 key\n")
            #expect(
                try run(["keys", "revoke", "--expect", "1", "--format", "json"] + rule + target).json["keys"] as? Int
                    == 1)
            #expect(try run(["keys", "delete", first] + target).output == "delete: 1 key\n")
            let again = try run(["keys", "delete", first] + target)
            #expect(again.status == 1 && again.errors.contains("key.unknown"))
            let user = ["--user", overHTTP ? "anna" : "bert"]
            #expect(try run(["keys", "delete", "--format", "json"] + user + target).json["keys"] as? Int == 1)
            let audit = try run(["audit", "--format", "json"] + target)
            #expect(audit.status == 0 && audit.string("schema") == "sealward.audit/1", "\(audit.errors)")
            let entries = audit.json["entries"] as? [[String: Any]] ?? []
            let names = Set(entries.compactMap { $0["name"] as? String })
            #expect(names.contains(overHTTP ? "adminTokenFile" : "cli"))
            #expect(entries.contains { $0["operation"] as? String == "revokeKeys" })
        }
        let wrong = try run(["keys", "list", "--url", process.base, "--token-file", folder.path + "/server"])
        #expect(wrong.status == 1 && wrong.errors.contains("caller.unauthorized"))
        #expect(try run(["store", "check", "--url", process.base, "--token-file", folder.path + "/admin"]).status == 0)
        // As the health check of the container asks.
        #expect(try run(["store", "check", "--url", process.base]).output == "ready\n")
        #expect(try run(["keys", "list", "--url", process.base]).status == 64)
        #expect(process.stop().status == 0)
        let check = try run(["store", "check", "--store", store, "--format", "json"])
        #expect(check.status == 0 && check.json["healthy"] as? Bool == true, "\(check.errors) \(check.output)")
        #expect(try run(["store", "check", "--store", store]).output.hasSuffix("healthy\n"))
        #expect(try run(["store", "check", "--store", "sqlite:\(folder.path)/none"]).status == 2)
        #expect(
            try run(["keys", "list", "--url", "http://127.0.0.1:1", "--token-file", folder.path + "/admin"]).status == 2
        )
    }

    @Test func secretsAreRotated() async throws {
        let folder = try ServeProcess.folder()
        let store = "sqlite:\(folder.path)/s.sqlite"
        let process = try await ServeProcess(ServeProcess.write(folder, store: store))
        let (phone, keyId) = try await Phone.attested(process.service)
        let old = try await phone.token(keyId)
        let overHTTP = ["--url", process.base, "--token-file", folder.path + "/admin"]
        let challenges = try run(["secrets", "rotate", "challenges", "--format", "json"] + overHTTP)
        #expect(challenges.status == 0 && challenges.json["generation"] as? Int == 2, "\(challenges.errors)")
        #expect(challenges.string("schema") == "sealward.secret-rotation/1")
        let soon = try run(["secrets", "rotate", "challenges"] + overHTTP)
        #expect(soon.status == 1 && soon.errors.contains("challenge.rotation-pending"))
        let authorize = "/v1/authorize?simulated=allow"
        #expect(try await process.service.get(authorize, token: old).status == 204)
        let rotated = try run(["secrets", "rotate", "simulator-tokens", "--reason", "drill"] + overHTTP)
        #expect(rotated.status == 0 && rotated.output.hasPrefix("rotate: simulator-tokens\nold accepted until: "))
        #expect(try await process.service.get(authorize, token: old).code == "token.invalid")
        #expect(try run(["audit"] + overHTTP).output.contains("secret:simulator-tokens"))
        let absent = try run(["secrets", "rotate", "artifacts"] + overHTTP)
        #expect(absent.status == 1 && absent.errors.contains("path.unknown"))
        let unknown = try run(["secrets", "rotate", "users"] + overHTTP)
        #expect(unknown.status == 64 && unknown.errors.contains("simulator-tokens"), "\(unknown.errors)")
        #expect(try run(["secrets", "rotate", "audit"] + overHTTP).status == 0)
        #expect(process.stop().status == 0)
        #expect(try run(["secrets", "rotate", "untrusted-tokens", "--store", store]).status == 0)
    }

    /// A page of the size that the option allows has more than 64 KiB.
    @Test func aLongPageIsReadOverHTTP() async throws {
        let folder = try ServeProcess.folder()
        let path = folder.path + "/s.sqlite"
        let opened = try SQLTrustStore.sqlite(at: path)
        let target = String(repeating: "t", count: 400)
        try await opened.append(
            (0..<300).map { _ in
                AuditEntry(at: Date(), name: "n", operation: "o", target: target, outcome: "ok")
            })
        await opened.close()
        let process = try await ServeProcess(ServeProcess.write(folder, store: "sqlite:\(path)"))
        let page = try run(
            [
                "audit", "--limit", "1000", "--format", "json", "--url", process.base, "--token-file",
                folder.path + "/admin",
            ])
        #expect(page.status == 0 && (page.json["entries"] as? [Any])?.count == 300, "\(page.errors)")
        #expect(process.stop().status == 0)
    }

    @Test func theAuditIsFollowed() async throws {
        let folder = try ServeProcess.folder()
        let process = try await ServeProcess(ServeProcess.write(folder))
        let phone = await Phone(process.service)
        let target = ["--url", process.base, "--token-file", folder.path + "/admin"]
        let files = try ListenerFiles()
        let ids = [try await phone.attested(user: "anna"), try await phone.attested(user: "anna")]
        _ = try run(["keys", "revoke", ids[0]] + target)
        let output = folder.appendingPathComponent("followed")
        try Data().write(to: output)
        let follower = Process()
        follower.executableURL = ServeProcess.program
        follower.arguments = ["audit", "--follow", "--format", "json", "--limit", "1"] + target
        follower.arguments? += ["--ca-file", files.root.certificatePath]
        follower.standardOutput = try FileHandle(forWritingTo: output)
        try follower.run()
        defer { follower.terminate() }
        func operations() throws -> [String] {
            try Data(contentsOf: output).split(separator: 10).compactMap {
                (try? JSONSerialization.jsonObject(with: Data($0)) as? [String: Any])?["operation"] as? String
            }
        }
        try await eventually("it is shown") { try operations().contains("revokeKey") }
        // The roots are read once, as from a pipe.
        try FileManager.default.removeItem(atPath: files.root.certificatePath)
        _ = try run(["keys", "delete", ids[1]] + target)
        try await eventually("it is shown") { try operations().contains("deleteKey") }
        #expect(follower.isRunning)
        #expect(process.stop().status == 0)
        follower.waitUntilExit()
        #expect(follower.terminationStatus == 2)
        // Its own reading does not feed it.
        #expect(try operations().count { $0 == "readAudit" } < 10)
    }

    @Test func aBackupWithoutSecretsIsServedWithNewOnes() async throws {
        let folder = try ServeProcess.folder()
        let (store, copy) = ("sqlite:\(folder.path)/s.sqlite", "\(folder.path)/copy.sqlite")
        let process = try await ServeProcess(ServeProcess.write(folder, store: store))
        let (phone, keyId) = try await Phone.attested(process.service)
        let old = try await phone.token(keyId)
        let backup = try run(["store", "backup", copy, "--store", store])
        #expect(backup.status == 0 && backup.output.contains("without secrets"), "\(backup.errors)")
        let again = try run(["store", "backup", copy, "--store", store])
        #expect(again.status == 2 && again.errors.contains("replaces no file"), "\(again.errors)")
        let postgres = try run(["store", "backup", copy, "--store", "postgres://user:word@127.0.0.1/db"])
        #expect(postgres.status == 2 && postgres.errors.contains("--exclude-table-data=challenge_keys"))
        #expect(!postgres.errors.contains("word"))
        #expect(process.stop().status == 0)
        let other = try await ServeProcess(ServeProcess.write(folder, store: "sqlite:" + copy))
        // The key is known, and what the old secrets made is not.
        #expect(try await other.service.get("/v1/authorize?simulated=allow", token: old).verdict == "401 token.invalid")
        let user = await Phone(other.service)
        _ = try await user.attested()
        let keys = try run(["keys", "list", "--store", "sqlite:" + copy, "--format", "json"])
        #expect((keys.json["keys"] as? [[String: Any]])?.contains { $0["keyId"] as? String == keyId } == true)
        #expect(other.stop().status == 0)
    }

    /// Something else listens at the address, and answers `{}`.
    @Test func anAnswerThatIsNoListIsSaid() throws {
        let other = try TraceCollector()
        let folder = try TemporaryDirectory()
        try String(repeating: "t", count: 32).write(toFile: folder.path("token"), atomically: true, encoding: .utf8)
        let list = try run(["keys", "list", "--url", other.base, "--token-file", folder.path("token")])
        #expect(list.status == 2 && list.errors.contains("`keys` is missing"), "\(list.errors)")
    }

    @Test(arguments: [
        ["keys", "list"], ["keys", "list", "--url", "http://127.0.0.1:1"], ["keys", "revoke", "--store", "x"],
        ["keys", "revoke", "--store", "x", "--app", "a", "--user", "u", "--simulated"],
        ["keys", "revoke", "--store", "x", "--app", "a", "--simulated", "--dry-run", "--expect", "1"],
        ["keys", "revoke", "--store", "x", "--app", "a", "--simulated", "--expect", "-1"],
        ["keys", "delete", "--store", "x"],
        ["store", "check", "--url", "http://127.0.0.1:1", "--token-file", "x", "--confirm-clock"], ["tokens", "new"],
    ])
    func wrongUsageIsSaid(_ arguments: [String]) throws { #expect(try run(arguments).status == 64) }

    @Test func aNewTokenIsTakenOverBySIGHUPAndAFaultKeepsIt() async throws {
        let folder = try ServeProcess.folder()
        let tokens = folder.appendingPathComponent("tokens.json")
        try Data("[]".utf8).write(to: tokens)
        let extra = #", "tokensFile": "\#(tokens.path)""#
        let configuration = try ServeProcess.write(folder, store: "sqlite:\(folder.path)/s.sqlite", extra: extra)
        let process = try await ServeProcess(configuration)
        let made = try run(["tokens", "new", "--name", "ops", "--scope", "admin:shop", "--format", "json"])
        #expect(made.status == 0 && made.string("schema") == "sealward.token/1")
        let token = try #require(made.string("token"))
        let entry = try JSONSerialization.data(withJSONObject: [try #require(made.json["entry"])])
        func status() async throws -> Int {
            try await process.service.get("/v1/keys?app=shop", token: token).status
        }
        #expect(try await status() == 401)
        try entry.write(to: tokens)
        process.signal(SIGHUP)
        try await eventually("the new token is taken") { try await status() == 200 }
        try Data("[{".utf8).write(to: tokens)
        process.signal(SIGHUP)
        try await eventually("the fault is said") {
            process.standardError.contains("what was read before stays in force")
        }
        #expect(try await status() == 200)
        #expect(process.stop().status == 0)
    }

    /// A service that is asked to reread while it starts goes on starting.
    @Test func aHangUpDuringTheStartEndsNothing() async throws {
        let folder = try ServeProcess.folder()
        let configuration = try ServeProcess.write(folder)
        let log = folder.appendingPathComponent("start.log")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        let (process, input) = (Process(), Pipe())
        process.executableURL = BuiltProgram.url
        process.arguments = ["serve", "--config", "-"]
        process.standardInput = input
        process.standardError = try FileHandle(forWritingTo: log)
        try process.run()
        defer { process.terminate() }
        // It waits for its configuration, and ignores or takes the signal, as the system says in two masks.
        try await eventually("the signal is no end") {
            let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
            return status.matches(of: #/(?m)^Sig(?:Ign|Cgt):\s+([0-9a-f]+)$/#).contains {
                (UInt64($0.output.1, radix: 16) ?? 0) & 1 == 1
            }
        }
        kill(process.processIdentifier, SIGHUP)
        try input.fileHandleForWriting.write(contentsOf: Data(contentsOf: configuration))
        try input.fileHandleForWriting.close()
        try await eventually("it listens, or has ended") {
            try String(contentsOf: log, encoding: .utf8).contains("listening on http") || !process.isRunning
        }
        let text = try String(contentsOf: log, encoding: .utf8)
        #expect(process.isRunning && text.contains("listening on http"), "\(text)")
    }

    /// Stores whose horizon a clock that was ahead has moved, as version 1 did.
    private static func movedStores(_ folder: URL) async throws -> [String] {
        let ahead = Int64(Date.now.addingTimeInterval(30 * 86_400).timeIntervalSince1970 * 1000)
        func move(_ store: SQLTrustStore) async throws {
            _ = try await store.engine.transact { session in
                .commit(try session.run("UPDATE store_clock SET swept_until = $1", .integer(ahead)).changes)
            }
            await store.close()
        }
        let path = "\(folder.path)/s.sqlite"
        try await move(try SQLTrustStore.sqlite(at: path))
        var stores = ["sqlite:" + path]
        if PostgresServer.isAvailable {
            let url = try await PostgresServer.sharedWithEmptyStore().url
            try await move(try await SQLTrustStore.postgres(url))
            stores.append(url)
        }
        return stores
    }

    @Test func aHorizonThatIsAheadIsShownAndRepairedOnlyWhenTheClockIsConfirmed() async throws {
        let folder = try ServeProcess.folder()
        for store in try await Self.movedStores(folder) {
            let kind = store.prefix { $0 != ":" }
            func check(_ more: String...) throws -> ProgramRun {
                try run(["store", "check", "--store", store, "--format", "json"] + more)
            }
            for _ in 0..<2 {
                // To look repairs nothing.
                let seen = try check()
                let fault = seen.json["clockFault"] as? [String: Any]
                #expect(
                    seen.status == 1 && seen.json["healthy"] as? Bool == false, "\(kind): \(seen.output)\(seen.errors)")
                #expect(fault?["code"] as? String == "horizon-ahead" && seen.json["repaired"] as? Bool == false)
                #expect(abs((fault?["seconds"] as? Int ?? 0) - 30 * 86_400) < 600, "\(kind)")
            }
            let process = try await ServeProcess(ServeProcess.write(folder, store: store))
            let phone = await Phone(process.service)
            await #expect(throws: (any Error).self, "\(kind): everything is refused as expired") {
                _ = try await phone.attested()
            }
            let repaired = try check("--confirm-clock")
            #expect(repaired.status == 0 && repaired.json["repaired"] as? Bool == true, "\(kind): \(repaired.output)")
            #expect(repaired.json["clockFault"] is NSNull && repaired.json["healthy"] as? Bool == true)
            // The service that runs goes on without a restart.
            _ = try await phone.attested()
            let again = try check("--confirm-clock")
            #expect(
                again.status == 0 && again.json["repaired"] as? Bool == false, "\(kind): there was nothing to repair")
            #expect(process.stop().status == 0)
        }
    }
}
