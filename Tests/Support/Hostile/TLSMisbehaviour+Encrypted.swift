// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension TLSMisbehaviour {
    /// What an honest ServerHello is followed by.
    private static func then(
        _ name: String, _ outcome: Outcome = .protocolError, code: String? = "-",
        _ make: @escaping @Sendable (inout HostileSession) -> [UInt8]
    ) -> TLSMisbehaviour {
        TLSMisbehaviour(name, outcome, code: code) { session in
            let begin = session.begin()
            return [.send(begin + make(&session)), .close]
        }
    }

    private static func extensions(_ name: String, _ body: [UInt8]) -> TLSMisbehaviour {
        then(name) { $0.say(Bytes.message(8, body)) }
    }

    /// The encrypted part of the flight, wrong in one place.
    static let encrypted: [TLSMisbehaviour] =
        [
            then("an honest server", .negotiated) { $0.honestRest() },
            then("an honest server, every message padded", .negotiated) { session in
                var bytes = session.say(session.encryptedExtensions, padding: 100)
                bytes += session.say(session.certificate(), padding: 1000)
                bytes += session.say(session.verify(), padding: 1)
                return bytes + session.say(session.finished(), padding: 15_000)
            },
            then("an honest server, seven bytes a record", .negotiated) { session in
                var bytes = session.sayInParts(session.encryptedExtensions, size: 7)
                bytes += session.sayInParts(session.certificate(), size: 7)
                bytes += session.sayInParts(session.verify(), size: 7)
                return bytes + session.sayInParts(session.finished(), size: 7)
            },
            then("nothing behind the ServerHello", .closed) { _ in [] },
            extensions("EncryptedExtensions without a length", []),
            extensions("EncryptedExtensions of one byte", [0]),
            extensions("EncryptedExtensions that say one byte more", [0, 1]),
            extensions("EncryptedExtensions with bytes behind them", [0, 0, 0]),
            extensions("an extension that says more than there is", [0, 4, 0, 16, 0, 9]),
            extensions("an extension twice", Bytes.vector(2, Bytes.item(999, []) + Bytes.item(999, []))),
            extensions("100 encrypted extensions", Bytes.vector(2, (100..<200).flatMap { Bytes.item($0, []) })),
            extensions(
                "a protocol that was not offered",
                Bytes.vector(2, Bytes.item(16, Bytes.vector(2, Bytes.vector(1, [0x78]))))),
            extensions("an empty protocol", Bytes.vector(2, Bytes.item(16, Bytes.vector(2, Bytes.vector(1, []))))),
            extensions("no protocol", Bytes.vector(2, Bytes.item(16, Bytes.vector(2, [])))),
            extensions(
                "two protocols",
                Bytes.vector(
                    2, Bytes.item(16, Bytes.vector(2, Bytes.vector(1, [0x68, 0x32]) + Bytes.vector(1, [0x68, 0x32]))))),
            extensions(
                "a protocol of 255 bytes",
                Bytes.vector(2, Bytes.item(16, Bytes.vector(2, Bytes.vector(1, [UInt8](repeating: 0xCC, count: 255)))))),
            extensions(
                "a protocol that says more than there is", Bytes.vector(2, Bytes.item(16, [0, 3, 9, 0x68, 0x32]))),
            then("EncryptedExtensions twice") { $0.say($0.encryptedExtensions + $0.encryptedExtensions) },
            then("no CertificateVerify") { session in
                var bytes = session.say(session.encryptedExtensions)
                bytes += session.say(session.certificate())
                return bytes + session.say(session.finished())
            },
            then("two CertificateRequests") {
                $0.say($0.encryptedExtensions + Bytes.message(13, [0, 0, 0]) + Bytes.message(13, [0, 0, 0]))
            },
            then("a CertificateRequest behind the Certificate") {
                $0.say($0.encryptedExtensions + $0.certificate() + Bytes.message(13, [0, 0, 0]))
            },
            then("two Certificates") { $0.say($0.encryptedExtensions + $0.certificate() + $0.certificate()) },
            then("a CertificateStatus") {
                $0.say($0.encryptedExtensions + $0.certificate() + Bytes.message(22, [1, 0, 0, 0]))
            },
            then("a NewSessionTicket inside the flight") {
                $0.say($0.encryptedExtensions + Bytes.message(4, [UInt8](repeating: 0, count: 20)))
            },
            then("a KeyUpdate inside the flight") { $0.say($0.encryptedExtensions + Bytes.message(24, [0])) },
            then("an EndOfEarlyData") { $0.say($0.encryptedExtensions + Bytes.message(5, [])) },
            then("a ServerHello inside the encryption") {
                $0.say($0.serverHello(extensions: HostileSession.versionItem))
            },
            then("an unknown message") { $0.say($0.encryptedExtensions + Bytes.message(99, [1])) },
            then("a message_hash") {
                $0.say($0.encryptedExtensions + Bytes.message(254, [UInt8](repeating: 0, count: 32)))
            },
            then("an encrypted message of 16 MiB announced") { $0.say([11, 0xFF, 0xFF, 0xFF]) },
            then("application data inside the flight") { $0.seal(23, Array("HTTP/1.1 200 OK\r\n\r\n".utf8)) },
            then("an inner type of 24") { $0.seal(24, [1]) },
            then("an inner type of 20") { $0.seal(20, [1]) },
            then("an inner type of 22 without content, many times") { session in
                (0..<40).flatMap { _ in session.seal(22, []) }
            },
            then("nothing but padding") { $0.seal(0, [], padding: 64) },
            then("an empty encrypted record") { _ in Bytes.record(23, []) },
            then("an encrypted record of 16 bytes") { _ in Bytes.record(23, [UInt8](repeating: 0, count: 16)) },
            then("a record that was not made with the key") { _ in Bytes.record(23, [UInt8](repeating: 0, count: 64)) },
            then("a record whose last bit is wrong") { session in
                var bytes = session.say(session.encryptedExtensions)
                if let last = bytes.last { bytes[bytes.count - 1] = last ^ 1 }
                return bytes
            },
            then("the first record twice") { session in
                let record = session.say(session.encryptedExtensions)
                return record + record
            },
            then("the second record left out") { session in
                let first = session.say(session.encryptedExtensions)
                _ = session.say(session.certificate())
                return first + session.say(session.verify())
            },
            then("a handshake record in the clear") { Bytes.records($0.encryptedExtensions) },
            then("endless ChangeCipherSpec behind the ServerHello") { _ in
                (0..<40).flatMap { _ in Bytes.record(20, [1]) }
            },
            then("an alert in the clear", .alert(40)) { _ in Bytes.alert(2, 40) },
            then("an encrypted warning, then the end", .closed) { $0.seal(21, [1, 112]) },
            then("an encrypted alert of one byte") { $0.seal(21, [2]) },
            then("close_notify inside the flight", .alert(0)) { $0.seal(21, [1, 0]) },
        ]
        + [40, 42, 47, 80, 116].map { description in
            then("the encrypted alert \(description)", .alert(description)) { $0.seal(21, [2, description]) }
        }
        + [0x0000, 0x0401, 0x0403 ^ 0xFFFF, 0x0201, 0x0203, 0x0804, 0x0503, 0x0807, 0xFFFF].map { scheme in
            then("a signature by the scheme 0x\(String(scheme, radix: 16))") { session in
                var bytes = session.say(session.encryptedExtensions)
                bytes += session.say(session.certificate())
                return bytes + session.say(session.verify(scheme: scheme))
            }
        } + finishes

    /// CertificateVerify and Finished.
    private static let finishes: [TLSMisbehaviour] =
        [
            ("an empty CertificateVerify", [UInt8]()), ("a CertificateVerify of two bytes", [4, 3]),
            ("a signature that says one byte more", [4, 3, 0, 1]), ("bytes behind the signature", [4, 3, 0, 1, 0, 0]),
        ].map { name, body in
            then(name) { session in
                let bytes = session.say(session.encryptedExtensions)
                return bytes + session.say(session.certificate() + Bytes.message(15, body))
            }
        }
        + [
            ("a signature of no bytes", [UInt8]()), ("a signature of zeros", [UInt8](repeating: 0, count: 70)),
            ("a signature of 60,000 bytes", [UInt8](repeating: 0x30, count: 60_000)),
        ].map { name, signature in
            then(name, .negotiated, code: "ats.tls.handshake-failed") { session in
                var bytes = session.say(session.encryptedExtensions)
                bytes += session.say(session.certificate())
                bytes += session.sayInParts(Bytes.message(15, [4, 3] + Bytes.vector(2, signature)))
                return bytes + session.say(session.finished())
            }
        }
        + [
            ("an empty Finished", [UInt8]()), ("a Finished of 31 bytes", [UInt8](repeating: 0, count: 31)),
            ("a Finished of zeros", [UInt8](repeating: 0, count: 32)),
            ("a Finished of 64 KiB", [UInt8](repeating: 0, count: 65_000)),
        ].map { name, body in
            then(name) { session in
                var bytes = session.say(session.encryptedExtensions)
                bytes += session.say(session.certificate())
                bytes += session.say(session.verify())
                return bytes + session.sayInParts(Bytes.message(20, body))
            }
        }

    /// The four encrypted messages in every order but the right one, and each of them left out or sent twice.
    static let orders: [TLSMisbehaviour] = {
        let names = ["EncryptedExtensions", "Certificate", "CertificateVerify", "Finished"]
        return wrongOrders.map { order in
            then("the order " + order.map { names[$0] }.joined(separator: ", ")) { session in
                order.flatMap { step -> [UInt8] in
                    switch step {
                    case 0: session.say(session.encryptedExtensions)
                    case 1: session.say(session.certificate())
                    case 2: session.say(session.verify())
                    default: session.say(session.finished())
                    }
                }
            }
        }
    }()

    /// Orders of four steps that a client must refuse: permutations, one left out, one doubled.
    static let wrongOrders: [[Int]] = {
        var orders: [[Int]] = []
        for first in 0..<4 {
            for second in 0..<4 where second != first {
                for third in 0..<4 where third != first && third != second {
                    orders.append([first, second, third, 6 - first - second - third])
                }
            }
        }
        orders.removeAll { $0 == [0, 1, 2, 3] }
        for step in 0..<3 { orders.append([0, 1, 2, 3].filter { $0 != step }) }
        for step in 0..<3 { orders.append([0, 1, 2, 3].flatMap { $0 == step ? [$0, $0] : [$0] }) }
        return orders
    }()
}
