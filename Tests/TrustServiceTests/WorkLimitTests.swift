// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import NIOConcurrencyHelpers
import StrictJSON
import Testing

@testable import TrustService

/// Load that is more than a node takes on at a time.
@Suite struct WorkLimitTests {
    /// Answers when it is told to.
    private struct HeldHandler: Handler {
        let inside = NIOLockedValueBox(0)
        let release = AsyncStream<Void>.makeStream()

        var routes: [Route] {
            [
                Route("held", "POST", "/held", .app) { _ in
                    inside.withLockedValue { $0 += 1 }
                    for await _ in release.stream {}
                    return .json(["held": true])
                }
                .bounded
            ]
        }
    }

    @Test func whoComesBeyondTheLimitIsToldToComeAgainAndOperatorsAreAnswered() async throws {
        let held = HeldHandler()
        let configuration = RunningService.configuration { $0.limits.requestsAtOnce = 3 }
        try await RunningService.with(configuration, interfaces: { _ in [held] }) {
            (service: RunningService) async throws -> Void in
            func challenge() async throws -> Reply {
                try await service.post("/v1/apps/shop/challenges", ["purpose": "attest"])
            }
            let phone = await Phone(service, system: .iOS("26.1"))
            let keyId = try await phone.attested()
            let assertion = try await phone.assertion(keyId)
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<3 { group.addTask { try await service.post("/held", [:]).status } }
                let deadline = ContinuousClock.now + .seconds(20)
                while held.inside.withLockedValue({ $0 }) < 3 { try #require(ContinuousClock.now < deadline) }
                for _ in 0..<5 {
                    let refused = try await challenge()
                    #expect(refused.verdict == "503 limit.work" && refused["retry"]?.text == "after")
                    #expect(refused.headers["retry-after"] == "1")
                }
                #expect(try await phone.assert(assertion).verdict == "503 limit.work")
                let gateway = try await service.get("/v1/authorize", token: "a.b.c")
                #expect(gateway.verdict == "503 limit.work")
                for path in ["/livez", "/readyz", "/metrics", "/.well-known/jwks.json"] {
                    #expect(try await service.get(path).status == 200, "\(path)")
                }
                #expect(try await service.get("/v1/keys", token: RunningService.adminToken).status == 200)
                let text = String(decoding: try await service.get("/metrics").body, as: UTF8.self)
                #expect(text.contains(#"operation="issueChallenge",status="503",code="limit.work"} 5"#), "\(text)")
                held.release.continuation.finish()
                #expect(try await group.reduce(into: []) { $0.append($1) } == [200, 200, 200])
            }
            // Nothing was spent by the refusal, and every place is free again.
            #expect(try await phone.assert(assertion).status == 200)
            for _ in 0..<10 { #expect(try await challenge().status == 201) }
        }
    }

    /// A refusal gives its place back too.
    @Test func refusalsHoldNoPlace() async throws {
        let configuration = RunningService.configuration { $0.limits.requestsAtOnce = 1 }
        try await RunningService.with(configuration) { (service: RunningService) async throws -> Void in
            for _ in 0..<20 {
                let refused = try await service.post("/v1/apps/shop/assertions", ["keyId": "AAAA"])
                #expect(refused.verdict == "400 request.malformed")
            }
        }
    }
}
