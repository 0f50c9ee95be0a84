// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension HostileClient {
    /// The kinds of clients.
    enum Table: String, CaseIterable, Sendable { case truncated, framing, heads, manners }

    static func clients(_ table: Table) -> [HostileClient] {
        switch table {
        case .truncated: truncated
        case .framing: framing
        case .heads: heads
        case .manners: manners
        }
    }

    private static let body = #"{"purpose":"assert"}"#
    private static let path = "/v1/apps/shop/challenges"
    private static let fields = "Host: x\r\nContent-Type: application/json\r\n"
    private static let get = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"

    private static func post(_ more: String, _ body: String, version: String = "1.1") -> String {
        "POST \(path) HTTP/\(version)\r\n\(fields)\(more)\r\n\(body)"
    }

    private static func one(_ name: String, _ text: String, _ statuses: [Int]...) -> HostileClient {
        HostileClient(name: name, steps: [.send(text)], statuses: statuses)
    }

    /// A valid request, ended before each of its bytes: by silence, and by a half-closed connection.
    static let truncated: [HostileClient] = {
        let whole = post("Content-Length: \(body.utf8.count)\r\n", body)
        return (0..<whole.utf8.count).flatMap { length -> [HostileClient] in
            let part = String(decoding: whole.utf8.prefix(length), as: UTF8.self)
            return [
                HostileClient(name: "silent after \(length) bytes", steps: [.send(part)], statuses: [[], [400]]),
                HostileClient(
                    name: "ended after \(length) bytes", steps: [.send(part), .finish], statuses: [[], [400]]),
            ]
        }
    }()

    /// Two opinions about where a request ends: whoever shares the connection with a proxy gets the answer to the second request.
    static let framing: [HostileClient] = [
        one("length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + get), [400]),
        one("chunks and length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n" + get), [400]),
        one("two lengths", post("Content-Length: 20\r\nContent-Length: 5\r\n", body), [400]),
        one("two equal lengths", post("Content-Length: 20\r\nContent-Length: 20\r\n", body), [400]),
        one("a list of lengths", post("Content-Length: 20, 20\r\n", body), [400]),
        one("a negative length", post("Content-Length: -1\r\n", body), [400]),
        one("a length with a sign", post("Content-Length: +20\r\n", body), [400]),
        one("a length in hexadecimal", post("Content-Length: 0x14\r\n", body), [400]),
        one("a length with a space", post("Content-Length: 2 0\r\n", body), [400]),
        one("an empty length", post("Content-Length: \r\n", body), [400]),
        one("a length beyond 64 bits", post("Content-Length: 99999999999999999999\r\n", body), [400]),
        one("a length beyond all memory", post("Content-Length: 9223372036854775807\r\n", body), [413]),
        one("a length that is too long", post("Content-Length: 400\r\n", body), [], [400]),
        one("a length that is too short", post("Content-Length: 19\r\n", body), [400, 400], [400]),
        one("no length", post("", body), [400, 400], [400], [415, 400]),
        one("another coding", post("Transfer-Encoding: gzip\r\n", body), [400]),
        one("chunks that are not last", post("Transfer-Encoding: chunked, identity\r\n", body), [400]),
        one("two codings", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), [400]),
        one("chunked twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), [400]),
        one("almost chunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), [400]),
        one("chunked with a tab", post("Transfer-Encoding: \u{B}chunked\r\n", "0\r\n\r\n"), [400]),
        one("chunked of marks", post("Transfer-Encoding: chunked\u{301}\r\n", "0\r\n\r\n"), [400]),
        one("chunks in HTTP/1.0", post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n", version: "1.0"), [400]),
        one("a chunk beyond 64 bits", post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFF\r\n"), [400]),
        one("a chunk of 2^63", post("Transfer-Encoding: chunked\r\n", "7FFFFFFFFFFFFFFF\r\nx"), [], [400]),
        one("a negative chunk", post("Transfer-Encoding: chunked\r\n", "-1\r\n\r\n"), [400]),
        one("a chunk in another base", post("Transfer-Encoding: chunked\r\n", "0x5\r\nhello\r\n"), [400]),
        one("a chunk without its end", post("Transfer-Encoding: chunked\r\n", "2\r\n{}0\r\n\r\n"), [400]),
        one("a chunk that is longer", post("Transfer-Encoding: chunked\r\n", "1\r\n{}\r\n0\r\n\r\n"), [400]),
        one(
            "a chunk that is longer, behind two requests",
            get + get + post("Transfer-Encoding: chunked\r\n", "1\r\n{}\r\n"), [200]),
        one("chunks that do not end", post("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n"), [], [400]),
        one(
            "a body of GET", "GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: \(get.utf8.count)\r\n\r\n" + get, [200]),
        one("a body of TRACE", "TRACE /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", [405], [400]),
    ]

    /// Heads that are none.
    static let heads: [HostileClient] = [
        one("nonsense", "NONSENSE\r\n\r\n", [400]),
        one("a greeting of TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\r\n\r\n", [400]),
        one("a greeting of SOCKS", "\u{5}\u{1}\u{0}\r\n\r\n", [400]),
        one("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400], []),
        one("HTTP/0.9", "GET /livez\r\n\r\n", [400], [200], []),
        one("HTTP/1.2", "GET /livez HTTP/1.2\r\nHost: x\r\n\r\n", [400], [200]),
        one("HTTP/2.0", "GET /livez HTTP/2.0\r\nHost: x\r\n\r\n", [400], []),
        one("HTTP/9.9", "GET /livez HTTP/9.9\r\nHost: x\r\n\r\n", [400], []),
        one("HTTP of three parts", "GET /livez HTTP/1.1.1\r\nHost: x\r\n\r\n", [400]),
        one("no host", "GET /livez HTTP/1.1\r\n\r\n", [400]),
        one("two hosts", "GET /livez HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", [400]),
        one("two media types", post("Content-Type: application/json\r\nContent-Length: 20\r\n", body), [415]),
        one("a target of marks", "GET /live\u{301}z HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("a target with a space", "GET /live z HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("a target of 9 kB", "GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("a target of 40 kB", "GET /\(String(repeating: "a", count: 40_000)) HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("a fragment", "GET /v1/authorize#simulated=allow&env=any HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("a fragment behind the query", "GET /livez?a=b#c HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("a bracket in the path", "GET /livez?a=[b] HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("a backslash in the target", "GET /\\livez HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("braces in the target", "GET /livez?{} HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("an address in the target", "GET http://[::1]:80/livez HTTP/1.1\r\nHost: x\r\n\r\n", [200]),
        one("an empty target", "GET  HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("a small method", "get /livez HTTP/1.1\r\nHost: x\r\n\r\n", [400], [405]),
        one("a method of 10 kB", "\(String(repeating: "M", count: 10_000)) /livez HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one("a field without a colon", "GET /livez HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n", [400]),
        one("a space before the colon", "GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\n", [400]),
        one("a folded field", "GET /livez HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", [400], [200]),
        one("a bare line feed", "GET /livez HTTP/1.1\nHost: x\n\n", [400], [200]),
        one("a bare carriage return", "GET /livez HTTP/1.1\rHost: x\r\r", [400], []),
        one("a NUL in a field", "GET /livez HTTP/1.1\r\nHost: x\r\nA: \u{0}\r\n\r\n", [400]),
        one("a NUL in the target", "GET /\u{0} HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        one(
            "101 fields", "GET /livez HTTP/1.1\r\nHost: x\r\n" + String(repeating: "A: b\r\n", count: 100) + "\r\n",
            [400]),
        one(
            "a field of 17 kB", "GET /livez HTTP/1.1\r\nHost: x\r\nA: \(String(repeating: "a", count: 17_000))\r\n\r\n",
            [400]),
        one(
            "a name of 17 kB", "GET /livez HTTP/1.1\r\nHost: x\r\n\(String(repeating: "a", count: 17_000)): a\r\n\r\n",
            [400]),
        one(
            "fields of 40 kB",
            "GET /livez HTTP/1.1\r\nHost: x\r\n"
                + String(repeating: "A: \(String(repeating: "a", count: 4000))\r\n", count: 10) + "\r\n", [400]),
        one(
            "a connection of marks",
            "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: c\(String(repeating: "\u{301}\u{316}", count: 3000))\r\n\r\n",
            [400]),
        HostileClient(
            name: "an endless field",
            steps: [.send("GET /livez HTTP/1.1\r\nA: "), .flood(String(repeating: "a", count: 4096), times: 500)],
            statuses: [[400], []]),
        HostileClient(
            name: "endless fields", steps: [.send("GET /livez HTTP/1.1\r\n"), .flood("A: b\r\n", times: 5000)],
            statuses: [[400], []]),
        HostileClient(name: "endless empty lines", steps: [.flood("\r\n", times: 5000)], statuses: [[400], []]),
    ]

    /// Requests that are right, and clients that are not.
    static let manners: [HostileClient] = [
        HostileClient(
            name: "10,000 at once", steps: [.flood(String(repeating: get, count: 100), times: 100)], statuses: [],
            reads: true),
        HostileClient(
            name: "10,000 at once, then the end",
            steps: [.flood(String(repeating: get, count: 100), times: 100), .finish], statuses: []),
        HostileClient(
            name: "answers that nobody reads",
            steps: [.flood("GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n", times: 120)], statuses: [], reads: false),
        HostileClient(name: "one head, a byte at a time", steps: [.drip(get, milliseconds: 150)], statuses: [[]]),
        HostileClient(
            name: "one body, a byte at a time",
            steps: [
                .send(post("Content-Length: 60000\r\n", "{")),
                .drip(String(repeating: " ", count: 60), milliseconds: 150),
            ],
            statuses: [[], [400]]
        ),
        HostileClient(
            name: "a second head, a byte at a time", steps: [.send(get), .readAnswer, .drip(get, milliseconds: 150)],
            statuses: [[200]]),
        HostileClient(
            name: "an answer before the end, then a byte at a time",
            steps: [
                .send("GET /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n"), .readAnswer,
                .drip(String(repeating: " ", count: 60), milliseconds: 150),
            ],
            statuses: [[404]]
        ),
        HostileClient(
            name: "an answer before the end, then the end, then silence",
            steps: [.send("GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"), .readAnswer, .send("x")],
            statuses: [[200]]),
        HostileClient(
            name: "refused for its size, then silence",
            steps: [.send(post("Content-Length: 70000\r\n", "{")), .readAnswer], statuses: [[413]]),
        HostileClient(
            name: "refused for its size, then all of it",
            steps: [
                .send(post("Content-Length: 50000000\r\n", "{")),
                .flood(String(repeating: " ", count: 65536), times: 760),
            ],
            statuses: [[413], []]
        ),
        HostileClient(
            name: "chunks of one byte",
            steps: [.send(post("Transfer-Encoding: chunked\r\n", "")), .flood("1\r\n \r\n", times: 100_000)],
            statuses: [[413], []]),
        HostileClient(
            name: "endless extensions of a chunk",
            steps: [
                .send(post("Transfer-Encoding: chunked\r\n", "1;")),
                .flood(String(repeating: "a=b;", count: 2000), times: 1000),
            ],
            statuses: [[], [400]]
        ),
        HostileClient(
            name: "endless trailers",
            steps: [
                .send(post("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n")), .flood("A: b\r\n", times: 20_000),
            ],
            statuses: [[], [400], [400, 400]]
        ),
        HostileClient(
            name: "endless chunks",
            steps: [
                .send(post("Transfer-Encoding: chunked\r\n", "")),
                .flood("1000\r\n\(String(repeating: " ", count: 4096))\r\n", times: 2000),
            ],
            statuses: [[413], []]
        ),
        HostileClient(name: "half-closed at once", steps: [.finish], statuses: [[]]),
        HostileClient(name: "half-closed after a request", steps: [.send(get), .finish], statuses: [[200]]),
        HostileClient(
            name: "half-closed in a body", steps: [.send(post("Content-Length: 500\r\n", "{")), .finish],
            statuses: [[400], []]),
        HostileClient(name: "silence", steps: [], statuses: [[]]),
        HostileClient(
            name: "waits for a continue that it never uses",
            steps: [.send(post("Expect: 100-continue\r\nContent-Length: 20\r\n", ""))], statuses: [[], [400]]),
        one("expects what there is not", "GET /livez HTTP/1.1\r\nHost: x\r\nExpect: the-worst\r\n\r\n", [200]),
        one(
            "an upgrade to WebSocket",
            "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", [200]),
        one(
            "an upgrade to HTTP/2",
            "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n",
            [200]),
        one("HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400]),
        HostileClient(
            name: "HTTP/2 with prior knowledge, and frames without end",
            steps: [
                .send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                .flood("\0\0\0\u{4}\0\0\0\0\0", times: 100_000),
            ],
            statuses: [[400], []]
        ),
        one("a tunnel", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", [404], [400], []),
        one("an asterisk", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", [404]),
        one("another's target", "GET http://example.com/livez HTTP/1.1\r\nHost: x\r\n\r\n", [200]),
        one("HTTP/1.0 without an end", "GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", [200]),
        one("HTTP/1.0", "GET /livez HTTP/1.0\r\n\r\n", [200]),
        one("TRACE", "TRACE /livez HTTP/1.1\r\nHost: x\r\n\r\n", [405]),
        one("keeps alive", get, [200]),
    ]
}
