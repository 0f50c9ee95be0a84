// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension TLSMisbehaviour {
    private static func classic(
        _ name: String, _ outcome: Outcome = .protocolError, code: String? = "-",
        _ make: @escaping @Sendable (HostileSession) -> [[UInt8]]
    ) -> TLSMisbehaviour {
        TLSMisbehaviour(name + ", TLS 1.2", outcome, code: code, modern: false) { session in
            [.send(make(session).flatMap { Bytes.records($0) }), .close]
        }
    }

    /// An honest flight whose key exchange is another.
    private static func exchange(
        _ name: String, _ outcome: Outcome = .protocolError, code: String? = "-",
        _ make: @escaping @Sendable (HostileSession) -> [UInt8]
    ) -> TLSMisbehaviour {
        classic(name, outcome, code: code) {
            [$0.classicHello(), $0.classicCertificate(), make($0), HostileSession.helloDone]
        }
    }

    /// The flight of TLS 1.2, wrong in one place.
    static let classic: [TLSMisbehaviour] =
        classicHellos + classicMessages + exchanges
        + wrongOrders.map { order in
            let names = ["ServerHello", "Certificate", "ServerKeyExchange", "ServerHelloDone"]
            return classic("the order " + order.map { names[$0] }.joined(separator: ", ")) { session in
                order.map { step in
                    switch step {
                    case 0: session.classicHello()
                    case 1: session.classicCertificate()
                    case 2: session.keyExchange()
                    default: HostileSession.helloDone
                    }
                }
            }
        }

    private static let classicHellos: [TLSMisbehaviour] = [
        classic("an honest server", .negotiated) {
            [$0.classicHello(), $0.classicCertificate(), $0.keyExchange(), HostileSession.helloDone]
        },
        TLSMisbehaviour("an honest server, five bytes a record, TLS 1.2", .negotiated, modern: false) { session in
            let whole =
                session.classicHello() + session.classicCertificate() + session.keyExchange() + HostileSession.helloDone
            return [.send(Bytes.records(whole, size: 5)), .close]
        },
        TLSMisbehaviour("an honest server, all in one record, TLS 1.2", .negotiated, modern: false) { session in
            let whole =
                session.classicHello() + session.classicCertificate() + session.keyExchange() + HostileSession.helloDone
            return [.send(Bytes.records(whole)), .close]
        },
        classic("a compressed hello") { [$0.serverHello(session: [], suite: 0xC02B, compression: 1, extensions: [])] },
        classic("a protocol that was not offered") {
            [$0.classicHello(items: Bytes.item(16, Bytes.vector(2, Bytes.vector(1, [0x78]))))]
        },
        classic("a suite without forward secrecy, not offered by default", code: "ats.tls.handshake-failed") {
            [$0.classicHello(suite: 0x0001)]
        },
        classic("a suite of nobody") { [$0.classicHello(suite: 0xFAFA)] },
        classic("TLS 1.2 named by supported_versions") { [$0.classicHello(items: Bytes.item(43, [3, 3]))] },
        classic("SSL 3") { [$0.classicHello(version: 0x0300)] },
    ]

    private static let classicMessages: [TLSMisbehaviour] = [
        classic("an empty certificate list") { [$0.classicHello(), $0.classicCertificate([])] },
        classic("a certificate list that says more") {
            [$0.classicHello(), Bytes.message(11, Bytes.vector(3, [], lie: 1))]
        },
        classic("bytes behind the certificate list") {
            [$0.classicHello(), Bytes.message(11, Bytes.vector(3, []) + [0])]
        },
        classic("a certificate that says more than the list") {
            [$0.classicHello(), Bytes.message(11, Bytes.vector(3, Bytes.vector(3, [1], lie: 1)))]
        },
        classic("65 certificates") {
            [$0.classicHello(), $0.classicCertificate([[UInt8]](repeating: [0x30, 0], count: 65))]
        },
        classic("a Certificate of 16 MiB announced") { [$0.classicHello(), [11, 0xFF, 0xFF, 0xFF]] },
        classic("a leaf of garbage", .negotiated, code: "ats.trust.unknown-root") {
            [$0.classicHello(), $0.classicCertificate([[1, 2, 3]]), $0.keyExchange(), HostileSession.helloDone]
        },
        classic("a ServerHelloDone with content") {
            [$0.classicHello(), $0.classicCertificate(), $0.keyExchange(), Bytes.message(14, [0])]
        },
        classic("a malformed CertificateStatus", .negotiated) {
            [
                $0.classicHello(), $0.classicCertificate(), Bytes.message(22, [1, 0xFF, 0xFF, 0xFF, 1]),
                $0.keyExchange(),
                HostileSession.helloDone,
            ]
        },
        classic("a CertificateStatus of 100 kB", .negotiated) {
            [
                $0.classicHello(), $0.classicCertificate(),
                Bytes.message(22, [1] + Bytes.vector(3, [UInt8](repeating: 0x30, count: 100_000))), $0.keyExchange(),
                HostileSession.helloDone,
            ]
        },
        classic("a CertificateRequest of garbage", .negotiated) {
            [
                $0.classicHello(), $0.classicCertificate(), $0.keyExchange(),
                Bytes.message(13, [UInt8](repeating: 0xFF, count: 500)), HostileSession.helloDone,
            ]
        },
        classic("two CertificateRequests") {
            [
                $0.classicHello(), $0.classicCertificate(), $0.keyExchange(), Bytes.message(13, [0, 0, 0]),
                Bytes.message(13, [0, 0, 0]),
            ]
        },
        classic("no ServerHelloDone", .closed) { [$0.classicHello(), $0.classicCertificate(), $0.keyExchange()] },
        classic("a Finished in the clear") { [$0.classicHello(), $0.classicCertificate(), Bytes.message(20, [1])] },
        TLSMisbehaviour("ChangeCipherSpec behind the ServerHello, TLS 1.2", .protocolError, modern: false) { session in
            [.send(Bytes.records(session.classicHello()) + Bytes.record(20, [1])), .close]
        },
        TLSMisbehaviour("application data behind the ServerHello, TLS 1.2", .protocolError, modern: false) { session in
            [.send(Bytes.records(session.classicHello()) + Bytes.record(23, [1, 2, 3])), .close]
        },
        TLSMisbehaviour("endless HelloRequests, TLS 1.2", .protocolError, modern: false) { session in
            [.send(Bytes.records(session.classicHello())), .flood(Bytes.records(Bytes.message(0, [])), limit: 4 << 20)]
        },
        TLSMisbehaviour("endless warnings behind the ServerHello, TLS 1.2", .protocolError, modern: false) { session in
            [.send(Bytes.records(session.classicHello())), .flood(Bytes.alert(1, 112), limit: 4 << 20)]
        },
        TLSMisbehaviour("a CertificateStatus again and again, TLS 1.2", .protocolError, modern: false) { session in
            [
                .send(Bytes.records(session.classicHello()) + Bytes.records(session.classicCertificate())),
                .flood(Bytes.records(Bytes.message(22, [1, 0, 0, 1, 0])), limit: 4 << 20),
            ]
        },
        TLSMisbehaviour("a flight that stops, TLS 1.2", .timeout, modern: false) { session in
            [.send(Bytes.records(session.classicHello()) + Bytes.records(session.classicCertificate())), .stall]
        },
        TLSMisbehaviour("a flight that is reset, TLS 1.2", .reset, modern: false) { session in
            [.send(Bytes.records(session.classicHello())), .reset]
        },
    ]

    private static let exchanges: [TLSMisbehaviour] = [
        exchange("an empty ServerKeyExchange") { _ in Bytes.message(12, []) },
        exchange("an explicit prime curve") { $0.keyExchange(kind: 1) },
        exchange("an explicit binary curve") { $0.keyExchange(kind: 2) },
        exchange("a curve of kind 0") { $0.keyExchange(kind: 0) },
        // A hello with rare groups finds out why.
        exchange("a curve that was not offered", code: "ats.tls.no-common-group") { $0.keyExchange(curve: 19) },
        exchange("the curve 0") { $0.keyExchange(curve: 0) },
        exchange("the curve 0xFFFF") { $0.keyExchange(curve: 0xFFFF) },
        exchange("an empty point") { $0.keyExchange(point: []) },
        exchange("a point that says more") { $0.keyExchange(point: [4, 1], lie: 200) },
        exchange("a point that says less") { $0.keyExchange(lie: -3) },
        exchange("a scheme that was not offered") { $0.keyExchange(scheme: 0x0101) },
        exchange("the scheme 0") { $0.keyExchange(scheme: 0) },
        exchange("bytes behind the signature") { Bytes.message(12, Array($0.keyExchange().dropFirst(4)) + [0]) },
        exchange("a signature cut short") { Bytes.message(12, Array($0.keyExchange().dropFirst(4).dropLast())) },
        exchange("a signature over something else", .negotiated, code: "ats.tls.handshake-failed") {
            Bytes.message(12, Array($0.keyExchange().dropFirst(4).dropLast(2)) + [1, 1])
        },
        exchange("a ServerKeyExchange of 100 kB") { _ in
            Bytes.message(12, [3, 0, 23] + [UInt8](repeating: 4, count: 100_000))
        },
    ]

    /// Servers that finish the handshake and misbehave then: the prober has gone, a load has not.
    static let afterwards: [TLSMisbehaviour] = [
        after("endless session tickets") { .flood($0.seal(22, ticket), limit: 0) },
        after("endless KeyUpdates") { .flood($0.seal(22, Bytes.message(24, [1])), limit: 0) },
        after("endless empty records") { .flood($0.seal(23, []), limit: 0) },
        after("endless warnings") { .flood($0.seal(21, [1, 90]), limit: 0) },
        after("a KeyUpdate of value 9") { .send($0.seal(22, Bytes.message(24, [9]))) },
        after("a second Finished") { .send($0.seal(22, Bytes.message(20, [UInt8](repeating: 0, count: 32)))) },
        after("a HelloRequest") { .send($0.seal(22, Bytes.message(0, []))) },
        after("a CertificateRequest") { .send($0.seal(22, Bytes.message(13, [0, 0, 0]))) },
        after("a message of 16 MiB") { .send($0.seal(22, [4, 0xFF, 0xFF, 0xFF])) },
        after("a record of garbage") { _ in .send(Bytes.record(23, [UInt8](repeating: 0, count: 100))) },
        after("a record in the clear") { _ in .send(Bytes.alert(2, 40)) },
        after("nothing") { _ in .stall },
        after("the end") { _ in .close },
        after("a reset") { _ in .reset },
        after("HTTP that is none") { .send($0.seal(23, Array("hello\r\n".utf8))) },
        after("an endless head of HTTP") {
            .send($0.seal(23, Array(("HTTP/1.1 200 OK\r\nx: " + String(repeating: "y", count: 16_000)).utf8)))
        },
    ]

    private static let ticket = Bytes.message(
        4,
        [0, 0, 0x1C, 0x20, 1, 2, 3, 4] + Bytes.vector(1, [7]) + Bytes.vector(2, [UInt8](repeating: 8, count: 64)) + [
            0, 0,
        ]
    )

    /// - Parameter last: a flood with the limit 0 becomes 200 records, each sealed on its own.
    private static func after(
        _ name: String, _ last: @escaping @Sendable (inout HostileSession) -> Act
    )
        -> TLSMisbehaviour
    {
        TLSMisbehaviour("after the handshake: " + name, .negotiated) { session in
            let begin = session.begin() + session.honestRest()
            session.finishKeys()
            var acts: [Act] = [.send(begin)]
            var act = last(&session)
            guard case .flood = act else { return acts + [act, .stall] }
            for _ in 0..<200 {
                if case .flood(let bytes, _) = act { acts.append(.send(bytes)) }
                act = last(&session)
            }
            return acts + [.stall]
        }
    }
}
