// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import HTTPTypes
import Testing
import TrustStores

@testable import HTTPService
@testable import TrustService

/// What `/readyz` says about the clock where the store has none.
@Suite struct ReadinessTests {
    @Test func aClockThatWasSetIsNotReadyUntilItIsRightAgain() async throws {
        let clock = TestClock()
        try await RunningService.with(clock: clock) { (service) async throws in
            #expect(try await service.get("/readyz").verdict == "200")
            for (step, verdict) in [
                (-7200.0, "503 store.clock-off"), (7200, "200"), (61, "503 store.clock-off"), (-61, "200"),
                (-59, "200"),
            ] {
                clock.step(step)
                #expect(try await service.get("/readyz").verdict == verdict, "\(step)")
            }
            // Time that passes is no step.
            clock.advance(86_400)
            #expect(try await service.get("/readyz").verdict == "200")
        }
    }

    @Test func theLiveStepIsThatOfTheClockAgainstTheUptime() {
        #expect(abs(SystemSources.live.clockStep()) < 60)
    }

    /// A store that is not swept answers, and says so as `store check` does.
    @Test func aRefusedSweepIsNamed() async throws {
        let (clock, store) = (TestClock(), Store.inMemory(clock: StoreClock(uptime: { .zero })))
        _ = try await store.consume(SingleUseToken(id: "1", expiresAt: clock.now + 300), at: clock.now)
        let server = try await RunningService.idle(store: store, clock: clock)
        let maintenance = Maintenance(server.parts)
        await maintenance.sweep()
        #expect(server.parts.readiness.clockFault == nil)
        clock.advance(3 * 86_400)
        await maintenance.sweep()
        let fault = try await store.inspect(at: clock.now).clockFault
        #expect(fault != nil && server.parts.readiness.clockFault == fault)
        guard case .route(let ready, _) = server.table.match(method: "GET", path: "/readyz") else {
            Issue.record("there is no /readyz")
            return
        }
        let answer = try await ready.handler(
            Call(
                operation: ready.operation, parameters: [:], query: "", headers: [:], body: [], address: "",
                correlationId: "", caller: .anyone, now: clock.now))
        let named = try JSONReader.read(answer.body).member("clockFault")
        #expect(named?.member("code")?.text == "jump" && (named?.member("seconds")?.integer ?? 0) > 86_400)
        _ = try await store.settleClock(at: clock.now)
        await maintenance.sweep()
        #expect(server.parts.readiness.clockFault == nil)
    }
}
