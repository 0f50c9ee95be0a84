// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What operators' commands say of options that nobody can carry out: the status of wrong usage, and the name of the option.
@Suite struct OperatorUsageTests {
    private let folder: TemporaryDirectory
    private let place: [String]

    init() throws {
        folder = try TemporaryDirectory()
        #expect(try ProgramRun(["init", folder.path("trust")]).status == 0)
        place = ["--url", "http://127.0.0.1:9", "--token-file", folder.path("trust/admin.token")]
    }

    @Test(arguments: [
        (["keys", "list", "--limit", "0"], "--limit"), (["keys", "list", "--limit", "1001"], "--limit"),
        (["keys", "list", "--environment", "x"], "--environment"), (["audit", "--limit", "0"], "--limit"),
        (["audit", "--after=-1"], "--after"),
        (["audit", "--follow", "--output", "x"], "--follow"), (["keys", "revoke", "abc"], "'abc'"),
        (["keys", "delete", "YWJj"], "'YWJj'"),
        (["keys", "revoke", "--app", "shop", "--attested-before", "yesterday"], "--attested-before"),
        (["keys", "list", "--connect-timeout", "0"], "--connect-timeout"),
    ])
    func wrongValuesAreUsage(_ words: [String], _ names: String) throws {
        let run = try ProgramRun(words + place)
        #expect(run.status == 64 && run.errors.contains(names), "\(run.status) \(run.errors)")
    }

    @Test func addressesThatAreNoneAreUsage() throws {
        let token = ["--token-file", folder.path("trust/admin.token")]
        let list = try ProgramRun(["keys", "list", "--url", "nonsense"] + token)
        #expect(list.status == 64 && list.errors.contains("--url: 'nonsense'"), "\(list.errors)")
        let fleet = ["simulate", "fleet", "--service", "http://127.0.0.1:9", "--app", "shop", "--app-id"]
        let run = try ProgramRun(fleet + ["SIMTEAM001.com.example.shop", "--apple", "y"])
        #expect(run.status == 64 && run.errors.contains("--apple: 'y'"), "\(run.errors)")
    }

    /// A cursor is the store's: only the store can say that one is none.
    @Test func aCursorThatTheStoreDoesNotReadIsUsage() async throws {
        let store = "sqlite:" + folder.path("s.sqlite")
        let check = try ProgramRun(["store", "check", "--store", store])
        #expect(check.status == 2, "a store is not made by looking at it")
        let service = try await ListeningProgram(
            ["serve", "--config", folder.path("trust/sealward.json")], in: folder,
            environment: ["SEALWARD_STORE": store, "SEALWARD_LISTEN": "127.0.0.1:0"])
        #expect(service.stop() == 0)
        let run = try ProgramRun(["keys", "list", "--store", store, "--after", "zzz"])
        #expect(run.status == 64 && run.errors.contains("request.malformed"), "\(run.status) \(run.errors)")
    }

    @Test func aTokensNameAndScopeAreBlamedApart() throws {
        let scope = try ProgramRun(["tokens", "new", "--name", "x", "--scope", "foo"])
        #expect(scope.status == 64 && scope.errors.contains("--scope must"), "\(scope.errors)")
        #expect(!scope.errors.contains("--name must"))
        let name = try ProgramRun(["tokens", "new", "--name", "x y", "--scope", "server"])
        #expect(name.status == 64 && name.errors.contains("--name must"), "\(name.errors)")
        let time = try ProgramRun(["tokens", "new", "--name", "x", "--scope", "server", "--expires", "tomorrow"])
        #expect(time.status == 64 && time.errors.contains("--expires"), "\(time.errors)")
        let past = try ProgramRun(["tokens", "new", "--name", "x", "--scope", "server", "--expires", "2020-01-01"])
        #expect(past.status == 0 && past.errors.contains("in the past"), "\(past.errors)")
    }

    /// The option works everywhere: the name leads to this machine, where nothing listens.
    @Test func commandsThatSendRequestsResolveNamesAsTheyAreTold() throws {
        let port = try FreePort.take()
        let run = try ProgramRun([
            "keys", "list", "--url", "https://trust.example.invalid:\(port)", "--token-file",
            folder.path("trust/admin.token"), "--resolve", "trust.example.invalid:\(port):127.0.0.1",
        ])
        #expect(run.status == 2 && run.errors.contains("nothing is listening"), "\(run.errors)")
    }
}
