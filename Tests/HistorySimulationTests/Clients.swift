// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Formats
import Foundation
import HTTPTypes
import Synchronization
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// Everybody who asks: the scripts of a plan, the phones, and what was got from the service so far.
final class Clients: Sendable {
    /// A request as bytes, and what it means.
    private struct Message: Sendable {
        let method: String
        let path: String
        var query = ""
        var headers = HTTPFields()
        var body: [UInt8] = []
        var caller = Authority.anyone
        let request: ClientRequest
        /// The place of the token that is asked for.
        var token: (number: Int, key: Int)?
    }

    private struct Held: Sendable {
        var phones: [Int: Scenery.Phone]
        var challenges: [Int: (bytes: [UInt8], expires: Int64)] = [:]
        var tokens: [Int: (text: String, facts: HeldToken)] = [:]
        var sent: [Int: Message] = [:]
    }

    private let world: World
    private let held: Mutex<Held>

    init(_ world: World, phones: [Scenery.Phone]) {
        self.world = world
        held = Mutex(Held(phones: Dictionary(uniqueKeysWithValues: phones.enumerated().map { ($0, $1) })))
    }

    /// Puts the first operation of every client in line.
    func begin() {
        let clients = Set(world.plan.operations.map(\.client)).sorted()
        for client in clients { goOn(world.plan.operations.filter { $0.client == client }[...]) }
    }

    private func goOn(_ script: ArraySlice<Plan.Operation>) {
        guard let operation = script.first else { return }
        let delay = if case .wait(let time) = operation.kind { operation.delay + time } else { operation.delay }
        world.scheduler.after(delay) {
            await self.world.scheduler.launch {
                await self.perform(operation)
                self.goOn(script.dropFirst())
            }
        }
    }

    private func perform(_ operation: Plan.Operation) async {
        switch operation.kind {
        case .wait: break
        case .crash: world.crash(operation.node)
        case .restartStore: world.restartDatabase()
        case .partition(let time): world.partition(operation.node, for: time)
        case .sweep: await sweep(operation)
        case .challenge(let number): await challenge(number, operation)
        default:
            guard let message = await message(of: operation) else { return }
            held.withLock { $0.sent[operation.number] = message }
            await send(message, operation)
        }
    }

    // MARK: Operations without an answer that counts

    private func sweep(_ operation: Plan.Operation) async {
        guard let (server, _) = world.server(operation.node) else { return }
        let attempt = Attempt(operation: operation.number, number: 0, node: operation.node)
        await Attempt.$current.withValue(attempt) { await Maintenance(server.parts).sweep() }
    }

    private func challenge(_ number: Int, _ operation: Plan.Operation) async {
        guard let challenge = await challenge("assert", operation) else { return }
        held.withLock { $0.challenges[number] = challenge }
    }

    private func challenge(_ purpose: String, _ operation: Plan.Operation) async -> (bytes: [UInt8], expires: Int64)? {
        let body: JSONValue = ["purpose": .string(purpose)]
        let expires = world.clock(of: operation.node) + 300_000
        let reply = await answer(
            "POST", "/v1/apps/shop/challenges", body: Array(body.rendered(pretty: false).utf8), node: operation.node)
        guard let reply, let bytes = Clients.member("challenge", of: reply)?.text.flatMap(Base64.decode) else {
            return nil
        }
        return (bytes, expires)
    }

    // MARK: Requests

    /// The request of an operation; nil where the client lacks what it needs.
    private func message(of operation: Plan.Operation) async -> Message? {
        switch operation.kind {
        case .attest(let key): return await attestation(of: key, operation)
        case .assert(let key, let challenge): return assertion("assertions", key, challenge)
        case .token(let number, let key, let challenge, let singleUse):
            var message = assertion("tokens", key, challenge, singleUse ? [.init("singleUse", true)] : [])
            message?.token = (number, key)
            return message
        case .authorize(let number, let cost):
            guard let token = held.withLock({ $0.tokens[number] }) else { return nil }
            var headers = HTTPFields()
            headers[.authorization] = "Bearer \(token.text)"
            if let name = HTTPField.Name("X-Cost") { headers[name] = String(cost) }
            return Message(
                method: "GET", path: "/v1/authorize", query: "env=any&simulated=allow&quota=calls", headers: headers,
                request: .authorize(token.facts, cost: cost))
        case .consume(let number):
            guard let token = held.withLock({ $0.tokens[number] }) else { return nil }
            let body: JSONValue = ["token": .string(token.text), "environment": "any", "simulated": "allow"]
            return post("/v1/tokens/consume", body, .server, .consume(token.facts))
        case .revoke(let key):
            guard let path = path(of: key) else { return nil }
            return post(path + "/revoke", [:], .admin, .revoke(key: key))
        case .show(let key):
            guard let path = path(of: key) else { return nil }
            return Message(method: "GET", path: path, caller: .admin, request: .show(key: key))
        case .claim(let subject, let transaction, let phone):
            let tokens = ["reads", "writes"].map { name -> JSONValue in
                .string(SimulatedApple.token(phone, "\(name) \(transaction)"))
            }
            return post(
                "/v1/promotions/welcome/claim",
                [
                    "app": "shop", "user": .string("user \(subject)"),
                    "transactionId": .string("transaction \(transaction)"), "deviceTokens": .array(tokens),
                ],
                .server,
                .claim(subject: subject, transaction: transaction)
            )
        case .again(let other): return held.withLock { $0.sent[other] }
        case .challenge, .sweep, .wait, .crash, .restartStore, .partition: return nil
        }
    }

    private func post(_ path: String, _ body: JSONValue, _ caller: Authority, _ request: ClientRequest) -> Message {
        Message(
            method: "POST", path: path, body: Array(body.rendered(pretty: false).utf8), caller: caller, request: request
        )
    }

    private func path(of key: Int) -> String? {
        let id = held.withLock { $0.phones[key]?.keyId }.flatMap { KeyIdentifier(strictBase64: $0) }
        return id.map { "/v1/keys/\(Base64.encodeURL($0.bytes))" }
    }

    private func attestation(of key: Int, _ operation: Plan.Operation) async -> Message? {
        guard let challenge = await challenge("attest", operation), var phone = try? Scenery.Phone(key) else {
            return nil
        }
        // A key is attested once: whoever comes second has nothing to send.
        guard held.withLock({ $0.phones[key] == nil }) else { return nil }
        let instant = Date(milliseconds: Scenery.start + world.scheduler.now)
        guard let object = try? phone.attest(challenge.bytes, at: instant) else { return nil }
        held.withLock { [phone] in $0.phones[key] = phone }
        return post(
            "/v1/apps/shop/attestations",
            [
                "keyId": .string(phone.keyId), "attestation": .string(Base64.encode(object)),
                "challenge": .string(Base64.encode(challenge.bytes)),
            ],
            .anyone,
            .attest(key: key, challenge: -1 - operation.number, expires: challenge.expires)
        )
    }

    private func assertion(_ route: String, _ key: Int, _ challenge: Int, _ more: [JSONValue.Member] = []) -> Message? {
        let signed = held.withLock { held -> (keyId: String, data: [UInt8], object: [UInt8], expires: Int64)? in
            guard let challenge = held.challenges[challenge], let keyId = held.phones[key]?.keyId else { return nil }
            let document: JSONValue = ["challenge": .string(Base64.encode(challenge.bytes))]
            let data = Array(document.rendered(pretty: false).utf8)
            let hash = Array(SHA256.hash(data: data))
            let object = try? held.phones[key]?.state.generateAssertion(
                keyId, clientDataHash: hash, for: Scenery.app, fault: nil)
            held.phones[key]?.assertions += 1
            return object.map { (keyId, data, $0, challenge.expires) }
        }
        guard let signed, let counter = held.withLock({ $0.phones[key]?.assertions }) else { return nil }
        let members: [JSONValue.Member] = [
            .init("keyId", .string(signed.keyId)), .init("assertion", .string(Base64.encode(signed.object))),
            .init("clientData", .string(Base64.encode(signed.data))),
        ]
        return post(
            "/v1/apps/shop/\(route)", .object(members + more), .anyone,
            .assert(key: key, counter: counter, challenge: challenge, expires: signed.expires))
    }

    // MARK: Sending

    private func send(_ message: Message, _ operation: Plan.Operation) async {
        let count = world.plan.clocks.count
        if operation.isDoubled {
            let twin = Attempt(operation: operation.number, number: 9, node: (operation.node + 1) % count)
            world.scheduler.after(1) { await self.world.scheduler.launch { await self.deliver(message, twin) } }
        }
        for number in 0...operation.retries {
            let node = (operation.node + number) % count
            let attempt = Attempt(operation: operation.number, number: number, node: node)
            if await deliver(message, attempt) { return }
            await world.scheduler.sleep(200 << Int64(number))
        }
    }

    /// Delivers a request to a node.
    ///
    /// - Returns: whether a client would be content with the answer.
    @discardableResult
    private func deliver(_ message: Message, _ attempt: Attempt) async -> Bool {
        guard let (_, incarnation) = world.server(attempt.node) else {
            world.say("\(attempt.name): node \(attempt.node) is not there")
            return false
        }
        let exchange = world.asked(attempt, message.request)
        let reply = await Attempt.$current.withValue(attempt) {
            await answer(
                message.method, message.path, query: message.query, headers: message.headers, body: message.body,
                caller: message.caller, node: attempt.node)
        }
        guard let reply, (try? world.mustRun(attempt.node, incarnation)) != nil else {
            world.answered(attempt, exchange, nil)
            return false
        }
        let told = Clients.read(reply)
        world.answered(attempt, exchange, told)
        if let (number, key) = message.token { keep(reply, number, key) }
        return !told.isFault
    }

    /// What a node answers; nil where it is not there.
    private func answer(
        _ method: String, _ path: String, query: String = "", headers: HTTPFields = HTTPFields(), body: [UInt8] = [],
        caller: Authority = .anyone, node: Int
    ) async -> Answer? {
        guard let (server, _) = world.server(node),
            case .route(let route, let parameters) = server.table.match(method: method, path: path)
        else { return nil }
        let call = Call(
            operation: route.operation, parameters: parameters, query: query, headers: headers, body: body,
            address: "192.0.2.1", correlationId: "", caller: caller, now: Date(milliseconds: world.clock(of: node)))
        do {
            return try await route.handler(call)
        } catch {
            return route.errors.answer(Problem(error), "")
        }
    }

    private static func member(_ name: String, of answer: Answer) -> JSONValue? {
        (try? JSONReader.read(answer.body))?.members?.first { $0.name == name }?.value
    }

    private static func read(_ answer: Answer) -> ClientAnswer {
        var told = ClientAnswer(status: answer.status, code: answer.code?.description)
        guard answer.code == nil else { return told }
        if case .integer(let counter)? = member("counter", of: answer) { told.number = counter }
        for name in ["granted", "revoked"] {
            if case .bool(let flag)? = member(name, of: answer) { told.flag = flag }
        }
        let left = answer.headers.first { $0.name.canonicalName == "x-sealward-quota-remaining" }
        if let left { told.number = Int(left.value) }
        return told
    }

    private func keep(_ answer: Answer, _ number: Int, _ key: Int) {
        guard let text = Clients.member("token", of: answer)?.text else { return }
        let parts = text.split(separator: ".")
        guard parts.count == 3, let payload = Base64.decodeURL(String(parts[1])),
            let members = (try? JSONReader.read(payload))?.members
        else { return }
        func whole(_ name: String) -> Int64 {
            if case .integer(let value)? = members.first(where: { $0.name == name })?.value { return Int64(value) }
            return 0
        }
        let facts = HeldToken(number: number, key: key, issued: whole("iat"), expires: whole("exp"))
        held.withLock { $0.tokens[number] = (text, facts) }
    }
}
