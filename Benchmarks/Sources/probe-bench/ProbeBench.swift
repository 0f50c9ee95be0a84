// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import BenchReport
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import TLSModel
import TLSProbe

/// Client CPU of one TLS 1.2 hello-to-chain probe against a full handshake of swift-nio-ssl, in turns, against the same server.
///
/// The server is `openssl s_server` in a process of its own, so that only the client's work is counted. A probe reads the chain
/// and checks the signature of the key exchange; the full handshake verifies the chain up to the root.
@main struct ProbeBench {
    static let rounds = 20
    static let turn = 50

    static func main() async throws {
        let server = try BenchServer()
        defer { server.stop() }
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: server.port)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let prober = Prober(group: group)
        let offer = HelloOffer(
            minimumVersion: .tls12,
            maximumVersion: .tls12,
            suites: [.ecdheRSAWithAES128GCMSHA256, .ecdheECDSAWithAES128GCMSHA256],
            serverName: "localhost"
        )
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.maximumTLSVersion = .tlsv12
        configuration.trustRoots = .file(server.root)
        let context = try NIOSSLContext(configuration: configuration)

        @Sendable func probe() async throws {
            guard case .negotiated(let observation) = await prober.attempt(offer, addresses: [address]).outcome,
                observation.keyPossession == .proven
            else { throw Fault.failed }
        }
        @Sendable func handshake() async throws {
            let done = group.next().makePromise(of: Void.self)
            let channel = try await ClientBootstrap(group: group)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandlers(
                            NIOSSLClientHandler(context: context, serverHostname: "localhost"),
                            Handshaken(done)
                        )
                    }
                }
                .connect(to: address).get()
            try await done.futureResult.get()
            try? await channel.close()
        }

        // Both run on the event loop, as the targets of `ats check` do: no thread wakes another one. Functions that are not Sendable
        // would hop to the default executor and back for each call.
        let (one, other) = try await Task(executorPreference: LoopExecutor(group.next())) {
            for _ in 0..<turn {
                try await probe()
                try await handshake()
            }
            var (probes, handshakes) = ([Double](), [Double]())
            for _ in 0..<rounds {
                probes.append(try await cost(probe))
                handshakes.append(try await cost(handshake))
            }
            return (median(probes), median(handshakes))
        }.value
        let ratio = one / other
        print(String(format: "TLS 1.2 probe          %7.1f us CPU of the client", one * 1e6))
        print(String(format: "swift-nio-ssl, full    %7.1f us CPU of the client", other * 1e6))
        let holds = figure("CPU of one TLS 1.2 probe against a full handshake", ratio, .atMost(0.5))
        try await group.shutdownGracefully()
        if !holds {
            server.stop()
            exit(1)
        }
    }

    enum Fault: Error { case failed, noServer }

    /// Seconds of CPU of this process for one call, over a turn of calls.
    static func cost(_ body: @Sendable () async throws -> Void) async throws -> Double {
        let start = processorTime()
        for _ in 0..<turn { try await body() }
        return (processorTime() - start) / Double(turn)
    }

    static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}

/// Runs tasks on an event loop.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedTaskExecutor()
        loop.execute { job.runSynchronously(on: executor) }
    }
}

/// Keeps a promise when the handshake is complete.
final class Handshaken: ChannelInboundHandler {
    typealias InboundIn = Any
    private let done: EventLoopPromise<Void>

    init(_ done: EventLoopPromise<Void>) { self.done = done }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event { done.succeed() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        done.fail(error)
        context.close(promise: nil)
    }
}

/// An `openssl s_server` on a free loopback port that sends what servers of the web send: a leaf and an intermediate, both with RSA
/// keys of 2048 bits.
struct BenchServer {
    let port: Int
    let root: String
    private let process: Process

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("probe-bench-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = { (name: String) in folder.appendingPathComponent(name).path }
        func issue(_ name: String, subject: String, by issuer: String?, _ extensions: [String]) throws {
            let signer = issuer.map { ["-CA", path($0), "-CAkey", path($0 + ".key")] } ?? []
            let maker = Process()
            maker.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            maker.arguments =
                [
                    "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256", "-days", "30", "-subj",
                    subject,
                ]
                + ["-keyout", path(name + ".key"), "-out", path(name)] + signer
                + extensions.flatMap { ["-addext", $0] }
            maker.standardError = FileHandle.nullDevice
            try maker.run()
            maker.waitUntilExit()
            guard maker.terminationStatus == 0 else { throw ProbeBench.Fault.noServer }
        }
        let authority = "keyUsage=critical,keyCertSign"
        try issue("root", subject: "/CN=Bench Root", by: nil, [authority])
        try issue("intermediate", subject: "/CN=Bench Intermediate", by: "root", [authority])
        try issue(
            "leaf",
            subject: "/CN=localhost",
            by: "intermediate",
            ["subjectAltName=DNS:localhost", "basicConstraints=critical,CA:FALSE", "extendedKeyUsage=serverAuth"]
        )
        root = path("root")
        guard FileManager.default.createFile(atPath: path("log"), contents: nil),
            let log = FileHandle(forWritingAtPath: path("log"))
        else { throw ProbeBench.Fault.noServer }
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-tls1_2", "-cert", path("leaf"), "-key",
            path("leaf.key"), "-cert_chain", path("intermediate"),
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = log
        process.standardError = log
        try process.run()
        let deadline = Date().addingTimeInterval(20)
        var found: Int?
        while found == nil, Date() < deadline {
            let text = (try? String(contentsOfFile: path("log"), encoding: .utf8)) ?? ""
            found = text.split(separator: "\n").last { $0.hasPrefix("ACCEPT") }
                .flatMap { $0.split(separator: ":").last }.flatMap { Int($0) }
            usleep(5000)
        }
        guard let found else { throw ProbeBench.Fault.noServer }
        port = found
    }

    func stop() { kill(process.processIdentifier, SIGKILL) }
}
