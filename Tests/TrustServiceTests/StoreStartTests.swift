// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

/// How `sealward serve` starts if its store is not there, is not well named, or may be read by others.
@Suite(.serialized, .enabled(if: ServeProcess.isBuilt, "needs .build/debug/sealward")) struct StoreStartTests {
    private func write(_ folder: URL, store: String, mode: mode_t = 0o600) throws -> String {
        let path = try ServeProcess.write(folder, store: store).path
        for name in ["server", "admin", "sealward.json"] { chmod(folder.appendingPathComponent(name).path, mode) }
        return path
    }

    #if Postgres
        @Test func aStoreThatDoesNotAnswerHasAStatusOfItsOwn() throws {
            let folder = try ServeProcess.folder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let url = "postgres://u:topsecret@127.0.0.1:\(try FreePort.take())/db"
            let config = try write(folder, store: url)
            let end = try ServeProcess.run(["serve", "--config", config, "--store-timeout", "1"])
            #expect(end.status == 75, "\(end.error)")
            #expect(end.error.contains("the store did not answer within 1 seconds: PostgreSQL cannot be reached"))
            #expect(end.error.contains("The store does not answer yet."))
            #expect(!end.error.contains("topsecret"))
        }

        @Test(arguments: [
            "u:top%ZZsecret@127.0.0.1/db", "u:topsecret@[::1/db", "u:top/secret@h/db", "u@h/db?password=top%Z",
        ])
        func aMalformedURLIsAWrongConfigurationAndIsNotQuoted(_ url: String) throws {
            let folder = try ServeProcess.folder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let config = try write(folder, store: "postgres://" + url)
            for more in [[], ["--check-config"]] {
                let end = try ServeProcess.run(["serve", "--config", config] + more)
                #expect(end.status == 2)
                #expect(end.error.contains("store: the PostgreSQL URL cannot be read"))
                #expect(!end.error.contains("top") && !end.error.contains("secret@"), "\(end.error)")
            }
        }

        @Test(.enabled(if: PostgresServer.isAvailable, "needs Debian's package postgresql"))
        func theServiceWaitsForItsServer() async throws {
            let server = try await blocking { try PostgresServer() }
            let url = try await blocking { try server.emptyStore() }
            try await blocking { try server.crash() }
            let folder = try ServeProcess.folder()
            defer { try? FileManager.default.removeItem(at: folder) }
            let config = try write(folder, store: url)
            let errors = folder.appendingPathComponent("errors")
            try Data().write(to: errors)
            let process = Process()
            process.executableURL = ServeProcess.program
            process.arguments = ["serve", "--config", config]
            process.standardError = try FileHandle(forWritingTo: errors)
            process.standardOutput = FileHandle.nullDevice
            try process.run()
            defer { kill(process.processIdentifier, SIGKILL) }
            try await said("does not answer yet", in: errors)
            #expect(process.isRunning)
            try await blocking { try server.start() }
            try await said("listening on", in: errors)
            try await blocking { try server.crash() }
        }

        private func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
            try await withCheckedThrowingContinuation { continuation in
                Thread { continuation.resume(with: Result { try body() }) }.start()
            }
        }

        private func said(_ words: String, in file: URL) async throws {
            let deadline = ContinuousClock.now + .seconds(30)
            while try !String(contentsOf: file, encoding: .utf8).contains(words) {
                try #require(ContinuousClock.now < deadline, "waited too long for: \(words)")
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    #endif

    @Test func secretsThatOthersMayReadAreNamedAndThoseTheyMayWriteAreRefused() async throws {
        let folder = try ServeProcess.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let closed = try write(folder, store: "sqlite:\(folder.path)/s.sqlite")
        let quiet = try await ServeProcess(URL(fileURLWithPath: closed))
        #expect(!quiet.standardError.contains("may read a secret"))
        #expect(quiet.stop().status == 0)
        let readable = try write(folder, store: "sqlite:\(folder.path)/s.sqlite", mode: 0o644)
        let loud = try await ServeProcess(URL(fileURLWithPath: readable))
        for name in ["server", "admin"] {
            #expect(
                loud.standardError.contains("may read a secret")
                    && loud.standardError.contains("\(folder.path)/\(name)")
            )
        }
        // The roots are no secrets, and nor is a configuration without a password.
        #expect(!loud.standardError.contains("root.pem") && !loud.standardError.contains("file=\(readable)"))
        #expect(loud.stop().status == 0)
        chmod(folder.appendingPathComponent("admin").path, 0o666)
        let end = try ServeProcess.run(["serve", "--config", readable, "--check-config"])
        #expect(end.status == 2 && end.error.contains("everybody may write to it"), "\(end.error)")
    }
}
