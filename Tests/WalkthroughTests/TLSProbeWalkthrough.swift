// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOPosix
import TLSModel
import TLSProbe
import Testing

@Test func `TLSProbe: one hello, and the chain of what answered`() async throws {
    let server = try FlawedServer(["-tls1_2"])
    let port = server.port
    var trust = TrustAnchors()
    try trust.add(file: server.certificate, kind: .installed)

    // walkthrough: TLSProbe probe
    let prober = Prober(group: MultiThreadedEventLoopGroup.singleton)
    let offer = HelloOffer(
        minimumVersion: .tls10, maximumVersion: .tls13,
        suites: [.aes128GCMSHA256, .ecdheECDSAWithAES128GCMSHA256, .ecdheRSAWithAES128GCMSHA256])
    let outcome = await prober.probe(offer, host: "localhost", port: port)
    guard case .negotiated(let handshake) = outcome else { return print(outcome) }
    print(handshake.version, handshake.suite, handshake.keyPossession)

    let chain = await ChainBuilder(anchors: trust).build(presented: handshake.certificates)
    // chain.anchor is where the path ends, or nil; chain.judged is what the rules look at.
    // end
    #expect(handshake.version == .tls12 && handshake.suite == .ecdheECDSAWithAES128GCMSHA256)
    #expect(handshake.keyPossession == .proven)
    #expect(chain.anchor?.kind == .installed)
}

@Test func `TLSProbe: what does not listen refuses, and that is a fact of its own`() async throws {
    let port = try { try FlawedServer().port }()
    let prober = Prober(group: MultiThreadedEventLoopGroup.singleton)
    let outcome = await prober.probe(HelloOffer(suites: [.aes128GCMSHA256]), host: "127.0.0.1", port: port)
    #expect(outcome == .connection(.refused))
}
