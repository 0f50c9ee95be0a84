// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import TLSModel
import TLSProbe
import TestSupport
import Testing

@Suite struct AdaptivePlanTests {
    static let modern: [CipherSuite] = [.aes128GCMSHA256, .aes256GCMSHA384, .chacha20Poly1305SHA256]
    static let secret: [CipherSuite] =
        modern + [
            .ecdheECDSAWithAES256GCMSHA384, .ecdheECDSAWithAES128GCMSHA256, .ecdheECDSAWithChaCha20Poly1305,
            .ecdheRSAWithAES256GCMSHA384, .ecdheRSAWithAES128GCMSHA256, .ecdheRSAWithChaCha20Poly1305,
            .ecdheECDSAWithAES256CBCSHA, .ecdheECDSAWithAES128CBCSHA, .ecdheRSAWithAES256CBCSHA,
            .ecdheRSAWithAES128CBCSHA,
        ]
    static let plain =
        secret + [.rsaWithAES256GCMSHA384, .rsaWithAES128GCMSHA256, .rsaWithAES256CBCSHA, .rsaWithAES128CBCSHA]
    static let system =
        plain + [
            .ecdheRSAWithAES256CBCSHA384, .ecdheRSAWithAES128CBCSHA256, .ecdheECDSAWithAES256CBCSHA384,
            .ecdheRSAWith3DESCBCSHA,
            .rsaWith3DESCBCSHA, .rsaWithAES256CBCSHA256,
        ]

    /// The suites that TLS 1.0 and 1.1 know.
    static let old = Set(system.filter { $0.description.hasSuffix("_CBC_SHA") })

    /// The ten hellos of the sixteen configurations, the default one first.
    static let questions: [HelloQuestion] =
        [TLSVersion.tls12, .tls11, .tls10].flatMap { floor in
            [secret, plain, system].map { HelloQuestion(minimumVersion: floor, suites: $0) }
        } + [HelloQuestion(minimumVersion: .tls13, suites: modern)]

    /// A server that takes the highest common version, then the first suite in its order.
    struct Model {
        let versions: Set<TLSVersion>
        let suites: [CipherSuite]
        /// The alerts of a server without a common version, and of one without a common suite: OpenSSL's, one for both, and others.
        var alerts: (version: UInt8, suite: UInt8) = (70, 40)

        private func version(_ question: HelloQuestion) -> TLSVersion? {
            let offered = [TLSVersion.tls13, .tls12, .tls11, .tls10].filter { $0 >= question.minimumVersion }
            return offered.first(where: versions.contains)
        }

        func answer(_ question: HelloQuestion) -> (TLSVersion, CipherSuite)? {
            guard let version = version(question) else { return nil }
            let usable = suites.first { suite in
                question.suites.contains(suite) && (suite.keyExchange == .tls13) == (version == .tls13)
                    && (version >= .tls12 || AdaptivePlanTests.old.contains(suite))
            }
            return usable.map { (version, $0) }
        }

        func outcome(_ question: HelloQuestion) -> HandshakeOutcome {
            guard let (version, suite) = answer(question) else {
                return .alert(level: 2, description: version(question) == nil ? alerts.version : alerts.suite)
            }
            return .negotiated(HandshakeObservation(version: version, suite: suite, keyPossession: .proven))
        }

        /// Half of the servers are as servers are today, a quarter old, a quarter anything at all.
        init(_ random: inout SplitMix) {
            alerts = [(70, 40), (40, 40), (70, 71)][random.below(3)]
            let all: [TLSVersion] = [.tls10, .tls11, .tls12, .tls13]
            let style = random.below(4)
            switch style {
            case 0, 1:
                versions = Set(all[(random.below(3) == 0 ? 1 : 2)...(random.below(4) == 0 ? 2 : 3)])
                suites = AdaptivePlanTests.system.filter { suite in suite.hasForwardSecrecy || random.below(8) == 0 }
                    .shuffled(using: &random)
            case 2:
                versions = Set(all[0...(1 + random.below(2))])
                suites = AdaptivePlanTests.system.filter { _ in random.below(3) > 0 }.shuffled(using: &random)
            default:
                let low = random.below(4)
                versions = Set(all[low...(low + random.below(4 - low))])
                suites = AdaptivePlanTests.system.filter { _ in random.below(3) == 0 }.shuffled(using: &random)
            }
        }
    }

    static func run(_ plan: AdaptivePlan, _ server: (HelloQuestion, Int) -> HandshakeOutcome) -> AdaptivePlan {
        var plan = plan
        while let index = plan.next { plan.record(server(plan.questions[index], plan.hellosSent), for: index) }
        return plan
    }

    @Test func modelServersAreAnsweredAsByAllHellos() {
        var random = SplitMix(state: 2026)
        var hellos = 0
        var wrong = 0
        var most = 0
        let count = LongForm.isAsked ? 20_000 : 3000
        for _ in 0..<count {
            let model = Model(&random)
            let plan = Self.run(AdaptivePlan(questions: Self.questions)) { question, _ in model.outcome(question) }
            hellos += plan.hellosSent
            most = max(most, plan.hellosSent)
            for (index, question) in Self.questions.enumerated() {
                let passed: Bool? = plan.answer(index).map { if case .negotiated = $0.outcome { true } else { false } }
                if passed != (model.answer(question) != nil) { wrong += 1 }
                // A refusal is the very one that the hello itself would get.
                if passed == false, plan.answer(index)?.outcome != model.outcome(question) { wrong += 1 }
            }
            if plan.foundContradiction { wrong += 1 }
        }
        let mean = Double(hellos) / Double(count)
        #expect(wrong == 0)
        #expect(mean <= 1.9, "mean \(mean)")
        #expect(most <= 6, "most \(most)")
    }

    @Test func exhaustiveAsksAll() {
        let model = Model(versions: [.tls12], suites: Self.secret)
        let plan = Self.run(AdaptivePlan(questions: Self.questions, exhaustive: true)) { question, _ in
            model.outcome(question)
        }
        #expect(plan.hellosSent == Self.questions.count)
    }

    @Test func aContradictionBringsAllHellos() {
        let model = Model(versions: [.tls12], suites: [.rsaWithAES128GCMSHA256])
        // The server gives TLS 1.3 to the first hello, and refuses the wider one.
        var first = AdaptivePlan(questions: Self.questions)
        first.record(.alert(level: 2, description: 40), for: 0)
        first.record(
            .negotiated(
                HandshakeObservation(version: .tls12, suite: .ecdheRSAWithAES128GCMSHA256, keyPossession: .proven)),
            for: 8)
        #expect(first.foundContradiction && first.isExhaustive)
        let ended = Self.run(first) { question, _ in model.outcome(question) }
        #expect(ended.hellosSent == Self.questions.count)
    }

    @Test(
        "An unreachable host costs one hello, a closing one two",
        arguments: [
            (HandshakeOutcome.connection(.timeout), 1), (.connection(.refused), 1),
            (.connection(.notTLS(prefix: [])), 1),
            (.connection(.nameNotFound("")), 1), (.connection(.closed), 2), (.connection(.reset), 2),
            (.alert(level: 2, description: 40), 3),
        ]
    )
    func dead(_ outcome: HandshakeOutcome, _ hellos: Int) {
        let plan = Self.run(AdaptivePlan(questions: Self.questions)) { _, _ in outcome }
        #expect(plan.hellosSent == hellos)
        #expect(Self.questions.indices.allSatisfy { plan.answer($0)?.outcome == outcome })
    }

    @Test func aRealServerIsAnsweredAsByAllHellos() async throws {
        let servers: [[String]] = [
            ["-cipher", ProbeFixtures.everything], ["-tls1_2", "-cipher", "AES128-GCM-SHA256"],
            ["-tls1", "-cipher", ProbeFixtures.everything], ["-tls1_3"],
            ["-no_tls1_3", "-cipher", "AES128-SHA:@SECLEVEL=0"],
        ]
        for options in servers {
            let server = try ProbeFixtures.server(\.rsa, options)
            let address = [try SocketAddress(ipAddress: "127.0.0.1", port: server.port)]
            func run(_ plan: AdaptivePlan) async -> AdaptivePlan {
                var plan = plan
                while let index = plan.next {
                    let question = plan.questions[index]
                    let hello = HelloOffer(
                        minimumVersion: question.minimumVersion,
                        suites: Self.system.filter(question.suites.contains), serverName: "localhost")
                    plan.record(await ProbeFixtures.prober.attempt(hello, addresses: address).outcome, for: index)
                }
                return plan
            }
            let quick = await run(AdaptivePlan(questions: Self.questions))
            let full = await run(AdaptivePlan(questions: Self.questions, exhaustive: true))
            #expect(quick.hellosSent <= 7 && full.hellosSent == 10)
            for index in Self.questions.indices {
                #expect(
                    (quick.answer(index)?.outcome.observation == nil)
                        == (full.answer(index)?.outcome.observation == nil))
            }
        }
    }
}

extension AdaptivePlanTests.Model {
    init(versions: Set<TLSVersion>, suites: [CipherSuite]) {
        self.versions = versions
        self.suites = suites
    }
}
