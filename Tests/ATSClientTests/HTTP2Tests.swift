// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import HTTPTypes
import NIOCore
import TestSupport
import Testing

/// Large bodies over HTTP/2, with a real server's flow control.
@Suite(.enabled(if: LoopbackServers.isAvailable))
struct HTTP2Tests {
    @Test("10 MB up and down over HTTP/2: in memory, streamed, side by side, and read slowly")
    func largeBodies() async throws {
        try await Self.withServer { port in
            let client = try Fixture.client { $0.totalTimeout = .seconds(40) }
            let authority = "127.0.0.1:\(port)"
            let body = ByteBuffer(bytes: (0..<10_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })
            let put = HTTPRequest(method: .put, scheme: "https", authority: authority, path: "/file")
            let whole = try await client.execute(put, body: .bytes(body.readableBytesView))
            #expect(whole.status.code == 201 && whole.applicationProtocol == "h2", "\(whole.head)")
            let parts = AsyncStream<ByteBuffer> { continuation in
                var rest = body
                while let part = rest.readSlice(length: min(100_000, rest.readableBytes)), part.readableBytes > 0 {
                    continuation.yield(part)
                }
                continuation.finish()
            }
            let other = HTTPRequest(method: .put, scheme: "https", authority: authority, path: "/streamed")
            #expect(try await client.execute(other, body: .stream(parts)).status.code == 201)
            let bodies = try await allAtOnce(4) { index in
                let path = index % 2 == 0 ? "/file" : "/streamed"
                let get = HTTPRequest(method: .get, scheme: "https", authority: authority, path: path)
                return try await client.execute(get).body.collect(upTo: 20_000_000)
            }
            #expect(bodies.allSatisfy { $0 == body })
            let get = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/file")
            var count = 0
            for try await part in try await client.execute(get).body {
                count += part.readableBytes
                if count < 2_000_000 { try await Task.sleep(for: .milliseconds(1)) }
            }
            #expect(count == body.readableBytes)
            #expect(client.openConnections <= 4, "one for each load that ran beside others")
            await client.shutDown()
        }
    }

    @Test("An HTTP/2 connection that rests for longer than keep-alive is closed, and the next load opens another")
    func restingConnection() async throws {
        let client = try Fixture.client { $0.keepAlive = .milliseconds(300) }
        let server = try Fixture.server("http2")
        let get = HTTPRequest(method: .get, scheme: "https", authority: "\(server.host):\(server.port)", path: "/")
        for _ in 0..<2 {
            for _ in 0..<3 {
                let response = try await client.execute(get)
                #expect(response.applicationProtocol == "h2")
                _ = try await response.body.collect(upTo: 1000)
            }
            #expect(client.openConnections == 1)
            try await eventually("nothing stays open") { client.openConnections == 0 }
        }
        await client.shutDown()
    }

    /// nginx with HTTP/2, which takes files by PUT and gives them back.
    private static func withServer(_ body: (Int) async throws -> Void) async throws {
        let certificates = try Fixture.servers.folder
        let nginx = try await NginxServer { port, folder in
            """
            client_max_body_size 20m;
            server {
                listen 127.0.0.1:\(port) ssl http2;
                ssl_certificate \(certificates)/ip.pem; ssl_certificate_key \(certificates)/rsa2048.key;
                root \(folder)/root; dav_methods PUT;
            }
            """
        }
        try await body(nginx.port)
    }
}
