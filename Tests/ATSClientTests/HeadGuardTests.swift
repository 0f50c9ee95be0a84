// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import Testing

@testable import ATSClient

/// A status that is none must not reach the codec: a negative one ends the process there.
struct HeadGuardTests {
    @Test(
        arguments: [
            ("200", true), ("100", true), ("999", true), ("-5", false), ("-20", false), ("1000", false), ("99", false),
            ("099", false), ("000", false), ("+20", false), ("2\u{660}0", false), ("", false), ("20a", false),
            ("99999999999999999999", false), ("-9223372036854775808", false),
        ]
    )
    func status(text: String, isAccepted: Bool) throws {
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers([
            HeadGuard(fieldLimit: 128), HTTP2FramePayloadToHTTP1ClientCodec(httpProtocol: .https),
        ])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: ["host": "x"])
        try channel.writeOutbound(HTTPClientRequestPart.head(head))
        let frame = HTTP2Frame.FramePayload.headers(.init(headers: [":status": text]))
        if isAccepted {
            try channel.writeInbound(frame)
            let part = try #require(try channel.readInbound(as: HTTPClientResponsePart.self))
            if case .head(let head) = part {
                #expect(String(head.status.code) == text)
            } else {
                Issue.record("no head")
            }
        } else {
            #expect(throws: HeadGuard.InvalidStatus.self) { try channel.writeInbound(frame) }
            #expect(try channel.readInbound(as: HTTPClientResponsePart.self) == nil)
            #expect(!channel.isActive)
        }
    }
}
