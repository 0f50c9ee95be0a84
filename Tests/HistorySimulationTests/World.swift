// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import Formats
import Foundation
import HTTPTypes
import Logging
import StoreSupport
import Synchronization
import TestSupport
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// Which attempt of which operation a task works for, and how many steps it has taken.
final class Attempt: Sendable {
    @TaskLocal static var current: Attempt?

    let operation: Int
    let number: Int
    let node: Int
    private let steps = Mutex(0)

    init(operation: Int, number: Int, node: Int) {
        (self.operation, self.number, self.node) = (operation, number, node)
    }

    /// The number of the step that is about to be taken.
    func nextStep() -> Int {
        steps.withLock { steps in
            defer { steps += 1 }
            return steps
        }
    }

    var name: String { number == 0 ? "op \(operation)" : "op \(operation).\(number)" }
}

/// The node that worked for somebody has crashed meanwhile.
struct NodeIsGone: Error {}

/// Nodes, a database, Apple and clients in one process, moved by a ``Scheduler``.
final class World: Sendable {
    /// One node: its clock, and the service where it runs.
    struct Node {
        var incarnation = 0
        var server: TrustServer?
        /// Until when the database cannot be reached.
        var partitionedUntil: Int64 = 0
    }

    private struct State {
        var nodes: [Node]
        var history = History()
        var bits: Set<String> = []
    }

    let plan: Plan
    let scheduler: Scheduler
    let disk: SimulatedDisk
    private let configuration: Configuration
    private let state: Mutex<State>

    init(_ plan: Plan, planted: PlantedBug? = nil) {
        self.plan = plan
        let scheduler = Scheduler(seed: plan.schedule)
        self.scheduler = scheduler
        disk = SimulatedDisk(scheduler: scheduler, hasServerClock: plan.hasServerClock, planted: planted)
        configuration = Scenery.configuration(isStrict: plan.isStrict)
        state = Mutex(State(nodes: plan.clocks.map { _ in Node() }))
    }

    /// Runs the plan to its end.
    static func history(of plan: Plan, planted: PlantedBug? = nil) async throws -> History {
        let world = World(plan, planted: planted)
        let phones = try await Scenery.attestedPhones()
        for (number, phone) in phones.enumerated() { try await world.disk.adopt(phone.registration, number) }
        for node in plan.clocks.indices { try await world.start(node) }
        let clients = Clients(world, phones: phones.map(\.phone))
        clients.begin()
        try await world.scheduler.run()
        return world.state.withLock { $0.history }
    }

    // MARK: Time

    /// A node's clock, milliseconds since 1970.
    func clock(of node: Int) -> Int64 {
        let clock = plan.clocks[node]
        return Scenery.start + clock.offset + scheduler.now * clock.rate / 100
    }

    /// The furthest clock of all.
    var latestClock: Int64 { max(plan.clocks.indices.map(clock).max() ?? 0, Scenery.start + scheduler.now) }

    private func sources(of node: Int, _ incarnation: Int) -> SystemSources {
        let random = Mutex(SplitMix(state: plan.seed &+ UInt64(node) << 32 &+ UInt64(incarnation) << 40))
        return SystemSources(
            now: { Date(milliseconds: self.clock(of: node)) },
            random: { count in random.withLock { random in (0..<count).map { _ in UInt8(random.below(256)) } } },
            uptime: { Double(self.scheduler.now) / 1000 })
    }

    // MARK: Nodes

    /// Starts a node, or starts it again.
    func start(_ node: Int) async throws {
        let incarnation = state.withLock { $0.nodes[node].incarnation }
        let quiet = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        let line = DatabaseLine(world: self, node: node, incarnation: incarnation)
        let server = try await TrustServer(
            configuration: configuration, store: WrappedTrustStore(disk.store, in: line),
            transport: SimulatedApple(world: self, node: node, incarnation: incarnation),
            sources: sources(of: node, incarnation), log: quiet, announce: { _ in })
        state.withLock { $0.nodes[node].server = server }
    }

    /// A node is gone at once, with everything that it was doing; a new one starts two seconds later.
    func crash(_ node: Int) {
        let crashed = state.withLock { state in
            guard state.nodes[node].server != nil else { return false }
            state.nodes[node].server = nil
            state.nodes[node].incarnation += 1
            return true
        }
        guard crashed else { return }
        say("node \(node) crashes")
        scheduler.after(2_000) {
            do {
                try await self.start(node)
                self.say("node \(node) is there again")
            } catch {
                self.say("node \(node) did not start: \(error)")
            }
        }
    }

    func partition(_ node: Int, for milliseconds: Int64) {
        say("node \(node) loses the database for \(milliseconds) ms")
        let until = scheduler.now + milliseconds
        state.withLock { $0.nodes[node].partitionedUntil = until }
    }

    func restartDatabase() {
        say("the database stops and starts again")
        disk.restart()
    }

    /// - Throws: ``NodeIsGone``.
    func mustRun(_ node: Int, _ incarnation: Int) throws {
        guard state.withLock({ $0.nodes[node].incarnation == incarnation }) else { throw NodeIsGone() }
    }

    func reaches(_ node: Int) -> Bool {
        let now = scheduler.now
        return state.withLock { $0.nodes[node].partitionedUntil <= now }
    }

    func server(_ node: Int) -> (server: TrustServer, incarnation: Int)? {
        state.withLock { state in state.nodes[node].server.map { ($0, state.nodes[node].incarnation) } }
    }

    // MARK: Apple

    /// Reads a phone's bit, or sets it.
    func bit(of phone: String, setting: Bool) -> Bool {
        state.withLock { state in
            if setting { state.bits.insert(phone) }
            return state.bits.contains(phone)
        }
    }

    // MARK: History

    /// Writes a line and gives its number.
    @discardableResult
    func say(_ text: String) -> Int {
        let seconds = scheduler.now
        return state.withLock { state in
            let time = "\(seconds / 1000)." + String(1000 + seconds % 1000).dropFirst()
            state.history.lines.append("\(state.history.lines.count)\t\(time)\t\(text)")
            return state.history.lines.count - 1
        }
    }

    func asked(_ attempt: Attempt, _ request: ClientRequest) -> Int {
        let line = say("\(attempt.name) to node \(attempt.node): \(request)")
        let time = clock(of: attempt.node)
        let lead = time - Scenery.start - scheduler.now
        return state.withLock { state in
            state.history.exchanges.append(
                Exchange(operation: attempt.operation, request: request, nodeTime: time, lead: lead, invoked: line))
            return state.history.exchanges.count - 1
        }
    }

    func answered(_ attempt: Attempt, _ exchange: Int, _ answer: ClientAnswer?) {
        let line = say("\(attempt.name): \(answer?.text ?? "no answer")")
        let latest = latestClock
        state.withLock { state in
            state.history.exchanges[exchange].returned = line
            state.history.exchanges[exchange].answer = answer
            state.history.exchanges[exchange].latestClock = latest
        }
    }
}

/// The line between a node and the database: every verb waits for its turn, and may be lost on the way there or back.
struct DatabaseLine: StoreVerbWrapper {
    let world: World
    let node: Int
    let incarnation: Int

    func run<Result: Sendable>(
        _ verb: String, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let attempt = Attempt.current else { return try await body() }
        let disk = world.disk
        return try await world.step(attempt, verb, node, incarnation) { isLost in
            guard world.reaches(node) else { throw StoreFault.unavailable("a partition") }
            return try await disk.run(verb, isLost: isLost, body)
        } fault: {
            StoreFault.unavailable("lost")
        }
    }
}

extension World {
    /// One step of an attempt: it waits for its turn, and something may go wrong with it.
    ///
    /// - Parameter body: does what is asked; it is told whether its answer will be lost.
    func step<Result: Sendable>(
        _ attempt: Attempt, _ name: String, _ node: Int, _ incarnation: Int,
        _ body: @escaping @Sendable (_ isLost: Bool) async throws -> Result, fault: () -> any Error
    ) async throws -> Result {
        let kind = plan.fault(attempt.operation, attempt.number, attempt.nextStep())
        await scheduler.turn()
        if case .stall(let time)? = kind {
            say("\(attempt.name): node \(node) stands still for \(time) ms before \(name)")
            await scheduler.sleep(time)
        }
        try mustRun(node, incarnation)
        func done(_ what: String) { say("\(attempt.name): \(name)\(what)") }
        switch kind {
        case .lostRequest:
            done(" is lost on its way")
            throw fault()
        case .lostReply:
            _ = try await body(true)
            done(", the answer is lost")
            throw fault()
        case .late(let time):
            done(" is given up")
            let work = attempt.name
            scheduler.after(time) {
                _ = try? await body(true)
                self.say("\(work): \(name), late")
            }
            throw fault()
        case .crashBefore:
            done(" is next")
            crash(node)
            throw NodeIsGone()
        case .crashAfter:
            _ = try await body(false)
            done("")
            crash(node)
            throw NodeIsGone()
        case .restartStore:
            restartDatabase()
            throw fault()
        case .stall, nil:
            let result = try await body(false)
            done("")
            return result
        }
    }
}

/// Apple's bits of devices. A device token is base64 of the phone's name, a space, and anything.
struct SimulatedApple: AppleTransport {
    let world: World
    let node: Int
    let incarnation: Int

    static func token(_ phone: Int, _ name: String) -> String { Base64.encode(Array("phone\(phone) \(name)".utf8)) }

    func send(_ request: AppleRequest) async throws -> AppleAnswer {
        guard let attempt = Attempt.current else { throw NodeIsGone() }
        let members = (try JSONReader.read(request.body)).members ?? []
        func value(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }
        let token = String(decoding: Base64.decode(value("device_token")?.text ?? "") ?? [], as: UTF8.self)
        let phone = String(token.prefix { $0 != " " })
        let isQuery = request.url.hasSuffix("query_two_bits")
        let isSetting = !isQuery && value("bit0") == .bool(true)
        let name = isQuery ? "Apple's bits of \(phone)" : "Apple sets the bit of \(phone)"
        return try await world.step(attempt, name, node, incarnation) { [world] _ in
            let bit = world.bit(of: phone, setting: isSetting)
            guard isQuery else { return AppleAnswer(status: 200) }
            guard bit else { return AppleAnswer(status: 200, body: Array("Failed to find bit state".utf8)) }
            return AppleAnswer(
                status: 200, body: Array(#"{"bit0":true,"bit1":false,"last_update_time":"2026-11"}"#.utf8))
        } fault: {
            AppleTransportFault(code: .appleUnreachable, reason: "lost")
        }
    }
}
