// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Foundation
import Glibc
import TestSupport
import Testing
import TrustStores
import Vocabulary

@testable import HTTPService
@testable import TrustService

/// What callers send costs what its length costs: combining marks in the wrong order are sorted by insertion wherever text is compared as text.
@Suite(.serialized) struct HostileTextTests {
    /// `count` bytes of a letter and marks in the wrong order.
    private static func marks(_ count: Int) -> String {
        "a" + String(repeating: "\u{301}\u{316}", count: max(0, count - 1) / 4)
    }

    /// Seconds of this thread's CPU, the least of a few runs.
    private func seconds(_ body: () -> Void) -> Double {
        func now() -> Double {
            // A `timespec`: seconds and nanoseconds.
            var time = (0, 0)
            withUnsafeMutableBytes(of: &time) {
                if let time = $0.baseAddress?.assumingMemoryBound(to: timespec.self) {
                    clock_gettime(CLOCK_THREAD_CPUTIME_ID, time)
                }
            }
            return Double(time.0) + Double(time.1) * 1e-9
        }
        return (0..<5).map { _ in
            let start = now()
            body()
            return now() - start
        }.min() ?? 0
    }

    private static func body(_ inner: String) -> [UInt8] { Array(inner.utf8) }

    /// What a phone sends, filled up to 64 KiB.
    private static let ordinary: [UInt8] = body(
        """
        {"keyId":"\(Base64.encode([UInt8](repeating: 7, count: 32)))","clientData":"\(Base64.encode([UInt8](repeating: 1, count: 24_000)))",\
        "assertion":"\(Base64.encode([UInt8](repeating: 2, count: 24_000)))","challenge":"AAAA"}
        """
    )

    static let worst: [(String, [UInt8])] = [
        ("marks in a name", body("{\"\(marks(65_000))\":1,\"purpose\":\"assert\"}")),
        ("marks in many names", body("{" + (0..<120).map { "\"\(marks(240))\($0)\":1" }.joined(separator: ",") + "}")),
        ("marks in a value", body("{\"keyId\":\"\(marks(65_000))\"}")),
        ("many members", body("{" + (0..<8000).map { "\"a\($0)\":1" }.joined(separator: ",") + "}")),
        ("many equal members", body("{" + [String](repeating: "\"a\":1", count: 10_000).joined(separator: ",") + "}")),
        ("many values", body("[" + [String](repeating: "0", count: 32_000).joined(separator: ",") + "]")),
        ("deep", body(String(repeating: "[", count: 65_000))),
        (
            "depth again and again",
            body("[" + [String](repeating: "[[[[[[[[]]]]]]]]", count: 3_800).joined(separator: ",") + "]")
        ),
        ("escapes", body("{\"keyId\":\"" + String(repeating: "\\u0301", count: 10_900) + "\"}")),
        ("digits", body("{\"keyId\":" + String(repeating: "9", count: 65_000) + "}")),
        ("an exponent", body("{\"keyId\":1e" + String(repeating: "9", count: 65_000) + "}")),
        ("a fraction", body("{\"keyId\":0." + String(repeating: "3", count: 65_000) + "}")),
        ("many numbers", body("[" + [String](repeating: "1.5e308", count: 8_000).joined(separator: ",") + "]")),
        ("spaces", body("{" + String(repeating: " ", count: 65_000) + "}")),
        ("lines", body("{" + String(repeating: "\n", count: 65_000) + "x")),
    ]

    /// The claim of the bench, with room for a debug build on a busy machine: without the fix the first costs a hundredfold.
    @Test(Measuring.only) func noBodyCostsMuchMoreThanAnOrdinaryOne() {
        func read(_ bytes: [UInt8]) {
            guard let body = try? RequestBody(bytes) else { return }
            _ = try? PresentedAssertion(body)
            _ = try? body.string("purpose", limit: 16)
        }
        let least = seconds { read(HostileTextTests.ordinary) }
        for (name, bytes) in HostileTextTests.worst {
            #expect(seconds { read(bytes) } < 4 * least + 0.000_5, "\(name)")
        }
    }

    @Test(Measuring.only, .enabled(if: !BuiltProgram.isSanitized, "a sanitizer makes each of many small values dearer"))
    func clientDataCostsNoMore() {
        let least = seconds { _ = try? ClientData.challenge(in: HostileTextTests.ordinary) }
        for (name, bytes) in HostileTextTests.worst {
            #expect(seconds { _ = try? ClientData.challenge(in: bytes) } < 8 * least + 0.000_5, "\(name)")
        }
    }

    @Test(Measuring.only) func cborKeysCostNoMore() {
        func map(_ keys: [String]) -> [UInt8] {
            CBORItem.map(keys.map { CBOREntry(.text($0), .unsigned(0)) }).encoded
        }
        let least = seconds {
            _ = try? CBORItem(decoding: map((0..<64).map { "\($0)" + String(repeating: "a", count: 240) })[...])
        }
        for keys in [
            (0..<64).map { HostileTextTests.marks(240) + "\($0)" },
            (0..<2).map { HostileTextTests.marks(29_000) + "\($0)" },
        ] {
            let bytes = map(keys)
            #expect(seconds { _ = try? CBORItem(decoding: bytes[...]) } < 8 * least + 0.000_5)
        }
    }

    @Test(Measuring.only) func headersQueriesAndPathsCostNoMore() async throws {
        let store = Store.inMemory()
        let authority = try await TokenAuthority(.init(), store: store) { [UInt8](repeating: 5, count: $0) }
        let letters = String(repeating: "b", count: 14_000)
        let marks = HostileTextTests.marks(14_000)
        func call(_ text: String) {
            _ = Call.bearer(of: "Bearer \(text)")
            _ = Call.bearer(of: text + " x")
            _ = ServiceResponder.isJSON(text)
            _ = ServiceResponder.isJSON("application/json;" + text)
            _ = CallerAddress.resolve(peer: "10.0.0.1", forwarded: text, trusted: [])
            _ = PercentEncoding.decode(Substring(text).utf8)
            let table = RouteTable([Route("a", "GET", "/v1/apps/{app}/ramp", .app) { _ in .empty(204) }])
            _ = table.match(method: "GET", path: "/v1/apps/\(text)/ramp")
            _ = table.match(method: "GET", path: "/\(text)/apps/shop/ramp")
        }
        #expect(seconds { call(marks) } < 4 * seconds { call(letters) } + 0.001)
        var least = Duration.seconds(60)
        for _ in 0..<5 {
            let start = ContinuousClock.now
            for token in [marks, marks + "." + marks + "." + marks] {
                #expect(throws: Problem.self) { try authority.read(token, at: Date()) }
            }
            least = min(least, ContinuousClock.now - start)
        }
        #expect(least < .milliseconds(20))
    }

    @Test func aTokenIsDecodedOnlyAfterItsSignature() async throws {
        let store = Store.inMemory()
        let authority = try await TokenAuthority(.init(), store: store) { [UInt8](repeating: 5, count: $0) }
        guard case .array(let keys)? = authority.production.published.member("keys"),
            let kid = keys.first?.member("kid")?.text
        else { throw Failure("no key") }
        let header = Base64.encodeURL(#"{"alg":"ES256","kid":"\#(kid)","typ":"JWT"}"#.utf8)
        let payload = Base64.encodeURL("{\"\(HostileTextTests.marks(2700))\":1}".utf8)
        let token = "\(header).\(payload).\(Base64.encodeURL([UInt8](repeating: 1, count: 64)))"
        #expect(throws: Problem("token.invalid")) { try authority.read(token, at: Date()) }
        // Two members of one name are two opinions about the key.
        let double = Base64.encodeURL(#"{"alg":"ES256","kid":"\#(kid)","kid":"\#(kid)"}"#.utf8)
        #expect(throws: Problem("token.invalid")) {
            try authority.read("\(double).\(payload).AAAA", at: Date())
        }
    }

    @Test func literalsOfPathsMatchTheirOwnBytes() {
        let table = RouteTable([
            Route("metrics", "GET", "/metrics", .metrics) { _ in .empty(200) },
            Route("ramp", "GET", "/v1/apps/{app}/ramp", .app) { _ in .empty(200) },
        ])
        func operation(_ path: String) -> String? {
            guard case .route(let route, let parameters) = table.match(method: "GET", path: path) else { return nil }
            return route.operation + (parameters["app"].map { " " + $0 } ?? "")
        }
        #expect(operation("/metrics") == "metrics")
        for path in ["/%6detrics", "/metric%73", "//metrics", "/metrics/", "/Metrics", "/%2Fmetrics", "/v1/../metrics"]
        {
            #expect(operation(path) == nil, "\(path)")
        }
        #expect(operation("/v1/apps/my%20shop/ramp") == "ramp my shop")
        for path in [
            "/v1/%61pps/shop/ramp", "/v1/apps//ramp", "/v1/apps/%/ramp", "/v1/apps/%zz/ramp", "/v1/apps/%FF/ramp",
            "/v1/apps/\(String(repeating: "a", count: 257))/ramp", "/a/b/c/d/e/f/g/h/i/j",
        ] {
            #expect(operation(path) == nil, "\(path)")
        }
    }
}
