// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Formats
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOConcurrencyHelpers
import NIOCore
import ServiceLifecycle
import TestSupport
import Testing
import Vocabulary

@testable import SealwardHummingbird
@testable import TrustService

/// A Hummingbird server of somebody else, its gate, the real service and a simulated device.
@Suite struct MiddlewareTests {
    /// What the server answered.
    struct Asked: Sendable {
        let status: Int
        let text: String
        let retryAfter: Int?
    }

    /// Runs a server with one route behind a gate while the body asks it.
    private func shop(
        _ service: RunningService, _ proof: TokenGate.Proof, at address: String? = nil,
        uptime: @escaping @Sendable () -> Duration = { .zero },
        _ body: (_ ask: @escaping @Sendable (String?) async throws -> Asked) async throws -> Void
    ) async throws {
        var configuration = TokenGate.Configuration(
            service: address ?? service.base, issuer: "sealward", audience: "sealward",
            apps: [RunningService.app.applicationId])
        configuration.trustsSimulator = true
        configuration.proof = proof
        let clock = service.clock
        let gate = TokenGate(
            configuration,
            transport: HTTPClientTransport(client: HTTPClientTransport.withoutRedirects, timeout: .seconds(20)),
            uptime: uptime, now: { clock.now })
        let router = Router(context: BasicAttestedRequestContext.self)
        router.addMiddleware { AttestationMiddleware(gate) }
        router.get("price") { _, context in
            let identity = try context.requireAttested()
            return "\(identity.app) \(identity.tier) \(identity.isSimulated)"
        }
        try await serve(router) { port in
            try await body { token in
                let answer = try await HTTPCall("GET", "http://127.0.0.1:\(port)/price", token: token)
                return Asked(
                    status: answer.status, text: answer.text,
                    retryAfter: answer.headers["retry-after"].flatMap { Int($0) })
            }
        }
    }

    /// Runs a server on a free port while the body runs.
    private func serve(
        _ router: Router<BasicAttestedRequestContext>, _ body: (Int) async throws -> Void
    ) async throws {
        let ports = AsyncStream<Int>.makeStream()
        let app = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { ports.continuation.yield($0.localAddress?.port ?? 0) },
            logger: .silent)
        let group = ServiceGroup(configuration: .init(services: [app], logger: .silent))
        async let running: Void = group.run()
        var port = 0
        for await found in ports.stream {
            port = found
            break
        }
        try await body(port)
        await group.triggerGracefulShutdown()
        try await running
    }

    @Test func aTokenOpensTheRouteAndNothingElseDoes() async throws {
        try await RunningService.with { service in
            let (phone, key) = try await Phone.attested(service)
            let good = try await phone.token(key)
            try await shop(service, .signature) { ask in
                let answer = try await ask(good)
                #expect(answer.status == 200 && answer.text.hasPrefix(RunningService.app.applicationId), "\(answer)")
                #expect(answer.text.hasSuffix("true"))
                let none = try await ask(nil)
                #expect(none.status == 401 && none.text.contains("token.missing"))
                let spoiled = try await ask(good + "A")
                #expect(spoiled.status == 401 && spoiled.text.contains("token.invalid"))
                let single = try await ask(try await phone.token(key, singleUse: true))
                #expect(single.status == 403 && single.text.contains("token.single-use"), "\(single)")
            }
        }
    }

    @Test func aRevokedKeyStopsAtOnceWhereTheServiceIsAsked() async throws {
        try await RunningService.with { service in
            let (phone, key) = try await Phone.attested(service)
            let good = try await phone.token(key)
            try await shop(service, .service()) { ask in
                #expect(try await ask(good).status == 200)
                #expect(try await service.revoke(key).status < 300)
                let answer = try await ask(good)
                #expect(answer.status == 403 && answer.text.contains("key.revoked"), "\(answer)")
            }
        }
    }

    @Test func aRevokedKeyStopsWhereNobodyAsksTheService() async throws {
        try await RunningService.with { service in
            let phone = await Phone(service)
            let (key, other) = (try await phone.attested(), try await phone.attested())
            let (good, rest) = (try await phone.token(key), try await phone.token(other))
            let uptime = NIOLockedValueBox(Duration.zero)
            try await shop(service, .signature, uptime: { uptime.withLockedValue { $0 } }) { ask in
                #expect(try await ask(good).status == 200)
                #expect(try await service.revoke(key).status < 300)
                var answer = try await ask(good)
                // The service makes a list once a second, and the gate asks for it when a minute is over.
                while answer.status == 200 {
                    uptime.withLockedValue { $0 += .seconds(60) }
                    answer = try await ask(good)
                }
                #expect(answer.status == 403 && answer.text.contains("key.revoked"), "\(answer)")
                #expect(try await ask(rest).status == 200)
            }
        }
    }

    @Test func aRedirectLeadsNowhere() async throws {
        try await RunningService.with { service in
            let phone = await Phone(service)
            let good = try await phone.token(try await phone.attested())
            let elsewhere = Router(context: BasicAttestedRequestContext.self)
            let asked = NIOLockedValueBox(0)
            elsewhere.get("**") { request, _ in
                asked.withLockedValue { $0 += 1 }
                return Response(status: .temporaryRedirect, headers: [.location: service.base + request.uri.path])
            }
            try await serve(elsewhere) { port in
                for proof in [TokenGate.Proof.signature, .service()] {
                    try await shop(service, proof, at: "http://127.0.0.1:\(port)") { ask in
                        let answer = try await ask(good)
                        #expect(answer.status == 503 && answer.text.contains("token.unchecked"), "\(answer)")
                    }
                }
            }
            #expect(asked.withLockedValue { $0 } > 0)
        }
    }

    @Test func aSingleUseTokenPassesOnce() async throws {
        try await RunningService.with { service in
            let phone = await Phone(service)
            let single = try await phone.token(try await phone.attested(), singleUse: true)
            try await shop(service, .singleUse(serverToken: RunningService.serverToken)) { ask in
                #expect(try await ask(single).status == 200)
                let again = try await ask(single)
                #expect(again.status == 409 && again.text.contains("token.spent"), "\(again)")
            }
            try await shop(service, .singleUse(serverToken: "not the token of a server, but as long")) { ask in
                let answer = try await ask(try await phone.token(try await phone.attested(), singleUse: true))
                #expect(answer.status == 503 && answer.text.contains("token.unchecked"), "\(answer)")
            }
        }
    }

    @Test func aQuotaIsCountedByTheServiceAndObeyedByTheServer() async throws {
        let settings = QuotaTests.configuration(.init(name: "chat", per: .key, limit: 3, window: .seconds(60)))
        try await RunningService.with(settings) { service in
            let phone = await Phone(service)
            let good = try await phone.token(try await phone.attested())
            try await shop(service, .service(quota: "chat")) { ask in
                for _ in 0..<3 { #expect(try await ask(good).status == 200) }
                let over = try await ask(good)
                #expect(over.status == 429 && over.text.contains("policy.quota"), "\(over)")
                #expect((1...60).contains(over.retryAfter ?? 0), "\(over)")
                // Another key has its own, and a window ends.
                let other = try await ask(try await phone.token(try await phone.attested()))
                #expect(other.status == 200, "\(other)")
                service.clock.advance(61)
                #expect(try await ask(good).status == 200)
            }
            // A server that counts nothing takes nothing of it; a quota that the service does not have opens nothing.
            try await shop(service, .service()) { ask in
                let answer = try await ask(good)
                #expect(answer.status == 200, "\(answer)")
            }
            try await shop(service, .service(quota: "other")) { ask in
                let answer = try await ask(good)
                #expect(answer.status == 503 && answer.text.contains("token.unchecked"), "\(answer)")
            }
        }
    }
}
