// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import DeviceSimulator
import Formats
import Foundation
import NIOConcurrencyHelpers
import Testing
import TrustStores
import Vocabulary

@testable import TrustService

/// Apple's side for many phones: a device token is base64 of the phone's name, a space, and anything.
final class ManyPhones: AppleTransport, Sendable {
    /// One call as it arrived.
    struct Call: Sendable, Equatable {
        let operation: String
        let phone: String
        let transaction: String
    }

    private struct State {
        var bits: [String: (Bool, Bool)] = [:]
        var calls: [Call] = []
    }

    private let state = NIOLockedValueBox(State())
    /// Answers in Apple's stead: the status, and whether an update still takes effect. Nil lets Apple answer.
    let fault = NIOLockedValueBox<(@Sendable (Call, _ earlier: [Call]) -> (status: Int, takesEffect: Bool)?)?>(nil)

    static func token(_ phone: String, _ name: String = "token") -> String {
        Base64.encode(Array("\(phone) \(name)".utf8))
    }

    var calls: [Call] { state.withLockedValue { $0.calls } }
    func isBurned(_ phone: String) -> Bool { state.withLockedValue { $0.bits[phone]?.0 == true } }
    func bits(of phone: String) -> [Bool] { state.withLockedValue { $0.bits[phone].map { [$0.0, $0.1] } ?? [] } }
    /// Writes both bits, as somebody else of the team may.
    func write(_ phone: String, _ bits: (Bool, Bool)) { state.withLockedValue { $0.bits[phone] = bits } }
    func burn(_ phone: String) { state.withLockedValue { $0.bits[phone] = (true, false) } }

    func send(_ request: AppleRequest) async throws -> AppleAnswer {
        let members = (try JSONReader.read(request.body)).members ?? []
        func text(_ name: String) -> String { members.first { $0.name == name }?.value.text ?? "" }
        let name = String(decoding: Base64.decode(text("device_token")) ?? [], as: UTF8.self)
        let phone = String(name.prefix { $0 != " " })
        let operation = request.url.hasSuffix("query_two_bits") ? "query" : "update"
        let call = Call(operation: operation, phone: phone, transaction: text("transaction_id"))
        let earlier = state.withLockedValue { state in
            defer { state.calls.append(call) }
            return state.calls
        }
        // Others get their turn between a read and a write, as they do on a network.
        for _ in 0..<20 { await Task.yield() }
        guard !phone.isEmpty, name.contains(" ") else {
            return AppleAnswer(
                status: 400, headers: [:], body: Array("Missing or badly formatted device token payload".utf8))
        }
        let fault = fault.withLockedValue { $0 }?(call, earlier)
        func bit(_ name: String) -> Bool { members.first { $0.name == name }?.value == .bool(true) }
        if operation == "update", fault?.takesEffect ?? true {
            state.withLockedValue { $0.bits[phone] = (bit("bit0"), bit("bit1")) }
        }
        if let fault { return AppleAnswer(status: fault.status, headers: [:], body: []) }
        guard operation == "query" else { return AppleAnswer(status: 200, headers: [:], body: []) }
        guard let bits = state.withLockedValue({ $0.bits[phone] }) else {
            return AppleAnswer(status: 200, headers: [:], body: Array("Failed to find bit state".utf8))
        }
        let document = #"{"bit0":\#(bits.0),"bit1":\#(bits.1),"last_update_time":"2026-11"}"#
        return AppleAnswer(status: 200, headers: [:], body: Array(document.utf8))
    }
}

/// A promotion is given once for each device, whatever is sent at the same time and whatever Apple does in the middle.
@Suite(.serialized) struct PromotionTests {
    static func configuration() -> Configuration {
        RunningService.configuration {
            $0.bits = [Configuration.Bit(bit: 0, name: "welcome", resetAfterMonths: 12)]
            $0.apple = .ofTests
        }
    }

    /// Runs a service with its clock and many phones at Apple.
    private func run(_ body: (RunningService, ManyPhones) async throws -> Void) async throws {
        let apple = ManyPhones()
        try await RunningService.with(Self.configuration(), transport: apple) { service in
            try await body(service, apple)
        }
    }

    private func claim(
        _ service: RunningService, _ transaction: String, _ first: String, _ second: String,
        _ more: [JSONValue.Member] = []
    ) async throws -> Reply {
        let body: [JSONValue.Member] = [
            .init("app", "shop"), .init("transactionId", .string(transaction)),
            .init("deviceTokens", [.string(first), .string(second)]),
        ]
        return try await service.post(
            "/v1/promotions/welcome/claim", .object(body + more), token: RunningService.serverToken)
    }

    private func verdict(_ reply: Reply) -> String {
        reply.status == 200 ? (reply["granted"] == .bool(true) ? "granted" : "refused") : reply.verdict
    }

    private func appClaim(_ phone: Phone, _ keyId: String, _ transaction: String, _ name: String) async throws -> Reply
    {
        let body = try await phone.assertion(
            keyId,
            extra: [
                .init("promotion", "welcome"), .init("transactionId", .string(transaction)),
                .init(
                    "deviceTokens",
                    [.string(ManyPhones.token(name, transaction)), .string(ManyPhones.token(name, transaction + "w"))]),
            ]
        )
        return try await phone.service.post("/v1/apps/shop/promotions/welcome/claim", body)
    }

    /// Six claims at once, each asked again with its own transaction while it is told to wait: what each was answered in the end, with all
    /// that came before. A claim whose answer the store could not give in time is its caller's all the same, and only its caller's.
    private func verdicts(
        _ service: RunningService, _ claim: @escaping @Sendable (_ index: Int) async throws -> Reply
    ) async throws -> [[String]] {
        var all = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for index in 0..<6 { group.addTask { (index, verdict(try await claim(index))) } }
            return try await group.reduce(into: Array(repeating: [String](), count: 6)) { $0[$1.0].append($1.1) }
        }
        for index in all.indices {
            for _ in 0..<50 where all[index].last?.hasPrefix("503") == true || all[index].last?.hasPrefix("409") == true
            {
                service.clock.advance(16)
                all[index].append(verdict(try await claim(index)))
            }
        }
        return all
    }

    @Test(arguments: AttackSite.available)
    func twentyPhonesWithSixClaimsAtOnceGetOneEachThroughTheApp(_ site: AttackSite) async throws {
        let apple = ManyPhones()
        var configuration = Self.configuration()
        configuration.apps[0].counterMode = .challenge
        try await site.run(configuration, transport: apple) { service in
            for number in 0..<20 {
                let (phone, keyId) = try await Phone.attested(service)
                let name = "phone\(number)"
                let all = try await verdicts(service) { try await appClaim(phone, keyId, "t\($0)", name) }
                #expect(all.count { $0.contains("granted") } == 1, "\(name): \(all)")
                let late = verdict(try await appClaim(phone, keyId, "late", name))
                #expect(late == "refused", "\(name): \(all), then \(late)")
                #expect(apple.isBurned(name))
            }
        }
    }

    @Test(arguments: AttackSite.available)
    func twentyPhonesWithSixClaimsAtOnceGetOneEachThroughTheBackend(_ site: AttackSite) async throws {
        let apple = ManyPhones()
        try await site.run(Self.configuration(), transport: apple) { service in
            for number in 0..<20 {
                let (name, user) = ("phone\(number)", JSONValue.Member("user", .string("user\(number)")))
                let all = try await verdicts(service) { index in
                    let tokens = (ManyPhones.token(name, "r\(index)"), ManyPhones.token(name, "w\(index)"))
                    return try await claim(service, "t\(index)", tokens.0, tokens.1, [user])
                }
                #expect(all.count { $0.contains("granted") } == 1, "\(name): \(all)")
                let late = try await claim(service, "late", ManyPhones.token(name), ManyPhones.token(name), [user])
                #expect(verdict(late) == "refused", "\(name): \(all), then \(late.verdict)")
            }
        }
    }

    /// The first reproduction of finding 4: tries with a token that Apple refuses leave nothing behind that could be granted later.
    @Test func aNoteNeverOutlivesADefiniteRefusal() async throws {
        try await run { (service: RunningService, apple: ManyPhones) async throws -> Void in
            let (good, garbage) = (ManyPhones.token("a"), Base64.encode(Array("garbage".utf8)))
            for index in 0..<3 {
                #expect(verdict(try await claim(service, "t\(index)", good, garbage)) == "400 deviceToken.invalid")
            }
            // Apple refuses the write alone: the note was left by then.
            apple.fault.withLockedValue { $0 = { call, _ in call.operation == "update" ? (400, false) : nil } }
            #expect(try await claim(service, "t3", good, ManyPhones.token("a", "w")).status == 503)
            apple.fault.withLockedValue { $0 = nil }
            #expect(verdict(try await claim(service, "t9", good, ManyPhones.token("a", "w"))) == "granted")
            #expect(verdict(try await claim(service, "t10", good, ManyPhones.token("a", "w"))) == "refused")
            service.clock.advance(16)
            for index in 0..<4 {
                let reply = try await claim(service, "t\(index)", good, ManyPhones.token("a", "w"))
                #expect(verdict(reply) == "refused", "t\(index)")
            }
        }
    }

    /// The second one: the token of a phone that had its promotion never grants, on either place.
    @Test func theTokensOfTwoPhonesGrantNothing() async throws {
        try await run { (service: RunningService, apple: ManyPhones) async throws -> Void in
            apple.burn("burned")
            for (first, second) in [("clean", "burned"), ("burned", "clean"), ("burned", "burned")] {
                let reply = try await claim(service, first + second, ManyPhones.token(first), ManyPhones.token(second))
                #expect(verdict(reply) == "refused", "\(first) \(second)")
                #expect(!apple.isBurned("clean"))
            }
            #expect(!apple.calls.contains { $0.operation == "update" })
            // Two clean phones: the bit that was set is not seen through the first token.
            #expect(
                verdict(try await claim(service, "two", ManyPhones.token("one"), ManyPhones.token("two"))) == "refused")
            #expect(!apple.isBurned("one") && apple.isBurned("two"))
        }
    }

    @Test func theOrderOfCallsIsReadReadWriteRead() async throws {
        try await run { (service: RunningService, apple: ManyPhones) async throws -> Void in
            #expect(
                verdict(try await claim(service, "t", ManyPhones.token("a", "1"), ManyPhones.token("a", "2")))
                    == "granted")
            #expect(apple.calls.map(\.operation) == ["query", "query", "update", "query"])
        }
    }

    /// Apple's 500 in the middle: whether the bit was set is unknown, and the same tokens find out; others get nothing by it.
    @Test(arguments: [true, false])
    func afterAnUnknownOutcomeTheSameTokensDecide(_ takesEffect: Bool) async throws {
        try await run { (service: RunningService, apple: ManyPhones) async throws -> Void in
            let (read, write) = (ManyPhones.token("a", "r"), ManyPhones.token("a", "w"))
            apple.fault.withLockedValue { $0 = { call, _ in call.operation == "update" ? (500, takesEffect) : nil } }
            #expect(try await claim(service, "t", read, write).verdict == "503 apple.unavailable")
            apple.fault.withLockedValue { $0 = nil }
            service.clock.advance(16)
            // Finding 20: another phone, which has had its promotion, presents the transaction.
            apple.burn("b")
            let other = try await claim(service, "t", ManyPhones.token("b", "r"), ManyPhones.token("b", "w"))
            #expect(verdict(other) == "refused")
        }
        try await run { (service: RunningService, apple: ManyPhones) async throws -> Void in
            let (read, write) = (ManyPhones.token("a", "r"), ManyPhones.token("a", "w"))
            apple.fault.withLockedValue { $0 = { call, _ in call.operation == "update" ? (500, takesEffect) : nil } }
            #expect(try await claim(service, "t", read, write).verdict == "503 apple.unavailable")
            apple.fault.withLockedValue { $0 = nil }
            #expect(try await claim(service, "t", read, write).verdict == "503 promotion.pending", "the lease runs")
            service.clock.advance(16)
            #expect(verdict(try await claim(service, "t", read, write)) == "granted")
            #expect(verdict(try await claim(service, "u", read, write)) == "refused")
            #expect(apple.isBurned("a"))
        }
    }

    /// A node that vanishes between the write and the answer: the next one with the same tokens gives the grant, once.
    @Test func aCrashAfterTheWriteLosesNothing() async throws {
        try await run { (service: RunningService, apple: ManyPhones) async throws -> Void in
            let (read, write) = (ManyPhones.token("a", "r"), ManyPhones.token("a", "w"))
            let claimed = try #require(
                PromotionClaim(promotion: "welcome", app: "shop", subject: .unnamed, transactionId: "t"))
            // What the vanished node did: it reserved, left its note, and set the bit.
            let standing = try await service.store.reserve(
                claimed, tokens: PromotionTokens(reading: read, writing: write), countingGrantsFrom: .distantPast,
                for: .seconds(15), at: service.clock.now)
            guard case .reserved(let reservation) = standing else { throw Failure("not reserved") }
            #expect(try await service.store.note(ClaimNote(first: true, lastUpdate: nil).text, on: reservation))
            apple.burn("a")
            #expect(try await claim(service, "t", read, write).status == 503)
            service.clock.advance(16)
            #expect(verdict(try await claim(service, "t", read, write)) == "granted")
            #expect(verdict(try await claim(service, "v", read, write)) == "refused")
        }
    }

    @Test func ifAppleRefusesTheLastQueryNothingIsGranted() async throws {
        try await run { (service: RunningService, apple: ManyPhones) async throws -> Void in
            apple.fault.withLockedValue {
                $0 = { call, earlier in
                    call.operation == "query" && earlier.contains { $0.operation == "update" } ? (400, true) : nil
                }
            }
            let reply = try await claim(service, "t", ManyPhones.token("a", "r"), ManyPhones.token("a", "w"))
            #expect(verdict(reply) != "granted")
            apple.fault.withLockedValue { $0 = nil }
            service.clock.advance(16)
            let again = try await claim(service, "t", ManyPhones.token("a", "r"), ManyPhones.token("a", "w"))
            #expect(verdict(again) == "refused")
        }
    }

    @Test func aUserOrAKeyGetsOneGrantUntilTheResetIsDue() async throws {
        try await run { (service: RunningService, apple: ManyPhones) async throws -> Void in
            let keyId = Base64.encode([UInt8](repeating: 7, count: 32))
            for member in [JSONValue.Member("user", "anna"), .init("keyId", .string(keyId))] {
                let name = member.name
                let first = try await claim(
                    service, name + "1", ManyPhones.token(name), ManyPhones.token(name), [member])
                #expect(verdict(first) == "granted")
                // A new phone of the same user or key.
                let second = ManyPhones.token(name + "new")
                #expect(verdict(try await claim(service, name + "2", second, second, [member])) == "refused")
                #expect(try await claim(service, name + "1", second, second, [member]).body == first.body)
                #expect(!apple.isBurned(name + "new"))
            }
            let both = try await claim(
                service, "t", ManyPhones.token("c"), ManyPhones.token("c"),
                [.init("user", "anna"), .init("keyId", .string(keyId))])
            #expect(both.verdict == "400 request.malformed")
            let zero = try await claim(
                service, "t", ManyPhones.token("c"), ManyPhones.token("c"), [.init("user", "a\u{0}b")])
            #expect(zero.verdict == "400 request.malformed")
            service.clock.advance(370 * 86_400)
            let renewed = try await claim(
                service, "user3", ManyPhones.token("usernew"), ManyPhones.token("usernew"), [.init("user", "anna")])
            #expect(verdict(renewed) == "granted")
        }
    }

    /// Two promotions, for what one of them does to the other's bit.
    private static func twoPromotions() -> Configuration {
        var configuration = configuration()
        configuration.bits.append(Configuration.Bit(bit: 1, name: "trial"))
        return configuration
    }

    /// An update writes both bits of a device. Claims of two promotions at once leave both set, so neither is granted again.
    @Test(arguments: AttackSite.available)
    func claimsOfTwoPromotionsKeepEachOthersBit(_ site: AttackSite) async throws {
        let apple = ManyPhones()
        try await site.run(Self.twoPromotions(), transport: apple) { service in
            for number in 0..<20 {
                let name = "phone\(number)"
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for promotion in ["welcome", "trial"] {
                        group.addTask {
                            let body: JSONValue = [
                                "app": "shop", "transactionId": .string(promotion), "user": .string(name),
                                "deviceTokens": [
                                    .string(ManyPhones.token(name)), .string(ManyPhones.token(name, "w")),
                                ],
                            ]
                            var reply: Reply
                            repeat {
                                reply = try await service.post(
                                    "/v1/promotions/\(promotion)/claim", body, token: RunningService.serverToken)
                            } while reply.verdict == "503 promotion.pending"
                            #expect(verdict(reply) == "granted", "\(promotion) of \(name)")
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(apple.bits(of: name) == [true, true], "\(name)")
            }
        }
    }

    /// Somebody whom nothing makes wait has read before the claim wrote, and writes after it.
    @Test(arguments: [1, 3]) func aBitThatWasWrittenOverIsWrittenAgain(_ times: Int) async throws {
        let apple = ManyPhones()
        try await RunningService.with(Self.twoPromotions(), transport: apple) { service in
            apple.fault.withLockedValue {
                $0 = { call, earlier in
                    let updates = earlier.count { $0.operation == "update" }
                    if call.operation == "query", earlier.last?.operation == "update", updates <= times {
                        apple.write(call.phone, (false, true))
                    }
                    return nil
                }
            }
            let reply = try await claim(service, "t", ManyPhones.token("a", "r"), ManyPhones.token("a", "w"))
            if times == 1 {
                #expect(verdict(reply) == "granted")
                #expect(apple.bits(of: "a") == [true, true])
                let operations = ["query", "query", "update", "query", "query", "update", "query"]
                #expect(apple.calls.map(\.operation) == operations)
            } else {
                // Nothing is granted whose bit was never seen, and the same tokens find out.
                #expect(reply.verdict == "503 apple.unavailable")
                #expect(apple.calls.count { $0.operation == "update" } == 3)
                service.clock.advance(21)
                let again = try await claim(service, "t", ManyPhones.token("a", "r"), ManyPhones.token("a", "w"))
                #expect(verdict(again) == "granted")
                #expect(apple.bits(of: "a") == [true, true])
            }
        }
    }

    /// A backend's update of one bit: as with a claim.
    @Test(arguments: [1, 3]) func anUpdateThatWasWrittenOverIsWrittenAgain(_ times: Int) async throws {
        let apple = ManyPhones()
        try await RunningService.with(Self.twoPromotions(), transport: apple) { service in
            apple.fault.withLockedValue {
                $0 = { call, earlier in
                    let updates = earlier.count { $0.operation == "update" }
                    if call.operation == "query", updates > 0, updates <= times {
                        apple.write(call.phone, (true, false))
                    }
                    return nil
                }
            }
            let reply = try await service.post(
                "/v1/devicecheck/update",
                [
                    "app": "shop", "deviceToken": .string(ManyPhones.token("a")), "transactionId": "t",
                    "bits": ["trial": true],
                ],
                token: RunningService.serverToken
            )
            #expect(reply.verdict == (times == 1 ? "200" : "503 apple.unavailable"))
            #expect(apple.bits(of: "a") == (times == 1 ? [true, true] : [true, false]))
            #expect(apple.calls.count { $0.operation == "update" } == (times == 1 ? 2 : 3))
        }
    }
}
