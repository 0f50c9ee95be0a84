// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// A receiver of spans on a free loopback port: OTLP over HTTP/1.1 with JSON. It stops when it goes out of use.
package final class TraceCollector: Sendable {
    /// One span as it came.
    package struct Span: Sendable {
        package let name: String
        package let trace: String
        package let id: String
        /// Empty at the root of a trace.
        package let parent: String
        package let kind: Int
        package let isError: Bool
        package let state: String
        /// Numbers as text, as they came.
        package let attributes: [String: String]
        /// Nanoseconds since 1970.
        package let start: UInt64
        package let end: UInt64
    }

    package let port: Int
    /// Where spans are sent: a base URL.
    package var base: String { "http://127.0.0.1:\(port)" }
    /// Every request as it came: its head, and its body.
    package let requests: AsyncStream<(head: String, body: Data)>
    private let listener: HeldPort

    /// - Parameter answer: what every request is answered with, status line and all.
    package init(
        answer: String = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    )
        throws
    {
        listener = try HeldPort(isListening: true, backlog: 64)
        port = listener.port
        let (requests, continuation) = AsyncStream.makeStream(of: (head: String, body: Data).self)
        self.requests = requests
        let socket = listener.descriptor
        Thread.detachNewThread {
            while true {
                let descriptor = accept(socket, nil, nil)
                guard descriptor >= 0 else { return continuation.finish() }
                Thread.detachNewThread { TraceCollector.serve(descriptor, answer) { continuation.yield($0) } }
            }
        }
    }

    private static func serve(_ descriptor: Int32, _ answer: String, _ take: ((head: String, body: Data)) -> Void) {
        defer { close(descriptor) }
        var received = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            while let end = received.firstRange(of: Data("\r\n\r\n".utf8)) {
                let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
                let field = head.lowercased().components(separatedBy: "\r\ncontent-length: ").last
                let length = field.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
                guard received.endIndex - end.upperBound >= length else { break }
                take((head, Data(received[end.upperBound..<(end.upperBound + length)])))
                received = Data(received[(end.upperBound + length)...])
                _ = answer.withCString { send(descriptor, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
            }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            received += buffer.prefix(count)
        }
    }

    /// Spans as they come, until the condition holds for all that came.
    package func spans(until isEnough: ([Span]) -> Bool) async throws -> [Span] {
        var spans: [Span] = []
        for await request in requests {
            spans += try TraceCollector.spans(in: request.body)
            if isEnough(spans) { break }
        }
        return spans
    }

    /// The spans of one body.
    package static func spans(in body: Data) throws -> [Span] {
        func list(_ value: Any?, _ name: String) -> [[String: Any]] {
            (value as? [String: Any])?[name] as? [[String: Any]] ?? []
        }
        let document = try JSONSerialization.jsonObject(with: body)
        return list(document, "resourceSpans").flatMap { list($0, "scopeSpans") }.flatMap { list($0, "spans") }.map {
            span in
            func text(_ name: String) -> String { span[name] as? String ?? "" }
            let attributes = list(span, "attributes").map { attribute in
                let value = attribute["value"] as? [String: Any] ?? [:]
                return (attribute["key"] as? String ?? "", value.values.first.map { "\($0)" } ?? "")
            }
            return Span(
                name: text("name"), trace: text("traceId"), id: text("spanId"), parent: text("parentSpanId"),
                kind: span["kind"] as? Int ?? 0, isError: (span["status"] as? [String: Any])?["code"] as? Int == 2,
                state: text("traceState"), attributes: Dictionary(attributes) { first, _ in first },
                start: UInt64(text("startTimeUnixNano")) ?? 0, end: UInt64(text("endTimeUnixNano")) ?? 0)
        }
    }
}
