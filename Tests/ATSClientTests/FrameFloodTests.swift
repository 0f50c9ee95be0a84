// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Foundation
import NIOCore
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@testable import ATSClient

/// HTTP/2 servers that flood, lie and never end, against loads and against `ats check`.
@Suite("HTTP/2 floods", .serialized) struct FrameFloodTests {
    typealias Step = FrameServer.Step
    typealias Outcome = HostileAnswerTests.Outcome

    struct Flood: Sendable, CustomStringConvertible {
        let name: String
        let steps: [Step]
        /// Any of these.
        let outcomes: [Outcome]
        /// The server's own fault ends the load before its time is over.
        let endsEarly: Bool
        var description: String { name }

        init(_ name: String, _ steps: [Step], _ outcomes: Outcome..., endsEarly: Bool = true) {
            self.name = name
            self.steps = steps
            self.outcomes = outcomes
            self.endsEarly = endsEarly
        }
    }

    private static let none = Outcome.failed("ats.http.no-answer")
    private static let cut = Outcome.failed("ats.http.incomplete-answer")
    private static let large = Outcome.failed("ats.http.answer-too-large")

    private static let (endHeaders, endStream) = (FrameServer.endHeaders, FrameServer.endStream)
    private static let head = FrameServer.frame(.headers, endHeaders, FrameServer.ok)
    private static func fields(_ count: Int) -> [UInt8] { (0..<count).flatMap { FrameServer.field("x\($0)", "y") } }
    private static let block = (0..<800).flatMap { _ in FrameServer.field("abcdefgh", "12345678") }
    private static let early: [UInt8] = FrameServer.frame(.headers, endHeaders, [0x08] + FrameServer.text("103"))
    /// One field of 4,000 bytes in the table, and then its number, again and again.
    private static let bomb =
        FrameServer.ok + FrameServer.remembered("b", String(repeating: "b", count: 4000))
        + [UInt8](repeating: 0xBE, count: 10_000)

    static let floods: [Flood] = control + heads + bodies

    private static let control: [Flood] = [
        Flood("SETTINGS", [.endless(FrameServer.frame(.settings, stream: 0))], none),
        Flood(
            "SETTINGS of 2,700 values",
            [
                .endless(
                    FrameServer.frame(.settings, stream: 0, (0..<2700).flatMap { _ in [0, 3, 0, 0, 0, 9] as [UInt8] }))
            ],
            none
        ),
        Flood("answers to SETTINGS", [.endless(FrameServer.frame(.settings, 1, stream: 0))], none),
        Flood("PING", [.endless(FrameServer.frame(.ping, stream: 0, [UInt8](repeating: 7, count: 8)))], none),
        Flood(
            "answers to PING", [.endless(FrameServer.frame(.ping, 1, stream: 0, [UInt8](repeating: 7, count: 8)))], none
        ),
        Flood("resets of the stream", [.endless(FrameServer.frame(.reset, [0, 0, 0, 8]))], none),
        Flood(
            "resets of a stream that is not open", [.endless(FrameServer.frame(.reset, stream: 3, [0, 0, 0, 8]))], none),
        Flood("window updates", [.endless(FrameServer.frame(.windowUpdate, stream: 0, [0, 0, 0, 1]))], none),
        Flood("window updates of the stream", [.endless(FrameServer.frame(.windowUpdate, [0, 0, 0, 1]))], none),
        Flood("window updates of nothing", [.endless(FrameServer.frame(.windowUpdate, [0, 0, 0, 0]))], none),
        Flood(
            "window updates past the end",
            [.endless(FrameServer.frame(.windowUpdate, stream: 0, [0x7F, 0xFF, 0xFF, 0xFF]))], none),
        Flood(
            "window updates during an answer",
            [.frames(head), .endless(FrameServer.frame(.windowUpdate, [0, 0, 0, 1]))], none, cut),
        Flood("PRIORITY", [.endless(FrameServer.frame(.priority, [0, 0, 0, 0, 1]))], none),
        Flood("ALTSVC", [.endless(FrameServer.frame(.alternativeService, stream: 0, [0, 1, 97, 98]))], none),
        Flood("ORIGIN", [.endless(FrameServer.frame(.origin, stream: 0, [0, 1, 97]))], none),
        Flood("frames of no known type", [.endless(FrameServer.frame(.unknown, [1, 2, 3]))], none),
        Flood(
            "large frames of no known type",
            [.endless(FrameServer.frame(.unknown, [UInt8](repeating: 1, count: 16_384)))], none),
        Flood("GOAWAY", [.endless(FrameServer.frame(.goAway, stream: 0, [0, 0, 0, 1, 0, 0, 0, 0]))], none),
        Flood("PUSH_PROMISE", [.endless(FrameServer.frame(.push, endHeaders, [0, 0, 0, 2] + FrameServer.ok))], none),
        Flood("a frame of 16 MB", [.frames([0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1]), .endless([1, 2, 3, 4])], none),
        Flood("HTTP/1.1", [.endless(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))], none),
        Flood("zeros", [.endless([0])], none),
    ]

    private static let heads: [Flood] = [
        Flood(
            "empty CONTINUATIONs",
            [.frames(FrameServer.frame(.headers, FrameServer.ok)), .endless(FrameServer.frame(.continuation))], none),
        Flood(
            "CONTINUATIONs of fields",
            [
                .frames(FrameServer.frame(.headers, FrameServer.ok + block)),
                .endless(FrameServer.frame(.continuation, block)),
            ],
            none,
            large
        ),
        Flood("CONTINUATIONs without a head", [.endless(FrameServer.frame(.continuation, endHeaders, block))], none),
        Flood(
            "a head of 16 kB again and again",
            [.endless(FrameServer.frame(.headers, endHeaders, FrameServer.ok + block))], none, large, cut),
        Flood("a field that stands for 40 MB", [.frames(FrameServer.frame(.headers, endHeaders, bomb))], none, large),
        Flood(
            "129 fields", [.frames(FrameServer.frame(.headers, endHeaders | endStream, FrameServer.ok + fields(129)))],
            large),
        Flood(
            "128 fields", [.frames(FrameServer.frame(.headers, endHeaders | endStream, FrameServer.ok + fields(128)))],
            .loaded(200, 0)),
        Flood("informational answers", [.endless(early)], none),
        Flood(
            "32 informational answers, and an answer",
            [
                .frames(
                    (0..<32).flatMap { _ in early }
                        + FrameServer.frame(.headers, endHeaders | endStream, FrameServer.ok))
            ],
            .loaded(200, 0)
        ),
        Flood(
            "trailers again and again",
            [
                .frames(head),
                .endless(FrameServer.frame(.headers, endHeaders | endStream, FrameServer.field("x", "y"))),
            ],
            .loaded(200, 0),
            none,
            cut
        ),
        Flood(
            "a table of 4 GB",
            [.frames(FrameServer.frame(.headers, endHeaders, [0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F] + FrameServer.ok))],
            none),
        Flood(
            "a number without end",
            [.frames(FrameServer.frame(.headers, endHeaders, [0x7F] + [UInt8](repeating: 0xFF, count: 9000)))], none),
        Flood(
            "streams that nobody opened",
            [.endless(FrameServer.frame(.headers, endHeaders, stream: 2, FrameServer.ok))], none),
        Flood("a head and silence", [.frames(head)], cut, endsEarly: false),
        Flood("silence", [], none, endsEarly: false),
        Flood("the end", [.close], none),
    ]

    private static let bodies: [Flood] = [
        Flood("empty DATA", [.frames(head), .endless(FrameServer.frame(.data))], none, cut),
        Flood(
            "DATA of padding", [.frames(head), .endless(FrameServer.frame(.data, FrameServer.padded, [3, 0, 0, 0]))],
            none, cut),
        Flood("DATA without a head", [.endless(FrameServer.frame(.data, [1]))], none),
        Flood(
            "DATA without end",
            // Whichever comes first: more than the body may have, or more than the window allows.
            [.frames(head), .endless(FrameServer.frame(.data, [UInt8](repeating: 1, count: 16_384)))],
            large,
            none,
            cut
        ),
        Flood(
            "DATA of a byte without end", [.frames(head), .endless(FrameServer.frame(.data, [1]))], large, none, cut),
        Flood(
            "DATA after the end",
            [.frames(head + FrameServer.frame(.data, endStream, [1])), .endless(FrameServer.frame(.data, [1]))],
            .loaded(200, 1), none),
        Flood(
            "DATA on a stream that nobody opened", [.frames(head), .endless(FrameServer.frame(.data, stream: 7, [1]))],
            none, cut),
        Flood(
            "an answer, and window updates while the connection rests",
            [
                .frames(FrameServer.frame(.headers, endHeaders | endStream, FrameServer.ok)),
                .endless(FrameServer.frame(.windowUpdate, stream: 0, [0, 0, 0, 1])),
            ],
            .loaded(200, 0)
        ),
    ]

    @Test("Each ends with an error of its own, in time, and leaves nothing open", arguments: floods)
    func loads(_ flood: Flood) async throws {
        let before = MisbehaviourTests.residentKilobytes()
        try await FrameServer.with(flood.steps) { port in
            var configuration = ATSClient.Configuration()
            configuration.addressOverrides = [AddressOverride(host: "*", port: port, address: "127.0.0.1")]
            configuration.idleTimeout = flood.endsEarly ? .seconds(20) : .milliseconds(500)
            configuration.totalTimeout = .seconds(25)
            configuration.toleratesUncleanClose = true
            let client = ATSClient(
                policy: try Fixture.policy("{}"), trust: try HostileTLSTests.trust(), configuration: configuration)
            let start = ContinuousClock.now
            let report = await client.load("https://\(FrameServer.host):\(port)/", bodyLimit: 1 << 20)
            let found: Outcome =
                report.result == .loaded
                ? .loaded(report.status ?? 0, report.bodyLength) : .failed(report.because.first?.code.rawValue ?? "")
            #expect(flood.outcomes.contains(found), "\(flood): \(report.because)")
            #expect(report.because.allSatisfy { $0.message.utf8.count < 1024 })
            #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(18), "\(flood): only its time ended it")
            if flood.name.hasSuffix("rests") {
                // The server's own flood ends the connection, long before it has rested for too long.
                try await eventually("it ends", within: .seconds(20)) { client.openConnections == 0 }
            }
            await client.shutDown(grace: .zero)
            try await eventually("nothing stays open") { client.openConnections == 0 }
        }
        if !BuiltProgram.isSanitized { #expect(MisbehaviourTests.residentKilobytes() - before < 64_000) }
    }

    @Test("`ats check` says that there was no answer")
    func check() async throws {
        let folder = try TemporaryDirectory()
        try HostileIdentity.shared.rootPEM.write(toFile: folder.path("root.pem"), atomically: true, encoding: .utf8)
        for name in ["window updates", "PING", "empty CONTINUATIONs", "frames of no known type"] {
            let flood = try #require(Self.floods.first { $0.name == name })
            try await FrameServer.with(flood.steps) { port in
                let run = try ProgramRun([
                    "ats", "check", "\(FrameServer.host):\(port)", "--ca-file", folder.path("root.pem"), "--resolve",
                    "*:\(port):127.0.0.1", "--format", "json",
                ])
                let target = try #require((run.json["targets"] as? [[String: Any]])?.first)
                let row = try #require((target["tests"] as? [[String: Any]])?.first)
                let code = (row["because"] as? [[String: Any]])?.first?["code"] as? String
                #expect(run.status == 2 && row["result"] as? String == "UNDETERMINED", "\(name): \(run.errors)")
                #expect(code == "ats.http.no-answer", "\(name)")
                #expect(Measuring.isOff || (target["elapsedMilliseconds"] as? Int ?? .max) < 20_000, "\(name)")
            }
        }
    }

    private func bytes(_ bytes: some Sequence<UInt8>) -> ByteBufferView { ByteBuffer(bytes: bytes).readableBytesView }

    @Test("A server may send two window updates for every byte of a request, and a quarter of a megabyte beside them")
    func budget() {
        var budget = FrameBudget(at: .uptimeNanoseconds(0))
        let updates = bytes((0..<2000).flatMap { _ in FrameServer.frame(.windowUpdate, [0, 0, 0, 1]) })
        for _ in 0..<40 {
            budget.sent(1000)
            let isWithin = budget.receive(updates, at: .uptimeNanoseconds(0))
            #expect(isWithin)
        }
        // In pieces of any size, answers cost nothing.
        var other = FrameBudget(at: .uptimeNanoseconds(0))
        let answer = FrameServer.frame(.data, [UInt8](repeating: 1, count: 300)) + FrameServer.frame(.headers, [0x88])
        let answers = (0..<200).flatMap { _ in answer }
        for start in stride(from: 0, to: answers.count, by: 7) {
            let isWithin = other.receive(
                bytes(answers[start..<min(start + 7, answers.count)]), at: .uptimeNanoseconds(0))
            #expect(isWithin)
        }
        let many = bytes((0..<15_000).flatMap { _ in FrameServer.frame(.windowUpdate, [0, 0, 0, 1]) })
        let (first, second) = (
            other.receive(many, at: .uptimeNanoseconds(0)), other.receive(many, at: .uptimeNanoseconds(1_000_000_000))
        )
        #expect(first && !second)
    }

    @Test("An event stream of a thousand small pieces a second goes on for ever, ten thousand do not")
    func smallPieces() {
        for (count, isAllowed) in [(1000, true), (10_000, false)] {
            var budget = FrameBudget(at: .uptimeNanoseconds(0))
            let piece = bytes((0..<count).flatMap { _ in FrameServer.frame(.data, [1]) })
            let goesOn = (1...100).allSatisfy { second in
                budget.receive(piece, at: .uptimeNanoseconds(UInt64(second) * 1_000_000_000))
            }
            #expect(goesOn == isAllowed, "\(count)")
        }
    }
}
