// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import TLSModel
import Testing

@testable import ConnectionAdmission
@testable import HTTPService

@Suite struct ConnectionPlaceTests {
    /// The only place is that of a client that has sent its request: it keeps it while the service works for it, and not while it takes its
    /// time to read the answer.
    @Test func aClientThatReadsNoAnswerMakesRoom() throws {
        let admission = Admission(limits: Admission.Limits(total: 1, perAddress: 1)) { _ in }
        let channel = EmbeddedChannel()
        channel.remoteAddress = try SocketAddress(ipAddress: "192.0.2.1", port: 1)
        #expect(admission.admit(IPAddress("192.0.2.1"), channel).verdict == .admitted)
        let observer = RequestObserver(registry: PrometheusRegistry(), log: Logger(label: "test"))
        try channel.pipeline.syncOperations.addHandler(
            ConnectionHandler(limits: ConnectionLimits(), observer: observer, sources: .live, admission: admission))
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/livez", headers: ["host": "a"])
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
        #expect(admission.admit(IPAddress("192.0.2.2")) == .full)
        channel.write(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)), promise: nil)
        // A look that found nothing is not repeated at once.
        #expect((0..<10_000).contains { _ in admission.admit(IPAddress("192.0.2.2")) == .admitted })
        #expect(throws: ChannelError.alreadyClosed) { try channel.finish() }
    }
}
