// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import TrustStores
@testable import TrustStoresPostgres

/// Whatever a server does or leaves undone, nobody waits longer than the configuration says.
@Suite struct PostgresDeadlineTests {
    static func hasty(
        _ seen: Sightings? = nil, _ change: (inout PostgresConfiguration) -> Void = { _ in }
    ) -> PostgresConfiguration {
        var configuration = PostgresConfiguration()
        if let seen { configuration.observe = { seen.add($0) } }
        configuration.writers = 2
        configuration.readers = 1
        configuration.connectTimeout = .milliseconds(500)
        configuration.answerTimeout = .milliseconds(700)
        configuration.queueTimeout = .milliseconds(500)
        configuration.closeTimeout = .milliseconds(300)
        change(&configuration)
        return configuration
    }

    @Test(
        "a server that stops at any step, lies or never ends is given up in time",
        arguments: FakePostgres.Fault.allCases)
    func misbehavior(_ fault: FakePostgres.Fault) async throws {
        let fake = try FakePostgres(fault)
        defer { fake.stop() }
        let start = ContinuousClock.now
        let thrown = await #expect(throws: StoreFault.self) {
            var configuration = Self.hasty()
            configuration.migrationTimeout = .seconds(2)
            _ = try await SQLTrustStore.postgres(fake.url, configuration: configuration)
        }
        #expect(thrown?.code == "store.unavailable")
        #expect(thrown?.reason.contains("topsecret") == false)
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(20), "\(fault)")
        // A store that is closed dials no more: clients do not keep coming.
        #expect(fake.clients <= 3, "\(fault)")
    }

    @Test("connect_timeout of the URL wins over the configuration's")
    func connectTimeoutOfTheURL() async throws {
        let fake = try FakePostgres(.silentAfterLogin)
        defer { fake.stop() }
        let start = ContinuousClock.now
        await #expect(throws: StoreFault.unavailable("")) {
            let patient = Self.hasty { $0.connectTimeout = .seconds(60) }
            _ = try await SQLTrustStore.postgres(fake.url + "&connect_timeout=1", configuration: patient)
        }
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(30))
    }

    @Test("a host that is silent does not keep a later one of the list from being tried")
    func secondHost() async throws {
        let fake = try FakePostgres(.silentAfterLogin)
        defer { fake.stop() }
        let gone = try FreePort.take()
        let engine = try PostgresEngine(
            url: "postgres://u@127.0.0.1:\(fake.port),127.0.0.1:\(gone)/db",
            configuration: Self.hasty { $0.answerTimeout = .seconds(5) })
        let fault = await #expect(throws: StoreFault.self) {
            try await engine.transact { session in .commit(try session.run("SELECT 1")) }
        }
        #expect(fault?.reason.contains(":\(fake.port)") == true && fault?.reason.contains(":\(gone)") == true)
        await engine.close()
    }

    @Test("callers who wait in line are refused in time while all connections are stuck, and closing has an end")
    func line() async throws {
        let fake = try FakePostgres(.silentAfterLogin)
        defer { fake.stop() }
        let seen = Sightings()
        let configuration = Self.hasty(seen) { configuration in
            configuration.connectTimeout = .seconds(300)
            configuration.answerTimeout = .seconds(300)
            configuration.waitingLimit = 30
        }
        let engine = try PostgresEngine(url: fake.url, configuration: configuration)
        let start = ContinuousClock.now
        let callers = Task {
            await withTaskGroup(of: Duration.self) { group in
                for _ in 0..<60 {
                    group.addTask {
                        await #expect(throws: StoreFault.unavailable("")) {
                            try await engine.transact { session in .commit(try session.run("SELECT 1")) }
                        }
                        return ContinuousClock.now - start
                    }
                }
                return await group.reduce(into: [Duration]()) { $0.append($1) }
            }
        }
        try await eventually("those in line were refused") {
            seen.count("line-full") >= 20 && seen.count("waited-too-long") >= 20
        }
        // Two are still waiting for their connections: closing the store answers them as well.
        await engine.close()
        #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(40))
        #expect(await callers.value.count == 60)
    }

    // MARK: Addresses

    @Test(
        "a malformed URL is named without a word of it",
        arguments: [
            "postgres://u:sec%ZZret@127.0.0.1/db", "postgres://u:secret@[::1/db",
            "postgres://u:sec/ret@127.0.0.1/db",
            "postgres://u:12/secret@127.0.0.1/db", "postgres://u:sec@ret@127.0.0.1/db",
            "postgres://u@127.0.0.1/db?password=sec%ZZret", "postgres://u@127.0.0.1/db?secret",
            "postgres://u@127.0.0.1/db?secret=ret", "postgres://u@127.0.0.1:secret/db",
            "postgres://u:secret@127.0.0.1/db?connect_timeout=secret", "host=x password='secret", "secret",
            "postgres://u:sec\0ret@h/d",
            "postgres://u:secret@a,b,c/db?port=1,2", "postgres://u:sec?r/et@127.0.0.1/db",
        ]
    )
    func malformed(_ url: String) async throws {
        let fault = await #expect(throws: StoreFault.self) { _ = try await SQLTrustStore.postgres(url) }
        #expect(fault?.code == "store.configuration")
        #expect(
            ["secret", "sec%", "sec/", "ret@", "ZZ", "12"].allSatisfy { fault?.description.contains($0) == false })
    }

    @Test("what the URL says about keepalives comes after our own, so that it wins")
    func keepalives() throws {
        let address = try PostgresAddress(
            "postgres://u:p%40ss@h1,h2:6000/db?keepalives_idle=7&tcp_user_timeout=9&sslmode=require",
            environment: [:])
        let parameters = address.parameters(address.hosts[1], hostaddr: "192.0.2.1")
        func last(_ keyword: String) -> String? { parameters.last { $0.0 == keyword }?.1 }
        #expect(
            last("keepalives_idle") == "7" && last("tcp_user_timeout") == "9" && last("keepalives_count") == "3")
        #expect(last("host") == "h2" && last("hostaddr") == "192.0.2.1" && last("port") == "6000")
        #expect(last("sslmode") == "require" && last("password") == "p@ss" && last("client_encoding") == "UTF8")
        #expect(address.connectTimeout == nil)
        #expect(
            try PostgresAddress("postgres://h/d?sslmode=disable", environment: ["PGCONNECT_TIMEOUT": "9"])
                .connectTimeout
                == .seconds(9))
        #expect(address.safe("wrong p@ss\nfor\u{1B}[31m u") == "wrong ***; for\\u{1b}[31m u")
    }

    @Test(
        "Beyond this machine the URL says whether there is TLS: of several servers each counts",
        arguments: [
            ("h/d", [:], false), ("127.0.0.1/d", [:], true), ("localhost,[::1]:5433/d", [:], true),
            ("127.0.0.1,h/d", [:], false), ("/d?host=/run/postgresql", [:], true), ("/d", [:], true),
            ("/d", ["PGHOST": "h"], false), ("/d", ["PGHOST": "/run,127.0.0.1"], true),
            ("/d", ["PGHOSTADDR": "192.0.2.1"], false), ("/d?host=/run", ["PGHOSTADDR": "192.0.2.1"], false),
            ("/d", ["PGSERVICE": "s"], false), ("/d?service=s", [:], false),
            ("localhost/d?hostaddr=192.0.2.1", [:], false), ("h/d?hostaddr=127.0.0.1", [:], true),
            ("/d?host=@h", [:], true), ("127.0.0.1,/d", ["PGHOST": "h"], false),
            ("h/d", ["PGSSLMODE": "require"], false), ("h/d?sslmode=", [:], false),
        ] as [(String, [String: String], Bool)])
    func saysTLS(_ text: String, _ environment: [String: String], _ isLocal: Bool) throws {
        let url = "postgres://" + text
        do {
            _ = try PostgresAddress(url, environment: environment)
            #expect(isLocal)
        } catch let fault as StoreFault {
            #expect(!isLocal && fault.code == "store.tls" && fault.reason.contains("sslmode=verify-full"))
        }
        for (more, wanted) in [
            ("sslmode=disable", "scram-sha-256"), ("sslmode=verify-full&require_auth=md5", "md5"),
        ] where LibpqConnection.knowsRequireAuth {
            let address = try PostgresAddress(
                url + (url.contains("?") ? "&" : "?") + more, environment: environment)
            let parameters = address.parameters(try #require(address.hosts.first), hostaddr: nil)
            let given = parameters.filter { $0.0 == "require_auth" }.map(\.1)
            #expect(given == (isLocal && wanted != "md5" ? [] : [wanted]))
        }
    }

    // MARK: Timelines

    @Test("an older timeline and another cluster are refused; a newer one ends the connections to the older")
    func lineage() {
        let lineage = PostgresLineage()
        let hosts = ["a", "b"].map { PostgresAddress.Host(name: $0, address: nil, port: nil) }
        let (first, second) = (hosts[0], hosts[1])
        #expect(lineage.ordered(hosts) == hosts)
        let old = PostgresIdentity(system: "7", timeline: 3)
        #expect(lineage.admit(old, at: first) == nil && lineage.isNewest(old))
        #expect(
            lineage.admit(PostgresIdentity(system: "8", timeline: 9), at: first)?.contains("another cluster")
                == true)
        #expect(
            lineage.admit(PostgresIdentity(system: nil, timeline: 2), at: first)?.contains("old primary") == true)
        #expect(lineage.admit(PostgresIdentity(system: nil, timeline: 4), at: first) == nil)
        #expect(!lineage.isNewest(old))
        #expect(lineage.admit(old, at: first)?.contains("old primary") == true)
        #expect(lineage.admit(PostgresIdentity(system: "8", timeline: 4), at: first) != nil)
        // Where the newest one was reached is asked first.
        #expect(lineage.ordered(hosts) == hosts)
        #expect(lineage.admit(PostgresIdentity(system: "7", timeline: 5), at: second) == nil)
        #expect(lineage.ordered(hosts) == [second, first])
    }
}

/// What a store observed.
final class Sightings: Sendable {
    private let seen = Mutex<[StoreObservation]>([])

    func add(_ observation: StoreObservation) { seen.withLock { $0.append(observation) } }
    func count(_ name: String) -> Int { seen.withLock { $0.count { $0.kind.name == name } } }
    func details(_ name: String) -> [String] {
        seen.withLock { $0.filter { $0.kind.name == name }.map(\.detail) }
    }
    func highest(_ name: String) -> Int {
        seen.withLock { $0.filter { $0.kind.name == name }.compactMap(\.value).max() ?? 0 }
    }
}
