// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tracing

@testable import HTTPService

/// `traceparent` and `tracestate` of anybody.
@Suite struct TraceContextTests {
    private static let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test func whatIsGoodIsReadAndWrittenAsItWas() throws {
        let context = try #require(TraceContext(traceparent: TraceContextTests.good))
        #expect("\(context.traceID)" == "0af7651916cd43dd8448eb211c80319c")
        #expect(context.spanID == 0xb7ad_6b71_6920_3331 && context.isSampled)
        #expect(context.traceparent == TraceContextTests.good)
        // The other flags are not ours, and a later version may say more.
        for (flags, isSampled) in [("00", false), ("01", true), ("02", false), ("ff", true)] {
            let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-\(flags)"
            #expect(TraceContext(traceparent: text)?.isSampled == isSampled, "\(flags)")
        }
        for text in ["cc" + TraceContextTests.good.dropFirst(2), "01" + TraceContextTests.good.dropFirst(2) + "-more"] {
            #expect(TraceContext(traceparent: text)?.traceparent == TraceContextTests.good, "\(text)")
        }
        let small = "00-0000000000000000000000000000000a-000000000000000b-00"
        #expect(TraceContext(traceparent: small)?.traceparent == small)
    }

    /// Outside the attribute, with its type, which the compiler needs half a minute to find there.
    static let bad: [String] = {
        let rest = String(good.dropFirst(2))
        return [
            "", "-", "---", "00---", "garbage", good + "-", good + "-more", good + " ", " " + good, good + "," + good,
            "ff" + rest, "FF" + rest, "0g" + rest, "0" + rest,
            good.uppercased(), good.replacing("c-b", with: "C-b"), good.replacing("-01", with: "-0x"),
            good.replacing("-01", with: "-+1"), good.replacing("-0af", with: "-+af"), good.replacing("-", with: "_"),
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            good.replacing("a", with: "\u{661}"), good.replacing("a", with: "a\u{301}"), "\u{0}" + good.dropFirst(),
            "01" + rest + "-" + String(repeating: "x", count: 100_000),
            String(repeating: "-", count: 100_000),
        ]
    }()

    @Test(arguments: bad)
    func whatIsNoTraceparentIsNone(_ text: String) { #expect(TraceContext(traceparent: text) == nil) }

    @Test func everyTruncationAndEveryOtherByteIsNone() {
        let bytes = Array(TraceContextTests.good.utf8)
        for count in bytes.indices {
            #expect(TraceContext(traceparent: String(decoding: bytes.prefix(count), as: UTF8.self)) == nil, "\(count)")
        }
        for index in bytes.indices {
            for byte: UInt8 in [0x00, 0x20, 0x2B, 0x2D, 0x41, 0x47, 0x67, 0x7F] where bytes[index] != byte {
                var changed = bytes
                changed[index] = byte
                #expect(TraceContext(traceparent: String(decoding: changed, as: UTF8.self)) == nil, "\(index) \(byte)")
            }
        }
    }

    @Test func aTracestateIsPassedOnWithinItsLimits() {
        func state(_ text: String) -> String? {
            TraceContext(traceparent: TraceContextTests.good, tracestate: text)?.state
        }
        #expect(state("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE") == "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")
        #expect(state(" a=1 ,\t,b@c=2 3,") == "a=1,b@c=2 3")
        let members = (0..<32).map { "k\($0)=1" }.joined(separator: ",")
        #expect(state(members) == members)
        for wrong in [
            "", ",", "a", "=1", "a=", "A=1", "a=1=2", "a=\u{7F}", "a=é", "a=1,a=2", members + ",k32=1",
            "a=" + String(repeating: "1", count: 511), String(repeating: "a", count: 257) + "=1",
        ] { #expect(state(wrong) == nil, "\(wrong)") }
    }

    private struct Fields: Extractor, Injector {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }

    @Test func aSpanContinuesTheTraceThatItIsGivenAndBeginsOneOtherwise() throws {
        let tracer = SpanTracer(queue: SpanQueue(limit: 8), share: 1)
        var context = ServiceContext.topLevel
        tracer.extract(["traceparent": TraceContextTests.good, "tracestate": "a=1"], into: &context, using: Fields())
        let span = tracer.startSpan("child", context: context)
        var carrier: [String: String] = [:]
        tracer.inject(span.context, into: &carrier, using: Fields())
        let trace = try #require(span.context.trace)
        #expect(carrier == ["traceparent": trace.traceparent, "tracestate": "a=1"])
        #expect("\(trace.traceID)" == "0af7651916cd43dd8448eb211c80319c" && trace.spanID != 0xb7ad_6b71_6920_3331)
        let roots = (0..<2).map { _ in tracer.startSpan("root", context: .topLevel).context.trace?.traceID }
        #expect(roots[0] != nil && roots[0] != roots[1])
    }

    @Test func theShareIsOfTracesThatBeginHere() throws {
        for (share, range) in [(0.0, 0...0), (0.5, 400...600), (1.0, 1000...1000)] {
            let tracer = SpanTracer(queue: SpanQueue(limit: 8), share: share)
            let recorded = (0..<1000).count { _ in tracer.startSpan("root", context: .topLevel).isRecording }
            #expect(range.contains(recorded), "\(share): \(recorded)")
            for flags in ["00", "01"] {
                var context = ServiceContext.topLevel
                let parent = String(TraceContextTests.good.dropLast(2)) + flags
                tracer.extract(["traceparent": parent], into: &context, using: Fields())
                #expect(tracer.startSpan("child", context: context).isRecording == (flags == "01"))
            }
        }
    }
}
