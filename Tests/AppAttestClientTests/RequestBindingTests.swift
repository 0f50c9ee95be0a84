// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TestSupport
import Testing

@testable import AppAttestClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a signature covers, and the parts that sessions are made of.
@Suite struct RequestBindingTests {
    private static func request(
        _ url: String = "https://api.example.com/a%2Fb/%C3%A9?x=1&y=%20", _ method: String = "POST",
        _ body: String? = "body"
    ) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        return request
    }

    @Test func coversWhatIsOnTheWire() throws {
        let binding = try RequestBinding(try Self.request())
        #expect(binding.method == "POST" && binding.path == "/a%2Fb/%C3%A9" && binding.query == "x=1&y=%20")
        let hash = Data(SHA256.hash(data: Data("body".utf8))).base64EncodedString()
        #expect(binding.bodySHA256 == hash)
        let empty = try RequestBinding(try Self.request("https://api.example.com", "GET", nil))
        #expect(
            empty.path == "/" && empty.query == ""
                && empty == RequestBinding(method: "GET", host: "api.example.com", path: "", query: "", body: Data()))
    }

    @Test func everyPartCounts() throws {
        let all = try [
            Self.request(), Self.request("https://api.example.com/a/b/%C3%A9?x=1&y=%20"),
            Self.request("https://api.example.com/a%2Fb/%C3%A9?x=1&y=+"),
            Self.request("https://api.example.com/a%2Fb/%C3%A9"),
            Self.request("https://api.example.org/a%2Fb/%C3%A9?x=1&y=%20"),
            Self.request("https://api.example.com:444/a%2Fb/%C3%A9?x=1&y=%20"),
            Self.request(Self.request().url?.absoluteString ?? "", "PUT"),
            Self.request(Self.request().url?.absoluteString ?? "", "POST", "body "),
            Self.request(Self.request().url?.absoluteString ?? "", "POST", nil),
        ].map { try RequestBinding($0) }
        #expect(Set(all).count == all.count)
    }

    @Test func comesBackFromClientData() throws {
        let binding = try RequestBinding(try Self.request())
        let data = try binding.clientData(challenge: "AAAA")
        #expect(RequestBinding(clientData: data) == binding)
        #expect(String(decoding: data, as: UTF8.self).contains(#""challenge":"AAAA""#))
        #expect(RequestBinding(clientData: Data("{}".utf8)) == nil)
        #expect(RequestBinding(clientData: Data("[".utf8)) == nil)
    }

    @Test func aBodyThatCannotBeReadTwiceIsNotSigned() throws {
        var request = try Self.request("https://api.example.com/", "POST", nil)
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        #expect(throws: SessionError(.refused, "request.body-stream")) { try RequestBinding(request) }
    }

    @Test func theBodyOfAnUploadCounts() throws {
        let request = try Self.request("https://api.example.com/", "POST", nil)
        #expect(try RequestBinding(request, body: Data("x".utf8)) != RequestBinding(request))
    }
}

@Suite struct SerialLaneTests {
    @Test func letsOneThroughAtATimeInOrder() async throws {
        let lane = SerialLane()
        let inside = Shared(0)
        let order = Shared<[Int]>([])
        let gate = AsyncStream<Void>.makeStream()
        let first = Task { try await lane.run { for await _ in gate.stream { break } } }
        var others: [Task<Void, any Error>] = []
        for number in 0..<100 {
            await Task.yield()
            others.append(
                Task {
                    try await lane.run {
                        #expect(
                            inside.withLock {
                                $0 += 1; return $0
                            } == 1
                        )
                        order.withLock { $0.append(number) }
                        await Task.yield()
                        inside.withLock { $0 -= 1 }
                    }
                }
            )
        }
        gate.continuation.yield()
        try await first.value
        for other in others { try await other.value }
        #expect(order.withLock { $0.sorted() } == Array(0..<100))
    }

    @Test func whoeverIsCancelledLeavesTheLine() async throws {
        let lane = SerialLane()
        let gate = AsyncStream<Void>.makeStream()
        let isIn = Shared(false)
        let wasRun = Shared(false)
        let first = Task {
            try await lane.run {
                isIn.withLock { $0 = true }
                for await _ in gate.stream { break }
            }
        }
        try await eventually("it is in") { isIn.withLock { $0 } }
        let second = Task { try await lane.run { wasRun.withLock { $0 = true } } }
        let third = Task { try await lane.run { 3 } }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.continuation.yield()
        try await first.value
        #expect(try await third.value == 3)
        #expect(!wasRun.withLock { $0 })
    }

    @Test func anErrorOpensTheLane() async throws {
        let lane = SerialLane()
        await #expect(throws: Failure.self) { try await lane.run { throw Failure("x") } }
        #expect(try await lane.run { 1 } == 1)
    }
}

@Suite struct BackoffTests {
    @Test func doublesUpToItsEnd() {
        var backoff = Backoff(first: .seconds(1), most: .seconds(10))
        var pauses: [Duration] = []
        for _ in 0..<100 {
            backoff.failed(at: .zero, random: 1)
            pauses.append(backoff.until ?? .zero)
        }
        #expect(
            Array(pauses.prefix(5)) == [1, 2, 4, 8, 10].map { Duration.seconds($0) } && pauses.last == .seconds(10))
        backoff.failed(at: .zero, random: 0)
        #expect(backoff.until == .seconds(5))
        backoff.failed(at: .seconds(7), random: 1, atLeast: .seconds(60))
        #expect(backoff.until == .seconds(67))
        backoff.succeeded()
        #expect(backoff.until == nil && backoff.failures == 0)
    }
}
