// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import NIOConcurrencyHelpers
import NIOCore
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@testable import ATSClient

/// What leaves the proxy and the client is framed as RFC 9112 says, for every method: a server never reads the body of one request as the next.
struct ProxyFramingTests {
    private static let smuggled = "GET /SMUGGLED HTTP/1.1\r\nHost: up\r\n\r\n"

    /// One form of a request: a method, how its body is framed, and how long it is.
    struct Shape: Sendable, CustomStringConvertible {
        let method: String
        /// `none`, `length` or `chunked`.
        let framing: String
        let body: String
        let keepsAlive: Bool

        var description: String { "\(method), \(framing), \(body.utf8.count) bytes, keep-alive \(keepsAlive)" }

        /// As the proxy's client sends it.
        func text(_ url: String) -> String {
            let head = "\(method) \(url) HTTP/1.1\r\nHost: up\r\n\(keepsAlive ? "" : "Connection: close\r\n")"
            switch framing {
            case "length": return head + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
            case "chunked":
                // In two pieces, so that the next request could also begin behind the first.
                let pieces = [body.prefix(10), body.dropFirst(10)].filter { !$0.isEmpty }
                let chunks = pieces.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
                return head + "Transfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"
            default: return head + "\r\n"
            }
        }
    }

    private static let shapes: [Shape] = ["GET", "HEAD", "DELETE", "OPTIONS", "PROPFIND", "POST", "PUT", "PATCH"]
        .flatMap { method in
            let bodies = ["", smuggled, smuggled + String(repeating: "x", count: 70_000)]
            let forms = [("none", "")] + bodies.flatMap { [("length", $0), ("chunked", $0)] }
            return forms.flatMap { framing, body in
                [true, false].map { Shape(method: method, framing: framing, body: body, keepsAlive: $0) }
            }
        }

    @Test(
        "112 shapes of requests through the proxy: the server counts exactly those, and the next client has its own answer"
    )
    func shapes() async throws {
        #expect(Self.shapes.count == 112)
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { server in
            try await RunningProxy.plain { running in
                let base = "http://127.0.0.1:\(server.port)"
                for (index, shape) in Self.shapes.enumerated() {
                    log.withLockedValue { $0 = [] }
                    var expected = ["\(shape.method) /shape-\(index) \(shape.body.utf8.count)"]
                    var text = shape.text("\(base)/shape-\(index)")
                    if shape.keepsAlive {
                        text += "GET \(base)/second-\(index) HTTP/1.1\r\nHost: up\r\nConnection: close\r\n\r\n"
                        expected.append("GET /second-\(index) 0")
                    }
                    let answer = try await running.exchange(text)
                    let isShown = answer.contains("answer to \(shape.method) /shape-\(index)")
                    #expect(isShown == (shape.method != "HEAD"), "\(shape): \(answer)")
                    #expect(answer.hasPrefix("HTTP/1.1 200 OK"), "\(shape): \(answer)")
                    #expect(
                        answer.hasSuffix("answer to GET /second-\(index)") == shape.keepsAlive, "\(shape): \(answer)")
                    let victim = try await running.exchange(
                        "GET \(base)/victim-\(index) HTTP/1.1\r\nHost: up\r\nConnection: close\r\n\r\n")
                    expected.append("GET /victim-\(index) 0")
                    #expect(victim.hasSuffix("\r\n\r\nanswer to GET /victim-\(index)"), "\(shape): \(victim)")
                    #expect(log.withLockedValue { $0 } == expected, "\(shape)")
                }
            }
        }
    }

    /// Sends a request through the proxy, with the address of a server in the place of URL: 400, the connection ends, and the server has no
    /// complete request.
    private static func expectRefusal(of text: String) async throws {
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { server in
            try await RunningProxy.plain { running in
                let url = "http://127.0.0.1:\(server.port)/"
                let answer = try await running.exchange(text.replacingOccurrences(of: "URL", with: url))
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
                #expect(answer.lowercased().contains("connection: close"), "\(answer)")
                #expect(log.withLockedValue { $0 }.isEmpty)
            }
        }
    }

    @Test(
        "Requests whose end two servers could see differently are refused, and nothing of them leaves",
        arguments: [
            "TRACE URL HTTP/1.1\r\nHost: up\r\nContent-Length: 5\r\n\r\nhello",
            "TRACE URL HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            "POST URL HTTP/1.1\r\nHost: up\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nhello",
            "POST URL HTTP/1.1\r\nHost: up\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "POST URL HTTP/1.1\r\nHost: up\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            "POST URL HTTP/1.1\r\nHost: up\r\nContent-Length: 5, 5\r\n\r\nhello",
            "POST URL HTTP/1.1\r\nHost: up\r\nContent-Length: +5\r\n\r\nhello",
            "POST URL HTTP/1.1\r\nHost: up\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
            "POST URL HTTP/1.1\r\nHost: up\r\nContent-Length: 9223372036854775808\r\n\r\nhello",
            "POST URL HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "POST URL HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "POST URL HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            "POST URL HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST URL HTTP/1.0\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST URL HTTP/1.1\r\nHost: up\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            "POST URL HTTP/1.1\r\nHost: up\r\nContent-Length: 5\r\n Transfer-Encoding: chunked\r\n\r\nhello",
            "MADEUP URL HTTP/1.1\r\nHost: up\r\n\r\n", "GET URL HTTP/2.0\r\n\r\n",
            "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: up\r\nContent-Length: 5\r\n\r\nhello",
            "GET URL HTTP/1.1\r\nAccept: a\r\n\r\n", "POST URL HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            "GET URL HTTP/1.1\r\nHost: up\r\nHost: up\r\n\r\n", "GET URL HTTP/1.0\r\nHost: up\r\nhost: other\r\n\r\n",
            "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ]
    )
    func refused(text: String) async throws { try await Self.expectRefusal(of: text) }

    @Test("Answers to HEAD end with their fields, though their length is not known: the next answer follows at once")
    func headWithoutLength() async throws {
        let answers = ScriptedServer.Script([.text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")])
        try await RawServer.with({ ScriptedServer(answers) }) { server in
            try await RunningProxy.plain { running in
                let url = "http://127.0.0.1:\(server.port)/"
                let answer = try await RawConnection.exchange(
                    port: running.port,
                    send:
                        "HEAD \(url) HTTP/1.1\r\nHost: x\r\n\r\nHEAD \(url) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
                )
                #expect(answer.components(separatedBy: "\r\n\r\n").count == 3, "\(answer)")
                #expect(answer.components(separatedBy: "\r\n\r\nHTTP/1.1 200 OK\r\n").count == 2, "\(answer)")
            }
        }
    }

    @Test("A refusal of a HEAD has no body")
    func refusedHead() async throws {
        try await RunningProxy.plain { running in
            let answer = try await running.exchange(
                "HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let parts = answer.components(separatedBy: "\r\n\r\n")
            #expect(parts.count == 3 && parts[1].hasPrefix("HTTP/1.1 400 "), "\(answer)")
        }
    }

    @Test("A client of HTTP/1.0 has no chunks: the end of the connection ends an answer of unknown length")
    func oldClient() async throws {
        let answers = ScriptedServer.Script([
            .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        ])
        try await RawServer.with({ ScriptedServer(answers) }) { server in
            try await RunningProxy.plain { running in
                let answer = try await running.exchange(
                    "GET http://127.0.0.1:\(server.port)/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                #expect(answer.hasSuffix("\r\n\r\nhello"), "\(answer)")
                #expect(!answer.lowercased().contains("chunked"), "\(answer)")
            }
        }
    }

    @Test(
        "What follows the last request of a connection, or is no request, takes the answer from nobody",
        arguments: [
            ("Connection: close\r\n\r\nGET URL/b HTTP/1.1\r\nHost: up\r\n\r\n", false),
            ("Upgrade: h2c\r\nConnection: upgrade\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false),
            ("\r\n\u{1}\u{2}nonsense\r\n\r\n", true),
        ]
    )
    func afterTheLast(rest: String, isRefused: Bool) async throws {
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { server in
            try await RunningProxy.plain { running in
                let url = "http://127.0.0.1:\(server.port)"
                let text = "GET URL/a HTTP/1.1\r\nHost: up\r\n\(rest)".replacingOccurrences(of: "URL", with: url)
                let answer = try await running.exchange(text)
                #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(answer)")
                #expect(answer.contains("answer to GET /a"), "\(answer)")
                #expect(answer.contains("answer to GET /aHTTP/1.1 400 ") == isRefused, "\(answer)")
                #expect(log.withLockedValue { $0 } == ["GET /a 0"])
            }
        }
    }

    @Test(
        "After trailers that speak of framing the next request has a connection of its own, and its answer",
        arguments: ["Transfer-Encoding: x", "Connection: close", "X: y"])
    func framingInTrailers(field: String) async throws {
        let answers = ScriptedServer.Script([
            .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\(field)\r\n\r\n")
        ])
        try await RawServer.with({ ScriptedServer(answers) }) { server in
            try await RunningProxy.plain { running in
                let url = "http://127.0.0.1:\(server.port)/"
                for _ in 0..<2 {
                    let answer = try await running.exchange(
                        "GET \(url) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(answer)")
                }
            }
        }
    }

    @Test(
        "A body that is not chunked as it says is answered with 400, and the server has no complete request of it",
        arguments: [
            "POST URL HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
            "POST URL HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n-1\r\n\r\n",
            "PUT URL HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
        ]
    )
    func brokenChunks(text: String) async throws { try await Self.expectRefusal(of: text) }

    @Test(
        "Max-Forwards counts down for OPTIONS and TRACE alone, and at 0 the proxy is the last that the request reaches",
        arguments: [
            ("OPTIONS", "0", 200, nil), ("TRACE", "0", 405, nil), ("OPTIONS", "x", 400, nil), ("TRACE", "-1", 400, nil),
            ("OPTIONS", "5", 200, "4"), ("GET", "0", 200, "0"), ("OPTIONS", "999999999", 200, "999999998"),
            ("OPTIONS", "5\r\nMax-Forwards: 6", 400, nil),
        ] as [(String, String, Int, String?)]
    )
    func maxForwards(method: String, field: String, status: Int, sent: String?) async throws {
        let log = CountingUpstream.Log([])
        let heads = NIOLockedValueBox("")
        try await RawServer.with({ CountingUpstream(log) { text in heads.withLockedValue { $0 += text } } }) { server in
            try await RunningProxy.plain { running in
                let answer = try await RawConnection.exchange(
                    port: running.port,
                    send:
                        "\(method) http://127.0.0.1:\(server.port)/ HTTP/1.1\r\nHost: up\r\nMax-Forwards: \(field)\r\n"
                        + "Connection: close\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
                #expect(log.withLockedValue { $0 }.isEmpty == (sent == nil))
                if let sent {
                    #expect(heads.withLockedValue { $0 }.lowercased().contains("max-forwards: \(sent)\r\n"))
                }
            }
        }
    }

    // MARK: The client

    @Test(
        "The client frames by the body and not by the method, whatever the fields say",
        arguments: [
            "GET", "HEAD", "DELETE", "OPTIONS", "PROPFIND", "POST", "PUT", "PATCH", "UNHEARD-OF", "TRACE", "CONNECT",
        ]
    )
    func framing(name: String) throws {
        let method = try #require(HTTPRequest.Method(rawValue: name))
        let bytes = RequestBody.Content.bytes(ByteBuffer(string: "hello"))
        let stream = RequestBody.stream(AsyncStream<ByteBuffer> { $0.finish() }).content
        let known = RequestBody.stream(AsyncStream<ByteBuffer> { $0.finish() }, length: 7).content
        let negative = RequestBody.stream(AsyncStream<ByteBuffer> { $0.finish() }, length: -1).content
        if name == "TRACE" || name == "CONNECT" {
            for content in [bytes, stream, known] {
                #expect(throws: RequestFraming.Impossible.self) { try RequestFraming(method, content) }
            }
        } else {
            #expect(try RequestFraming(method, bytes) == .length(5))
            #expect(try RequestFraming(method, stream) == .chunked)
            #expect(try RequestFraming(method, known) == .length(7))
            let saysEmpty = ["POST", "PUT", "PATCH"].contains(name)
            #expect(try RequestFraming(method, .empty) == (saysEmpty ? .length(0) : .none))
        }
        #expect(throws: RequestFraming.Impossible.self) { try RequestFraming(method, negative) }
    }

    @Test(
        "A streamed body of another length than announced ends the load and its connection; the next load is whole",
        arguments: [(3, "ats.http.request-body"), (5, ""), (9, "ats.http.request-body")])
    func announcedLength(length: Int, code: String) async throws {
        let log = CountingUpstream.Log([])
        try await RawServer.with({ CountingUpstream(log) }) { server in
            let client = ATSClient(policy: try Fixture.policy("{}"), trust: TrustAnchors())
            let authority = "127.0.0.1:\(server.port)"
            var request = HTTPRequest(method: .delete, scheme: "http", authority: authority, path: "/a")
            request.headerFields[.transferEncoding] = "identity"
            request.headerFields[.contentLength] = "1"
            let parts = AsyncStream<ByteBuffer> { continuation in
                continuation.yield(ByteBuffer(string: "hello"))
                continuation.finish()
            }
            do {
                let response = try await client.execute(request, body: .stream(parts, length: length))
                #expect(response.status.code == 200 && code.isEmpty)
            } catch let error as ATSLoadError {
                #expect(error.code.rawValue == code, "\(error)")
            }
            #expect(await client.load("http://\(authority)/b").body == Array("answer to GET /b".utf8))
            let seen = log.withLockedValue { $0 }
            #expect(seen == (code.isEmpty ? ["DELETE /a 5", "GET /b 0"] : ["GET /b 0"]))
            await client.shutDown(grace: .zero)
        }
    }

    @Test("A body on TRACE and a CONNECT are errors of the client")
    func traceAndConnect() async throws {
        let client = ATSClient(policy: try Fixture.policy("{}"), trust: TrustAnchors())
        for method in [HTTPRequest.Method.trace, .connect] {
            let request = HTTPRequest(method: method, scheme: "http", authority: "127.0.0.1:1", path: "/")
            let error = await #expect(throws: ATSLoadError.self) {
                try await client.execute(request, body: .bytes([1, 2, 3]))
            }
            #expect(error?.code == "ats.http.request-body")
        }
        await client.shutDown(grace: .zero)
    }

    @Test("The proxy speaks no HTTP/2: its preface is answered with 400 and the end of the connection")
    func prefaceOfHTTP2() async throws {
        try await RunningProxy.plain { running in
            let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
            for more in ["", String(repeating: "\0\0\0\u{4}\0\0\0\0\0", count: 20_000)] {
                let answer = try await running.exchange(preface + more, limit: .seconds(20), keeps: 10_000)
                #expect(answer.isEmpty && !more.isEmpty || answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            }
            #expect(await running.becomesEmpty(within: .seconds(60)))
        }
    }
}
