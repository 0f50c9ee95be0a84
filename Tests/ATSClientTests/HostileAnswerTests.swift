// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import NIOCore
import TLSProbe
import TestSupport
import Testing
import Vocabulary

/// Scripted answers of servers that lie, stall and flood, over plain HTTP on loopback, against the client and the proxy.
struct HostileAnswerTests {
    typealias Step = ScriptedServer.Step

    /// What a load comes to.
    enum Outcome: Sendable, Equatable {
        /// A status and so many bytes of body.
        case loaded(Int, Int)
        /// No answer, with this code.
        case failed(String)
    }

    struct Answer: Sendable, CustomStringConvertible {
        let name: String
        let steps: [Step]
        let outcome: Outcome
        var description: String { name }

        init(_ name: String, _ steps: [Step], _ outcome: Outcome) {
            self.name = name
            self.steps = steps
            self.outcome = outcome
        }
    }

    private static let none = Outcome.failed("ats.http.no-answer")
    private static let cut = Outcome.failed("ats.http.incomplete-answer")
    private static let large = Outcome.failed("ats.http.answer-too-large")
    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let length2 = ok + "Content-Length: 2\r\n\r\nok"
    private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
    private static func fields(_ count: Int) -> String { (0..<count).map { "X-\($0): y\r\n" }.joined() }

    static let answers: [Answer] = starts + heads + lengths + chunks + informational

    private static let starts: [Answer] = [
        Answer("nothing, then the end", [.close], none),
        Answer("a reset", [.reset], none),
        Answer("silence", [], none),
        Answer("one byte, then silence", [.text("H")], none),
        Answer("one byte, then the end", [.text("H"), .close], none),
        Answer("a drip of letters", [.drip("H")], none),
        Answer("a drip of a status line without end", [.text("HTTP/1.1 200 "), .drip("O")], none),
        Answer("endless letters", [.endless("H")], none),
        Answer("endless zeros", [.endless("\0")], none),
        Answer("endless empty lines", [.endless("\r\n")], none),
        Answer("an endless reason", [.text("HTTP/1.1 200 "), .endless("O")], none),
        Answer("HTTP/0.9", [.text("<html></html>"), .close], none),
        Answer("HTTP/3.0", [.text("HTTP/3.0 200 OK\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("HTTP/1.9999", [.text("HTTP/1.9999 200 OK\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("another protocol", [.text("SSH-2.0-OpenSSH_9.2\r\n")], none),
        Answer("a status of four digits", [.text("HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("a status of two digits", [.text("HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("the status 000", [.text("HTTP/1.1 000 None\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("the status 099", [.text("HTTP/1.1 099 None\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("a negative status", [.text("HTTP/1.1 -20 OK\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("a status of letters", [.text("HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("the status 999", [.text("HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok")], .loaded(999, 2)),
        Answer("no reason", [.text("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok")], .loaded(200, 2)),
        Answer(
            "a reason of combining marks",
            [.text("HTTP/1.1 200 \(String(repeating: "\u{301}\u{316}", count: 8000))\r\nContent-Length: 2\r\n\r\nok")],
            .loaded(200, 2)),
    ]

    private static let heads: [Answer] = [
        Answer("endless fields", [.text(ok), .endless("X: y\r\n")], large),
        Answer("an endless field name", [.text(ok), .endless("X")], large),
        Answer("an endless field value", [.text("\(ok)X: "), .endless("y")], large),
        Answer("endless folded lines", [.text("\(ok)X: y\r\n"), .endless(" z\r\n")], none),
        Answer("a drip of fields", [.text(ok), .drip("X: y\r\n")], none),
        Answer("129 fields", [.text("\(ok)\(fields(129))\r\n")], large),
        Answer("127 fields and a length", [.text("\(ok)\(fields(127))Content-Length: 2\r\n\r\nok")], .loaded(200, 2)),
        Answer(
            "a field of 60 kB",
            [.text("\(ok)X: \(String(repeating: "y", count: 60_000))\r\nContent-Length: 2\r\n\r\nok")], .loaded(200, 2)),
        Answer(
            "a field of 70 kB",
            [.text("\(ok)X: \(String(repeating: "y", count: 70_000))\r\nContent-Length: 2\r\n\r\nok")], large),
        Answer("a field without a colon", [.text("\(ok)nonsense\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("a field with a space before its colon", [.text("\(ok)Content-Length : 2\r\n\r\nok")], none),
        Answer("a zero in a field", [.text("\(ok)X: a\0b\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer(
            "cookies of combining marks",
            [
                .text(
                    "\(ok)Set-Cookie: a=\(String(repeating: "\u{301}\u{316}", count: 8000))\r\nContent-Length: 2\r\n\r\nok"
                )
            ],
            .loaded(200, 2)
        ),
        Answer("a head that breaks off", [.text("\(ok)X: y\r\n"), .close], none),
        Answer(
            "a redirect to marks",
            [
                .text(
                    "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ftp://\(String(repeating: "\u{301}\u{316}", count: 8000))\r\n\r\n"
                )
            ],
            .failed("ats.http.redirect-blocked")
        ),
        Answer(
            "a redirect of 60 kB",
            [
                .text(
                    "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /\(String(repeating: "a", count: 60_000))\r\n\r\n"
                )
            ],
            .failed("ats.http.redirect-blocked")
        ),
        Answer(
            "a redirect to itself", [.text("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /\r\n\r\n")],
            .failed("ats.http.redirect-loop")),
    ]

    private static let lengths: [Answer] = [
        Answer("a short body, then the end", [.text("\(ok)Content-Length: 9\r\n\r\nhalf"), .close], cut),
        Answer("a short body, then a reset", [.text("\(ok)Content-Length: 9\r\n\r\nhalf"), .reset], none),
        Answer("a short body, then silence", [.text("\(ok)Content-Length: 9\r\n\r\nhalf")], cut),
        Answer("a body that is longer than it says", [.text("\(length2)and more")], .loaded(200, 2)),
        Answer("two lengths", [.text("\(ok)Content-Length: 2\r\nContent-Length: 4\r\n\r\nokok")], none),
        Answer("one length twice", [.text("\(ok)Content-Length: 2\r\nContent-Length: 2\r\n\r\nok")], none),
        Answer("a list of lengths", [.text("\(ok)Content-Length: 2, 2\r\n\r\nok")], none),
        Answer("a negative length", [.text("\(ok)Content-Length: -2\r\n\r\nok")], none),
        Answer("a signed length", [.text("\(ok)Content-Length: +2\r\n\r\nok")], none),
        Answer("a length beyond 64 bits", [.text("\(ok)Content-Length: 99999999999999999999\r\n\r\nok")], none),
        Answer("a length that is no number", [.text("\(ok)Content-Length: two\r\n\r\nok")], none),
        Answer(
            "a length of 9 EB, then the end", [.text("\(ok)Content-Length: 9000000000000000000\r\n\r\nok"), .close], cut
        ),
        Answer(
            "length and chunks",
            [.text("\(ok)Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")], none),
        Answer("a body until the end", [.text("\(ok)\r\nok"), .close], .loaded(200, 2)),
        Answer("a body without end", [.text("\(ok)\r\n"), .endless("x")], large),
        Answer("a drip without end", [.text("\(ok)\r\n"), .drip("x")], none),
        Answer("204 with a body", [.text("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok")], .loaded(204, 0)),
        Answer("304 with a body", [.text("HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nok")], .loaded(304, 0)),
        Answer(
            "gzip that is none", [.text("\(ok)Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok")], .loaded(200, 2)),
        Answer("two answers for one request", [.text("\(length2)\(length2)")], .loaded(200, 2)),
    ]

    private static let chunks: [Answer] = [
        Answer("chunks as they should be", [.text("\(chunked)2\r\nok\r\n0\r\n\r\n")], .loaded(200, 2)),
        Answer(
            "chunks with extensions and trailers", [.text("\(chunked)2;a=b\r\nok\r\n0\r\nX: y\r\n\r\n")],
            .loaded(200, 2)),
        Answer("a chunk that is too short", [.text("\(chunked)9\r\nok\r\n0\r\n\r\n"), .close], cut),
        Answer("a chunk that is too long", [.text("\(chunked)1\r\nok\r\n0\r\n\r\n")], none),
        Answer("a size that is none", [.text("\(chunked)xyz\r\nok\r\n0\r\n\r\n")], none),
        Answer("a negative size", [.text("\(chunked)-2\r\nok\r\n0\r\n\r\n")], none),
        Answer("a size beyond 64 bits", [.text("\(chunked)FFFFFFFFFFFFFFFFFF\r\nok\r\n0\r\n\r\n")], none),
        Answer("no last chunk", [.text("\(chunked)2\r\nok\r\n"), .close], cut),
        Answer("no last chunk, then silence", [.text("\(chunked)2\r\nok\r\n")], cut),
        Answer("endless zeros before a size", [.text(chunked), .endless("0")], cut),
        Answer("an endless extension", [.text("\(chunked)2;"), .endless("a")], cut),
        Answer(
            "endless chunks", [.text(chunked), .endless("400\r\n\(String(repeating: "a", count: 1024))\r\n")], large),
        Answer("endless trailers", [.text("\(chunked)0\r\n"), .endless("X: y\r\n")], large),
        Answer("a drip of trailers", [.text("\(chunked)0\r\n"), .drip("X: y\r\n")], cut),
        Answer(
            "chunks of HTTP/1.0",
            [.text("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), .close],
            .loaded(200, 2)),
        Answer("gzip after chunked", [.text("\(ok)Transfer-Encoding: chunked, gzip\r\n\r\nok"), .close], none),
        Answer(
            "gzip before chunked", [.text("\(ok)Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")], none),
        Answer(
            "chunked twice",
            [.text("\(ok)Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")], none),
        Answer("an unknown coding", [.text("\(ok)Transfer-Encoding: xchunked\r\n\r\nok"), .close], none),
    ]

    private static let informational: [Answer] = [
        Answer(
            "100 and 103 before the answer",
            [.text("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\(length2)")],
            .loaded(200, 2)),
        Answer(
            "32 informational answers",
            [.text("\(String(repeating: "HTTP/1.1 103 Early\r\n\r\n", count: 32))\(length2)")], .loaded(200, 2)),
        Answer(
            "33 informational answers",
            [.text("\(String(repeating: "HTTP/1.1 103 Early\r\n\r\n", count: 33))\(length2)")], none),
        Answer("endless informational answers", [.endless("HTTP/1.1 100 Continue\r\n\r\n")], none),
        Answer("a drip of informational answers", [.drip("HTTP/1.1 100 Continue\r\n\r\n")], none),
        Answer(
            "101, which nobody asked for",
            [.text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc")], none),
    ]

    private static func client() throws -> ATSClient {
        var configuration = ATSClient.Configuration()
        configuration.idleTimeout = .milliseconds(800)
        configuration.totalTimeout = .seconds(3)
        configuration.toleratesUncleanClose = true
        return ATSClient(policy: try Fixture.policy("{}"), trust: TrustAnchors(), configuration: configuration)
    }

    @Test("86 answers: the client says what became of each, in time, and leaves nothing open")
    func client() async throws {
        #expect(Self.answers.count == 86)
        let before = MisbehaviourTests.residentKilobytes()
        try await Self.together { answer in
            try await RawServer.with({ ScriptedServer(ScriptedServer.Script(answer.steps)) }) { server in
                let client = try Self.client()
                let start = ContinuousClock.now
                let report = await client.load("http://127.0.0.1:\(server.port)/", bodyLimit: 1 << 20)
                let found: Outcome =
                    report.result == .loaded
                    ? .loaded(report.status ?? 0, report.bodyLength)
                    : .failed(report.because.first?.code.rawValue ?? "")
                #expect(found == answer.outcome, "\(answer): \(report.because)")
                #expect(Measuring.isOff || ContinuousClock.now - start < .seconds(8), "\(answer)")
                await client.shutDown(grace: .zero)
                try await eventually("\(answer): nothing stays open") { client.openConnections == 0 }
            }
        }
        #expect(MisbehaviourTests.residentKilobytes() - before < 256_000)
    }

    @Test("The same answers through the proxy: a right answer, a refusal or an end, in time, and the proxy goes on")
    func proxy() async throws {
        let before = MisbehaviourTests.residentKilobytes()
        try await RunningProxy.plain {
            $0.idleTimeout = .milliseconds(800)
            $0.exchangeTimeout = .seconds(3)
            $0.answerTimeout = .seconds(2)
        } body: { running in
            try await Self.together { answer in
                try await RawServer.with({ ScriptedServer(ScriptedServer.Script(answer.steps)) }) { server in
                    let text = await Self.shortly(port: running.port, "http://127.0.0.1:\(server.port)/")
                    let status = text.split(separator: " ").dropFirst().first.map(String.init)
                    switch answer.outcome {
                    case .loaded(let code, let length):
                        #expect(status == String(code), "\(answer): \(text.prefix(200))")
                        let isWhole =
                            length == 0 || text.hasSuffix("\r\n\r\nok") || text.hasSuffix("\r\n2\r\nok\r\n0\r\n\r\n")
                        #expect(isWhole, "\(answer): \(text.suffix(200))")
                    case .failed("ats.http.no-answer"):
                        // What is wrong in the body shows when the answer has begun: it is cut.
                        let isCut = status == "200" && !text.hasSuffix("\r\n0\r\n\r\n")
                        #expect(status == "502" || isCut, "\(answer): \(text.prefix(200))")
                    case .failed:
                        // Redirects are for the proxy's client; answers that begin well break off.
                        #expect(["200", "302", "502"].contains(status), "\(answer): \(text.prefix(200))")
                        #expect(!text.hasSuffix("0\r\n\r\n") || status != "200", "\(answer): \(text.suffix(200))")
                    }
                }
            }
            #expect(await running.becomesEmpty(within: .seconds(60)))
        }
        #expect(MisbehaviourTests.residentKilobytes() - before < 256_000)
    }

    /// What comes back for a request, at most the beginning of a flood.
    private static func shortly(port: Int, _ url: String) async -> String {
        let request = "GET \(url) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        return (try? await RawConnection.exchange(port: port, send: request, limit: .seconds(6), keeps: 200_000)) ?? ""
    }

    private static func together(_ body: @escaping @Sendable (Answer) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, answer) in answers.enumerated() {
                if index >= 8 { try await group.next() }
                group.addTask { try await body(answer) }
            }
            try await group.waitForAll()
        }
    }
}
