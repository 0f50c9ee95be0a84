// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import AppleSimulator
import Crypto
import Formats
import FoundationEssentials
import HTTPService
import Logging
import ServiceLifecycle
import SimulatedFleet
import TrustService
import TrustStores
import TrustTokens
import Vocabulary

/// The second half of the demonstration: simulated Apple, the trust service on SQLite, a fleet, a promotion, a token.
struct DemoService {
    let folder: String
    let devices: Int

    private static let appId = "SIMTEAM001.com.example.shop"

    /// Goes on with some work until somebody ends it.
    typealias Staying = (_ work: () async throws -> Void) async throws -> Void

    /// Runs it; whether everything went as it should.
    ///
    /// - Parameter stay: if given, the console is there as well, and its address is printed at the end; a device goes on in `work` until
    ///   this returns. nil ends everything at once.
    ///   - progress: called for each device that is done.
    func run(_ page: inout DemoPage, stay: Staying? = nil, progress: () -> Void = {}) async throws -> Bool {
        var silent = Logger(label: "sealward.demo") { _ in SwiftLogNoOpLogHandler() }
        silent.logLevel = .critical
        let log = silent
        let identity = try AppIdentity(DemoService.appId)
        var simulation = AppleSimulatorConfiguration()
        let key = AppleSimulatorConfiguration.teamKey(seed: simulation.seed, team: identity.prefix)
        simulation.teams = [.init(id: identity.prefix, keyId: StarterFiles.keyId, key: key.publicKey)]
        simulation.refreshAfter = .seconds(1)
        let simulator = try AppleSimulator(configuration: simulation)
        let ports = AsyncStream<Int>.makeStream()
        let apple = AppleSimulatorServer(simulator, logger: log) { ports.continuation.yield($0) }
        let appleGroup = ServiceGroup(configuration: .init(services: [apple], logger: log))
        let apples = Task { try await appleGroup.run() }
        defer { apples.cancel() }
        guard let port = await ports.stream.first(where: { _ in true }) else {
            throw CommandFault("simulated Apple did not start.")
        }
        let appleURL = "http://127.0.0.1:\(port)"

        let lines = AsyncStream<String>.makeStream()
        let transport = LiveAppleTransport()
        var starter = StarterFiles(
            app: "shop", identity: identity, listen: ListenAddress(host: "127.0.0.1", port: 0),
            apple: ListenAddress(host: "127.0.0.1", port: port), seed: simulation.seed)
        starter.more = [
            .init("limits", ["requestsPerSecondPerAddress": 100_000]),
            .init("receipts", ["refreshAfterSeconds": 1, "pollSeconds": 1]),
        ]
        if stay != nil { starter.more.append(.init("internalListen", "127.0.0.1:0")) }
        let files = try starter.files(in: folder, random: SystemSources.live.random)
        func token(_ name: String) -> String {
            String(decoding: files.first { $0.name == name }?.contents ?? [], as: UTF8.self).trimmed()
        }
        let (serverToken, adminToken) = (token(StarterFiles.serverToken), token(StarterFiles.adminToken))
        let server = try await TrustServer(
            configuration: try StarterFiles.settings(of: files, in: folder),
            store: try SQLTrustStore.sqlite(at: folder + "/sealward.sqlite"), transport: transport, log: log,
            announce: { lines.continuation.yield($0) })
        let serverGroup = ServiceGroup(configuration: .init(services: [server], logger: log))
        let servers = Task {
            // Without a listener no line is awaited.
            defer { lines.continuation.finish() }
            try await serverGroup.run()
        }
        var (address, internalAddress): (String?, String?) = (nil, nil)
        for await line in lines.stream {
            let last = line.split(separator: " ").last.map { String($0) }
            if line.hasPrefix("internal") { internalAddress = last } else { address = last }
            if address != nil, internalAddress != nil || stay == nil { break }
        }
        guard let address else { throw CommandFault("the service did not start.") }
        page.line("  simulated Apple on \(appleURL), the trust service on \(address), its store on SQLite")
        page.line("")

        let phones = HTTPTransport(timeout: .seconds(60), connectionsPerHost: 64)
        let calls = FleetCalls(
            send: { try await phones.send($0, $1, $2, body: $3) }, service: address, operators: internalAddress,
            apple: appleURL, app: "shop",
            serverToken: serverToken, adminToken: adminToken, tally: FleetTally())
        let good = try await meet(calls, &page, progress)
        if let stay, let internalAddress {
            page.heading("6. The console")
            page.line("  \(internalAddress)/console/")
            page.line("  Sign in with \(adminToken)")
            page.line("  One device keeps running. Ctrl-C stops everything.")
            // Risk had to show within seconds; who looks at a key sees its history and not a receipt a second.
            await simulator.renewReceipts(after: .seconds(86_400))
            try await stay { try await goOn(calls) }
        }
        await phones.shutDown()
        await serverGroup.triggerGracefulShutdown()
        _ = try? await servers.value
        await appleGroup.triggerGracefulShutdown()
        await transport.shutDown()
        return good
    }

    /// What the devices of the demonstration are.
    private var plan: Fleet.Plan {
        var plan = Fleet.Plan(appId: DemoService.appId)
        plan.devices = devices
        plan.watch = .seconds(20)
        return plan
    }

    /// A device that is used every two seconds, so that there is something to look at.
    private func goOn(_ calls: FleetCalls) async throws {
        let device = "demo-visitor"
        let script = DeviceScript(plan: plan, calls: calls, persona: .honest, device: device)
        _ = try await calls.phone("", ["device": device, "os": "27.0"])
        guard let key = try await script.attest() else { return }
        while !Task.isCancelled {
            _ = try await calls.app("assertions", try await script.signed(key))
            try await Task.sleep(for: .seconds(2))
        }
    }

    private func meet(_ calls: FleetCalls, _ page: inout DemoPage, _ progress: () -> Void) async throws -> Bool {
        let (plan, tally) = (plan, calls.tally)
        let start = ContinuousClock.now
        try await Fleet(plan: plan, calls: calls).run(progress: progress)
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        for line in await tally.text(elapsed: seconds, service: calls.service).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            page.line(line.isEmpty ? "" : "  " + line)
        }
        let brokers = await tally.brokers
        var good = await tally.isAsExpected
        good = try await showRisk(calls, &page, needsAlert: brokers.devices > 0 && brokers.noticed == 0) && good
        good = try await showPromotion(plan, calls, &page) && good
        good = try await showToken(plan, calls, &page) && good
        return good
    }

    /// The distribution of the risk metric, with the alerts that stand. A few honest devices are done before a receipt is renewed.
    ///
    /// - Parameter needsAlert: whether a broker is found only now, because its own requests were answered before its receipts were renewed.
    private func showRisk(_ calls: FleetCalls, _ page: inout DemoPage, needsAlert: Bool) async throws -> Bool {
        page.heading("3. The risk that the receipts show (keys per device within 30 days)")
        let reply = try await calls.risk()
        let metrics = reply.list("metrics")
        if metrics.isEmpty {
            page.line("  no receipt was refreshed in so short a time")
        } else {
            page.table(
                [["metric", "keys"]]
                    + metrics.map { line in
                        ["metric", "keys"].map { line.member($0)?.rendered(pretty: false) ?? "-" }
                    })
        }
        let alerts = reply.list("alerts")
        for alert in alerts {
            page.line("  ALERT \(alert.member("code")?.text ?? ""): \(alert.member("message")?.text ?? "")")
        }
        let hasAlert = alerts.contains { $0.member("code")?.text == Code.brokerDevice.rawValue }
        return reply.isSuccess && (hasAlert || !needsAlert)
    }

    /// A trial that each device gets once: an erase does not help.
    private func showPromotion(_ plan: Fleet.Plan, _ calls: FleetCalls, _ page: inout DemoPage) async throws -> Bool {
        page.heading("4. A promotion granted once per device (the two bits of DeviceCheck)")
        let device = "demo-phone"
        let script = DeviceScript(plan: plan, calls: calls, persona: .honest, device: device)
        _ = try await calls.phone("", ["device": device, "os": "27.0"])
        var answers: [Bool] = []
        for round in 1...2 {
            guard let key = try await script.attest() else { return false }
            var tokens: [String] = []
            for _ in 0..<2 {
                let made = try await calls.phone(
                    "/\(device)/token", ["app": plan.appId, "environment": plan.environment])
                tokens.append(made.text("deviceToken") ?? "")
            }
            let members =
                #""promotion":"welcome","transactionId":"demo-\#(round)","deviceTokens":["\#(tokens[0])","\#(tokens[1])"]"#
            let reply = try await calls.app("promotions/welcome/claim", try await script.signed(key, saying: members))
            guard let granted = reply.body.member("granted")?.flag else {
                page.line("  claim \(round): \(reply.code)")
                return false
            }
            answers.append(granted)
            page.line(
                "  \(round == 1 ? "first claim" : "after erasing the phone, with a new key"): \(granted ? "granted" : "not granted")"
            )
            _ = try await calls.phone("/\(device)/erase", [:])
        }
        return answers == [true, false]
    }

    /// A token for an attested key, and what a gateway says to it.
    private func showToken(_ plan: Fleet.Plan, _ calls: FleetCalls, _ page: inout DemoPage) async throws -> Bool {
        page.heading("5. A token for a key that has proven itself")
        let device = "demo-tablet"
        let script = DeviceScript(plan: plan, calls: calls, persona: .honest, device: device)
        _ = try await calls.phone("", ["device": device, "os": "26.1"])
        guard let key = try await script.attest() else { return false }
        let reply = try await calls.app("tokens", try await script.signed(key))
        guard let token = reply.text("token") else {
            page.line("  no token: \(reply.code)")
            return false
        }
        page.line("  \(token)")
        if let claims = DemoService.claims(of: token) { page.line("  says \(claims)") }
        let refused = try await calls.authorize(token, simulatedAllowed: false)
        let allowed = try await calls.authorize(token, simulatedAllowed: true)
        page.line(
            "  a gateway gets \(refused): it comes from a simulated device; a gateway that allows those gets \(allowed)"
        )
        return refused != 204 && allowed == 204
    }

    private static func claims(of token: String) -> String? {
        let parts = token.split(separator: ".")
        guard parts.count == 3 else { return nil }
        // With spaces, so that the line can be broken, and with slashes as people write them.
        return Base64.decodeURL(String(parts[1])).map {
            String(decoding: $0, as: UTF8.self).replacing(",\"", with: ", \"").replacing("\\/", with: "/")
        }
    }
}

/// What the demonstration prints, line by line as it is known.
struct DemoPage {
    private(set) var text = ""
    private let print: (String) -> Void

    /// - Parameter print: is given each line, with its end, at once.
    init(print: @escaping (String) -> Void) { self.print = print }

    mutating func line(_ line: String) {
        text += line + "\n"
        print(line + "\n")
    }

    mutating func heading(_ heading: String) {
        if !text.isEmpty { line("") }
        line(heading)
        line("")
    }

    mutating func table(_ rows: [[String]]) {
        for row in FleetTally.table(rows).split(separator: "\n") { line("  " + row) }
    }
}
