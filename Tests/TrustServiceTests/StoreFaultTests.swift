// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// What callers and operators see while the store fails or its clock is another one.
@Suite struct StoreFaultTests {
    private func metrics(_ service: RunningService) async throws -> String {
        String(decoding: try await service.get("/metrics").body, as: UTF8.self)
    }

    /// A store in memory whose own clock stays where the test's clock was.
    private func store(clockOf clock: TestClock) -> any TrustStore {
        let start = clock.now
        return Store.inMemory(clock: StoreClock(uptime: { .zero }, server: { start }))
    }

    @Test(arguments: [1.0, -1.0])
    func aNodeWhoseClockIsOffIsNotReady(_ direction: Double) async throws {
        let clock = TestClock()
        try await RunningService.with(store: store(clockOf: clock), clock: clock) { service in
            #expect(try await service.get("/readyz").status == 200)
            clock.advance(59 * direction)
            #expect(try await service.get("/readyz").status == 200)
            clock.advance(2 * direction)
            let refused = try await service.get("/readyz")
            #expect(refused.verdict == "503 store.clock-off")
            #expect(refused.headers["retry-after"] != nil)
            let text = try await metrics(service)
            #expect(text.contains("sealward_ready 0\n"))
            #expect(text.contains("sealward_clock_offset_seconds \(Int(61 * direction))\n"))
            #expect(try await service.get("/livez").status == 200)
            clock.advance(-61 * direction)
            #expect(try await service.get("/readyz").status == 200)
            #expect(try await metrics(service).contains("sealward_ready 1\n"))
        }
    }

    @Test func aNodeWhoseStoreCommitsNothingIsNotReady() async throws {
        let isFull = NIOLockedValueBox(false)
        let store = FaultyStore { verb in
            if verb == "check", isFull.withLockedValue({ $0 }) { throw StoreFault.unavailable("no space") }
        }
        try await RunningService.with(store: store) { service in
            #expect(try await service.get("/readyz").status == 200)
            isFull.withLockedValue { $0 = true }
            // The answer of the last second may stand.
            try await eventually("503") { try await service.get("/readyz").verdict == "503 store.unavailable" }
            #expect(try await metrics(service).contains("sealward_ready 0\n"))
            #expect(try await service.get("/livez").status == 200)
            isFull.withLockedValue { $0 = false }
            try await eventually("200") { try await service.get("/readyz").status == 200 }
            #expect(try await metrics(service).contains("sealward_ready 1\n"))
        }
    }

    /// Whoever may ask for readiness cannot keep the writer busy.
    @Test func readinessCommitsOneWriteASecond() async throws {
        let checks = NIOLockedValueBox(0)
        let store = FaultyStore { verb in if verb == "check" { checks.withLockedValue { $0 += 1 } } }
        try await RunningService.with(store: store) { service in
            let start = ContinuousClock.now
            let statuses = try await allAtOnce(200) { _ in try await service.get("/readyz").status }
            #expect(statuses.allSatisfy { $0 == 200 })
            let seconds = Int((ContinuousClock.now - start).components.seconds)
            #expect((1...(seconds + 1)).contains(checks.withLockedValue { $0 }))
        }
    }

    @Test func aSweepThatDoesNotBelieveTheClockIsCountedAndLogged() async throws {
        let (clock, registry, lines) = (TestClock(), PrometheusRegistry(), LogLines())
        let store = store(clockOf: clock)
        try await store.record(StoreEvent(at: clock.now, app: "shop", kind: "alert"))
        let server = try await RunningService.idle(store: store, clock: clock, log: lines.logger, registry: registry)
        let maintenance = Maintenance(server.parts)
        await maintenance.sweep()
        #expect(registry.render().contains("sealward_sweep_clock_faults_total{reason=\"offset\"} 0\n"))
        #expect(lines.all.isEmpty)
        clock.advance(120)
        await maintenance.sweep()
        #expect(registry.render().contains("sealward_sweep_clock_faults_total{reason=\"offset\"} 1\n"))
        let line = try #require(lines.all.last)
        #expect(line.message == "The clock cannot be trusted: check it, then run `sealward store check`.")
        #expect(line.metadata == ["reason": "offset", "seconds": "120"])
        #expect(lines.all.count == 1)
    }

    /// A sweep of many rows takes minutes: meanwhile the node learns the keys under which others make challenges, and it stops when it is asked to.
    @Test(.timeLimit(.minutes(1))) func aLongSweepHoldsUpNothingElse() async throws {
        let (clock, sweeps, reads) = (TestClock(), NIOLockedValueBox(0), NIOLockedValueBox(0))
        let store = FaultyStore { verb in
            switch verb {
            case "challengeKeys": reads.withLockedValue { $0 += 1 }
            case "sweep":
                sweeps.withLockedValue { $0 += 1 }
                // One batch that takes as long as it wants.
                try await Task.sleep(for: .seconds(60))
            default: break
            }
        }
        let uptime = NIOLockedValueBox<TimeInterval>(0)
        let server = try await TrustServer(
            configuration: RunningService.configuration(),
            store: store,
            transport: nil,
            sources: SystemSources(
                now: { clock.now },
                random: SystemSources.live.random,
                // A minute between any two looks at the clock.
                uptime: {
                    uptime.withLockedValue {
                        $0 += 60; return $0
                    }
                }
            ),
            registry: PrometheusRegistry(),
            log: LogLines().logger,
            announce: { _ in }
        )
        var maintenance = Maintenance(server.parts)
        (maintenance.flushInterval, maintenance.keysInterval) = (.milliseconds(5), .milliseconds(10))
        let running = Task { [maintenance] in try await maintenance.run() }
        try await eventually("a sweep") { sweeps.withLockedValue { $0 } == 1 }
        let before = reads.withLockedValue { $0 }
        try await eventually("the keys are read again") { reads.withLockedValue { $0 } >= before + 3 }
        #expect(sweeps.withLockedValue { $0 } == 1)
        running.cancel()
        _ = await running.result
    }

    /// There may be more to sweep than a stop has time for.
    @Test(.timeLimit(.minutes(1))) func aSweepEndsWithTheService() async throws {
        let (clock, registry, lines) = (TestClock(), PrometheusRegistry(), LogLines())
        let base = Store.inMemory()
        for number in 0..<5000 {
            try await base.record(StoreEvent(at: clock.now - 9e8, app: "shop", kind: "alert \(number)"))
        }
        let sweeps = NIOLockedValueBox(0)
        let store = FaultyStore(base) { verb in if verb == "sweep" { sweeps.withLockedValue { $0 += 1 } } }
        let server = try await RunningService.idle(store: store, clock: clock, log: lines.logger, registry: registry)
        let maintenance = Maintenance(server.parts)
        let sweeping = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await maintenance.sweep()
        }
        await sweeping.value
        #expect(sweeps.withLockedValue { $0 } == 0)
        await maintenance.sweep()
        #expect(sweeps.withLockedValue { $0 } > 0)
    }

    @Test func aSweepThatFailsIsCountedAndLogged() async throws {
        let (registry, lines) = (PrometheusRegistry(), LogLines())
        let store = FaultyStore { verb in if verb == "sweep" { throw StoreFault.unavailable("no space") } }
        let parts = try await RunningService.idle(store: store, log: lines.logger, registry: registry).parts
        #expect(registry.render().contains("sealward_sweep_failures_total 0\n"))
        await Maintenance(parts).sweep()
        #expect(registry.render().contains("sealward_sweep_failures_total 1\n"))
        #expect(lines.all.map(\.message) == ["The store could not be swept; the next attempt is in a minute."])
    }

    /// What was committed is answered, though the store fails from then on: a caller who gets a fault instead would lose the assertion.
    @Test(arguments: ["assertions", "tokens", "attestations"])
    func nothingFailsAfterTheCommit(_ path: String) async throws {
        let commit = path == "attestations" ? "insert" : "advance"
        let isArmed = NIOLockedValueBox(false)
        let isCommitted = NIOLockedValueBox(false)
        let memory = Store.inMemory()
        let store = FaultyStore(
            memory,
            after: { verb in
                if verb == commit, isArmed.withLockedValue({ $0 }) { isCommitted.withLockedValue { $0 = true } }
            },
            before: { _ in if isCommitted.withLockedValue({ $0 }) { throw StoreFault.unavailable("gone") } }
        )
        try await RunningService.with(store: store) { service in
            let phone = await Phone(service)
            let body: JSONValue
            let keyId: String
            if path == "attestations" {
                (keyId, body) = try await phone.attestation()
            } else {
                keyId = try await phone.attested()
                body = try await phone.assertion(keyId)
            }
            isArmed.withLockedValue { $0 = true }
            let reply = try await service.post("/v1/apps/shop/\(path)", body)
            #expect(reply.status == (path == "attestations" ? 201 : 200), "\(reply.verdict)")
            #expect(isCommitted.withLockedValue { $0 })
            let id = try #require(Base64.decode(keyId).flatMap { KeyIdentifier(bytes: $0) })
            let stored = try #require(try await memory.key(id))
            #expect(stored.counter == (path == "attestations" ? 0 : 1))
            // The store did fail: the next call says so.
            #expect(try await service.post("/v1/apps/shop/\(path)", body).verdict == "503 store.unavailable")
            isCommitted.withLockedValue { $0 = false }
            isArmed.withLockedValue { $0 = false }
        }
    }

    /// A handler that never ends costs its own connection, and no other.
    @Test func aHandlerThatNeverEndsLosesItsConnection() async throws {
        let isStuck = NIOLockedValueBox(true)
        let store = FaultyStore { verb in
            while verb == "check", isStuck.withLockedValue({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
        }
        var limits = ConnectionLimits()
        limits.answer = .seconds(1)
        try await RunningService.with(store: store, connections: limits) { service in
            defer { isStuck.withLockedValue { $0 = false } }
            let connection = try LoopbackClient(port: try #require(URL(string: service.base)?.port))
            let start = ContinuousClock.now
            connection.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await connection.everything(seconds: 10).isEmpty)
            #expect(
                Measuring.isOff
                    || (Duration.milliseconds(900)..<Duration.seconds(9)).contains(ContinuousClock.now - start))
            // On a busy machine an honest call can be as slow as that once.
            try await eventually("an answer") { (try? await service.get("/livez"))?.status == 200 }
            let line = "\nsealward_http_connections_ended_total{state=\"answer\"} "
            try await eventually("the count") {
                guard let text = try? await metrics(service) else { return false }
                return text.contains(line) && !text.contains(line + "0\n")
            }
        }
    }

    /// Who is told to come later is told when, whatever went wrong.
    @Test func everyFaultSaysWhenToComeAgain() async throws {
        for code in ProblemTable.codes {
            let problem = Problem(code)
            #expect((problem.retry == .after) == (problem.retryAfterSeconds != nil), "\(code)")
        }
        struct Unknown: Error {}
        let isArmed = NIOLockedValueBox(false)
        let store = FaultyStore { verb in
            if isArmed.withLockedValue({ $0 }), verb == "keys" { throw Unknown() }
        }
        try await RunningService.with(store: store) { service in
            isArmed.withLockedValue { $0 = true }
            let answer = try await service.get("/v1/keys?app=shop", token: RunningService.adminToken)
            #expect(answer.status == 500 && answer.code == "internal.error")
            #expect(answer.headers["retry-after"] == "5")
            #expect(answer["retryAfterSeconds"] == .integer(5))
        }
    }

    /// Whoever scrapes costs the store nothing: what needs a look at all keys is looked at once an hour.
    @Test func scrapesDoNotAskTheStore() async throws {
        let verbs = NIOLockedValueBox<[String]>([])
        let store = FaultyStore { verb in verbs.withLockedValue { $0.append(verb) } }
        try await RunningService.with(store: store) { service in
            _ = try await service.get("/metrics")
            verbs.withLockedValue { $0 = [] }
            for _ in 0..<50 { #expect(try await service.get("/metrics").status == 200) }
            let asked = verbs.withLockedValue { $0 }
            #expect(Set(asked).isDisjoint(with: ["inspect", "keys", "riskMetrics", "tallies"]), "\(asked)")
            // The hourly one, two seconds after the start.
            #expect(asked.count { $0 == "keyCounts" } <= 1, "\(asked)")
        }
    }
}
