// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TestSupport
import Testing

@testable import AppAttestClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A service that answers as written, for what the real one does not do on request.
private final class ScriptedService: HTTPTransport {
    let sent = Shared<[String]>([])
    private let answer: @Sendable (String, Int) throws -> HTTPAnswer

    init(_ answer: @escaping @Sendable (_ path: String, _ number: Int) throws -> HTTPAnswer) { self.answer = answer }

    func send(_ request: URLRequest) async throws -> HTTPAnswer {
        let path = request.url?.path ?? ""
        let number = sent.withLock { sent in
            sent.append(path)
            return sent.filter { $0 == path }.count
        }
        return try answer(path, number)
    }

    func count(_ suffix: String) -> Int { sent.withLock { $0.filter { $0.hasSuffix(suffix) }.count } }

    static func json(_ text: String, status: Int = 200) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: ["Content-Type": "application/json"], body: Data(text.utf8))
    }

    static func problem(_ status: Int, _ code: String, _ retry: String?, seconds: Int? = nil) -> HTTPAnswer {
        var text = #"{"type": "urn:sealward:problem:\#(code)", "code": "\#(code)""#
        if let retry { text += #", "retry": "\#(retry)""# }
        if let seconds { text += #", "retryAfterSeconds": \#(seconds)"# }
        return HTTPAnswer(
            status: status, headers: ["content-type": "application/problem+json"], body: Data((text + "}").utf8))
    }

    /// One that answers calls of one kind with a problem, and all others as on a good day.
    static func refusing(
        _ suffix: String, _ status: Int, _ code: String, _ retry: String, seconds: Int? = nil
    ) -> ScriptedService {
        ScriptedService { path, number in
            path.hasSuffix(suffix) ? problem(status, code, retry, seconds: seconds) : good(path, number)
        }
    }

    static let page = HTTPAnswer(status: 404, headers: ["Content-Type": "text/html"], body: Data("<html>".utf8))

    /// What the service answers on a good day.
    static func good(_ path: String, _ number: Int, life: Int = 3_600) -> HTTPAnswer {
        switch path.split(separator: "/").last {
        case "challenges": json(#"{"challenge": "AAAAAAAAAAAAAAAAAAAAAA==", "ttlSeconds": 300}"#, status: 201)
        case "attestations": json(#"{"keyId": "x", "environment": "production"}"#, status: 201)
        case "tokens": json(#"{"token": "token-\#(number)", "expiresIn": \#(life)}"#)
        default: HTTPAnswer(status: 202, headers: [:], body: Data())
        }
    }
}

/// Lets nobody through until it is opened.
private actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watching: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        guard !isOpen else { return }
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            watching.forEach { $0.resume() }
            watching = []
        }
    }

    /// Returns once somebody waits at the gate.
    func reached() async {
        guard waiting.isEmpty, !isOpen else { return }
        await withCheckedContinuation { watching.append($0) }
    }

    func open() {
        isOpen = true
        waiting.forEach { $0.resume() }
        waiting = []
    }
}

/// A store that deletes when the gate lets it.
private actor SlowStore: ItemStore {
    private var items: [String: Data] = [:]
    private(set) var shared: [String] = []
    private let gate: Gate

    init(_ gate: Gate) { self.gate = gate }

    func read(_ name: String) -> Data? { items[name] }

    func write(_ item: Data?, _ name: String) async {
        if item == nil { await gate.pass() }
        items[name] = item
        let token = item.flatMap { try? JSONDecoder().decode(SharedToken.self, from: $0) }
        if let token { shared.append(token.value) }
    }
}

/// A service that gives tokens when the gate lets it.
private struct SlowTokens: HTTPTransport {
    private let service: ScriptedService
    private let gate: Gate

    init(_ service: ScriptedService, _ gate: Gate) { (self.service, self.gate) = (service, gate) }

    func send(_ request: URLRequest) async throws -> HTTPAnswer {
        if request.url?.path.hasSuffix("/tokens") == true { await gate.pass() }
        return try await service.send(request)
    }
}

/// Sessions against a service that answers as written.
@Suite struct ScriptedServiceTests {
    private static func session(
        _ service: any HTTPTransport, _ clock: ManualClock = ManualClock(), phone: SimulatedPhone? = nil,
        store: any ItemStore = MemoryStore(), _ change: (inout AttestedSession.Configuration) -> Void = { _ in }
    ) async throws -> AttestedSession {
        let url = try #require(URL(string: "https://trust.example.com/"))
        var configuration = AttestedSession.Configuration(
            service: url, scope: KeyScope(app: "shop", environment: .production, group: "g"), hosts: ["API.example.com"]
        )
        change(&configuration)
        let device: SimulatedPhone
        if let phone { device = phone } else { device = await SimulatedPhone() }
        return AttestedSession(configuration, device: device, store: store, transport: service, clock: clock.clock)
    }

    // MARK: Tokens

    @Test func aTokenIsRenewedAtHalfItsLifeWhileTheOldOneIsUsed() async throws {
        let clock = ManualClock()
        let service = ScriptedService { ScriptedService.good($0, $1) }
        let session = try await Self.session(service, clock)
        #expect(try await session.token().value == "token-1")
        clock.advance(.seconds(1_799))
        #expect(try await session.token().value == "token-1")
        #expect(service.count("/tokens") == 1)
        clock.advance(.seconds(2))
        let values = try await allAtOnce(100) { _ in try await session.token().value }
        #expect(Set(values).isSubset(of: ["token-1", "token-2"]))
        try await eventually("it is the next one") { try await session.token().value == "token-2" }
        #expect(service.count("/tokens") == 2)
    }

    @Test func aTokenIsUsedToItsEndWhileTheServiceIsAway() async throws {
        let clock = ManualClock()
        let isAway = Shared(false)
        let service = ScriptedService { path, number in
            if isAway.withLock({ $0 }) { throw URLError(.cannotConnectToHost) }
            return ScriptedService.good(path, number)
        }
        let session = try await Self.session(service, clock)
        _ = try await session.token()
        isAway.withLock { $0 = true }
        for _ in 0..<11 {
            clock.advance(.seconds(300))
            #expect(try await session.token().value == "token-1")
        }
        clock.advance(.seconds(600))
        await #expect(throws: SessionError.self) { try await session.token() }
        isAway.withLock { $0 = false }
        clock.advance(.seconds(3_600))
        #expect(try await session.token().value != "token-1")
    }

    @Test func aTokenThatIsNotAcceptedIsReplacedOnce() async throws {
        let service = ScriptedService { path, number in
            if path == "/orders" { return HTTPAnswer(status: 401, headers: [:], body: Data()) }
            return ScriptedService.good(path, number)
        }
        let session = try await Self.session(service)
        let url = try #require(URL(string: "https://api.example.com/orders"))
        #expect(try await session.send(URLRequest(url: url)).status == 401)
        #expect(service.count("/orders") == 2 && service.count("/tokens") == 2)
        #expect(service.count("/attestations") == 1)
    }

    @Test func singleUseTokensAreNeverKept() async throws {
        let session = try await Self.session(ScriptedService { ScriptedService.good($0, $1, life: 300) })
        let first = try await session.singleUseToken()
        #expect(try await session.singleUseToken() != first)
        #expect(first.isSingleUse && first.fieldValue == "Bearer token-1")
    }

    @Test func theSimulatorOfAppleUsesADebugToken() async throws {
        let service = ScriptedService { path, number in
            if path == "/v1/projects/1234/apps/1:1234:ios:abc:exchangeDebugToken" {
                return ScriptedService.json(#"{"token": "debug-\#(number)", "ttl": "3600s"}"#)
            }
            return HTTPAnswer(status: 200, headers: [:], body: Data())
        }
        let session = try await Self.session(service, phone: await SimulatedPhone(isSupported: false)) {
            $0.debug = DebugToken(token: "secret", resource: "projects/1234/apps/1:1234:ios:abc")
        }
        let url = try #require(URL(string: "https://api.example.com/orders"))
        for request in [
            try await session.authorize(URLRequest(url: url)), try await session.sign(URLRequest(url: url)),
        ] {
            #expect(request.value(forHTTPHeaderField: "X-Firebase-AppCheck") == "debug-1")
            #expect(request.value(forHTTPHeaderField: "Authorization") == nil)
        }
        #expect(service.sent.withLock { $0.count } == 1)
        #expect(!"\(DebugToken(token: "secret", resource: "r"))".contains("secret"))
    }

    @Test func aDebugTokenThatIsNotKnownIsRefusedAtOnce() async throws {
        let service = ScriptedService { _, _ in ScriptedService.json(#"{"error": {"code": 403}}"#, status: 403) }
        let session = try await Self.session(service) { $0.debug = DebugToken(token: "secret", resource: "r") }
        await #expect(throws: SessionError(.refused, "debug-token")) { try await session.token() }
        #expect(service.sent.withLock { $0.count } == 1)
    }

    // MARK: What the service says, and who else says something

    @Test func aProxysPageThrowsNoKeyAway() async throws {
        let isBroken = Shared(false)
        let service = ScriptedService { path, number in
            isBroken.withLock { $0 } ? ScriptedService.page : ScriptedService.good(path, number)
        }
        let (phone, clock) = (await SimulatedPhone(), ManualClock())
        let session = try await Self.session(service, clock, phone: phone)
        let key = try await session.attestedKey()
        isBroken.withLock { $0 = true }
        let error = await #expect(throws: SessionError.self) { try await session.token() }
        #expect(error?.kind == .unavailable && error?.code == "service")
        isBroken.withLock { $0 = false }
        clock.advance(.seconds(60))
        _ = try await session.token()
        #expect(try await session.attestedKey() == key && phone.calls.generated.count == 1)
    }

    @Test func theServiceSaysHowLongToWait() async throws {
        let clock = ManualClock()
        let service = ScriptedService { path, number in
            if path.hasSuffix("/tokens"), number == 1 {
                return ScriptedService.problem(429, "limit.address", "after", seconds: 20)
            }
            return ScriptedService.good(path, number)
        }
        #expect(try await Self.session(service, clock).token().value == "token-2")
        #expect(clock.slept == [.seconds(20)])
    }

    @Test func whoeverMustWaitLongerThanTheirPatienceIsToldSo() async throws {
        let service = ScriptedService.refusing("/challenges", 503, "store.unavailable", "after", seconds: 600)
        let session = try await Self.session(service)
        await #expect(throws: SessionError(.unavailable, "store.unavailable", retryAfter: .seconds(600))) {
            try await session.attestedKey()
        }
        // Nobody asks again before that.
        for _ in 0..<50 { await #expect(throws: SessionError.self) { try await session.token() } }
        #expect(service.count("/challenges") == 1)
    }

    @Test func neverIsNotRepeated() async throws {
        let service = ScriptedService.refusing("/tokens", 403, "assert.app-id.mismatch", "never")
        let phone = await SimulatedPhone()
        let session = try await Self.session(service, phone: phone)
        await #expect(throws: SessionError(.refused, "assert.app-id.mismatch")) { try await session.token() }
        #expect(service.count("/tokens") == 1 && phone.calls.generated.count == 1)
    }

    @Test func newChallengesEndAfterAFewTries() async throws {
        let service = ScriptedService.refusing("/tokens", 409, "challenge.expired", "new-challenge")
        let phone = await SimulatedPhone()
        let session = try await Self.session(service, phone: phone)
        await #expect(throws: SessionError(.refused, "challenge.expired")) { try await session.token() }
        #expect(service.count("/tokens") == 4 && phone.calls.generated.count == 1)
    }

    @Test func aServiceThatKnowsNoKeyDoesNotUseUpKeys() async throws {
        let (clock, phone) = (ManualClock(), await SimulatedPhone())
        let service = ScriptedService.refusing("/tokens", 404, "key.unknown", "new-key")
        let session = try await Self.session(service, clock, phone: phone)
        for _ in 0..<100 { await #expect(throws: SessionError.self) { try await session.token() } }
        #expect(phone.calls.generated.count == 2)
        for _ in 0..<1_430 {
            clock.advance(.seconds(60))
            _ = try? await session.token()
        }
        #expect(phone.calls.generated.count == 2)
        for _ in 0..<60 {
            clock.advance(.seconds(60))
            _ = try? await session.token()
        }
        #expect(phone.calls.generated.count == 3)
    }

    @Test func aNewKeyIsBelievedOnceADayOverLaunches() async throws {
        let (clock, phone, store) = (ManualClock(), await SimulatedPhone(), MemoryStore())
        let service = ScriptedService.refusing("/tokens", 404, "key.unknown", "new-key")
        for _ in 0..<10 {
            let session = try await Self.session(service, clock, phone: phone, store: store)
            await #expect(throws: SessionError.self) { try await session.token() }
            clock.advance(.seconds(3600))
        }
        #expect(phone.calls.generated.count == 2)
    }

    @Test(arguments: [
        ("https://other.example/orders", "request.host"), ("https://api.example.com:8443/orders", "request.host"),
        ("https://api.example.com.other.example/", "request.host"),
        ("https://api.example.com@other.example/", "request.host"),
        ("http://api.example.com/orders", "request.scheme"), ("ftp://api.example.com/orders", "request.scheme"),
    ])
    func proofsAndTokensStayWithTheirHosts(_ text: String, _ code: String) async throws {
        let service = ScriptedService { ScriptedService.good($0, $1) }
        let session = try await Self.session(service)
        let request = URLRequest(url: try #require(URL(string: text)))
        let refusal = SessionError(.refused, code)
        await #expect(throws: refusal) { try await session.send(request) }
        await #expect(throws: refusal) { try await session.sendSigned(request) }
        await #expect(throws: refusal) { try await session.sign(request) }
        await #expect(throws: refusal) { try await session.authorize(request) }
        #expect(service.count("/orders") == 0 && service.count("/tokens") == 0)
    }

    @Test func whatABackendSaysInItsOwnNameIsTheApps() async throws {
        let service = ScriptedService { path, number in
            guard path == "/orders" else { return ScriptedService.good(path, number) }
            let body = Data(#"{"type": "about:blank", "code": "order.unknown", "retry": "new-key"}"#.utf8)
            return HTTPAnswer(status: 404, headers: ["Content-Type": "application/problem+json"], body: body)
        }
        let phone = await SimulatedPhone()
        let session = try await Self.session(service, phone: phone)
        let url = try #require(URL(string: "https://api.example.com/orders"))
        #expect(try await session.sendSigned(URLRequest(url: url)).status == 404)
        #expect(service.count("/orders") == 1 && phone.calls.generated.count == 1)
    }

    // MARK: What is kept

    /// A Keychain that cannot be read before the first unlock.
    private actor LockedStore: ItemStore {
        var isLocked = true
        var items: [String: Data] = [:]
        func unlock() { isLocked = false }
        func put(_ other: MemoryStore) async { for name in await other.names { items[name] = await other.read(name) } }
        func read(_ name: String) throws -> Data? {
            guard !isLocked else { throw Failure("locked") }
            return items[name]
        }
        func write(_ item: Data?, _ name: String) throws {
            guard !isLocked else { throw Failure("locked") }
            items[name] = item
        }
    }

    @Test func aKeychainThatIsLockedThrowsNoKeyAway() async throws {
        let (phone, memory, locked) = (await SimulatedPhone(), MemoryStore(), LockedStore())
        let service = ScriptedService { ScriptedService.good($0, $1) }
        let key = try await Self.session(service, phone: phone, store: memory).attestedKey()
        await locked.put(memory)
        let session = try await Self.session(service, phone: phone, store: locked)
        await #expect(throws: SessionError(.unavailable, "storage")) { try await session.token() }
        await locked.unlock()
        #expect(try await session.attestedKey() == key)
        _ = try await session.token()
        #expect(phone.calls.generated.count == 1)
    }

    @Test func namesOfItemsShowNobody() async throws {
        let store = MemoryStore()
        let service = ScriptedService { ScriptedService.good($0, $1) }
        _ = try await Self.session(service, store: store) {
            $0.scope.user = "anna@example.com"
            $0.sharesToken = true
        }.token()
        let names = await store.names
        #expect(names.count == 2 && names.allSatisfy { !$0.contains("anna") && !$0.contains("shop") })
    }

    @Test func scopesThatDifferHaveDifferentItems() {
        var names: Set<String> = []
        for (app, user, group) in [
            ("a", "b", "c"), ("ab", nil, "c"), ("a", nil, "bc"), ("a", "", "bc"), ("a", "bc", ""),
        ] {
            for environment in [KeyScope.Environment.development, .production] {
                names.insert(KeyScope(app: app, user: user, environment: environment, group: group).keyItem)
            }
        }
        #expect(names.count == 10)
    }

    @Test func aKeyThatIsForgottenIsMadeAnew() async throws {
        let (phone, store) = (await SimulatedPhone(), MemoryStore())
        let session = try await Self.session(
            ScriptedService { ScriptedService.good($0, $1) }, phone: phone, store: store)
        let first = try await session.attestedKey()
        try await session.forgetKey()
        #expect(await store.names.isEmpty)
        #expect(try await session.attestedKey() != first)
    }

    /// A token under way when the key is forgotten is neither handed out nor left for extensions, and no key that is being deleted comes back.
    @Test func whatIsUnderWayIsForgottenToo() async throws {
        let (deletion, answer) = (Gate(), Gate())
        let store = SlowStore(deletion)
        let service = SlowTokens(ScriptedService { ScriptedService.good($0, $1) }, answer)
        let session = try await Self.session(service, store: store) { $0.sharesToken = true }
        let first = try await session.attestedKey()
        let token = Task { try await session.token() }
        await answer.reached()
        let forgetting = Task { try await session.forgetKey() }
        await deletion.reached()
        let during = Task { try await session.attestedKey() }
        await answer.open()
        await #expect(throws: CancellationError.self) { try await token.value }
        await deletion.open()
        try await forgetting.value
        #expect(try await during.value != first)
        #expect(try await session.token().value == "token-2")
        #expect(await store.shared == ["token-2"])
    }

    @Test func whoeverGivesUpLeavesTheAttestationToTheOthers() async throws {
        let phone = await SimulatedPhone()
        let session = try await Self.session(ScriptedService { ScriptedService.good($0, $1) }, phone: phone)
        let impatient = Task { try await session.attestedKey() }
        impatient.cancel()
        _ = try? await impatient.value
        _ = try await session.token()
        #expect(phone.calls.certified.count == 1)
    }
}
