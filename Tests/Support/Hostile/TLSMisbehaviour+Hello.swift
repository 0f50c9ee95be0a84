// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension TLSMisbehaviour {
    private static func hello(
        _ name: String, _ outcome: Outcome = .protocolError, _ make: @escaping @Sendable (HostileSession) -> [UInt8]
    ) -> TLSMisbehaviour {
        TLSMisbehaviour(name, outcome) { session in [.send(Bytes.records(make(session))), .close] }
    }

    private static let both = HostileSession.versionItem + HostileSession.shareItem

    private static func share(_ group: Int, _ bytes: [UInt8], lie: Int = 0) -> [UInt8] {
        HostileSession.versionItem + Bytes.item(51, Bytes.n16(group) + Bytes.vector(2, bytes, lie: lie))
    }

    /// ServerHellos of TLS 1.3 that are wrong in one place.
    static let serverHellos: [TLSMisbehaviour] = fields + items + shares + lengths

    private static let fields: [TLSMisbehaviour] =
        [
            hello("a session identifier of its own") {
                $0.serverHello(session: [UInt8](repeating: 4, count: 32), extensions: both)
            },
            hello("no session identifier") { $0.serverHello(session: [], extensions: both) },
            hello("a session identifier of 31 bytes") {
                $0.serverHello(session: Array($0.hello.session.dropLast()), extensions: both)
            },
            hello("a session identifier of 33 bytes") {
                $0.serverHello(session: $0.hello.session + [1], extensions: both)
            },
            hello("a session identifier of 255 bytes") {
                $0.serverHello(session: [UInt8](repeating: 1, count: 255), extensions: both)
            },
            hello("compression 1") { $0.serverHello(compression: 1, extensions: both) },
            hello("compression 255") { $0.serverHello(compression: 255, extensions: both) },
            hello("legacy version 0 without an extension") { $0.serverHello(version: 0, extensions: []) },
            hello("legacy version SSL 3") { $0.serverHello(version: 0x0300, extensions: []) },
            hello("legacy version 0x0304") { $0.serverHello(version: 0x0304, extensions: HostileSession.shareItem) },
            hello("legacy version 0xFFFF") { $0.serverHello(version: 0xFFFF, extensions: []) },
            hello("TLS 1.2 with a suite of TLS 1.3") { $0.serverHello(extensions: []) },
            hello("TLS 1.2 with the session of the hello") { $0.serverHello(suite: 0xC02B, extensions: []) },
            hello("the mark of a downgrade to TLS 1.2") { session in
                let random = session.random.prefix(24) + [0x44, 0x4F, 0x57, 0x4E, 0x47, 0x52, 0x44, 1]
                return session.serverHello(random: Array(random), session: [1], suite: 0xC02B, extensions: [])
            },
            hello("the mark of a downgrade below TLS 1.2") { session in
                let random = session.random.prefix(24) + [0x44, 0x4F, 0x57, 0x4E, 0x47, 0x52, 0x44, 0]
                return session.serverHello(random: Array(random), session: [1], suite: 0xC02B, extensions: [])
            },
        ]
        + [0x0000, 0x0001, 0x0005, 0x00FF, 0x1300, 0x1304, 0x1305, 0x5600, 0xC02B, 0xCCA9, 0xFFFF].map { suite in
            hello("the suite 0x\(String(suite, radix: 16)) in TLS 1.3") {
                $0.serverHello(suite: suite, extensions: both)
            }
        }
        + [0x0000, 0x0200, 0x0300, 0x0303, 0x0305, 0x7F1C, 0xFEFF, 0xFFFF].map { version in
            hello("supported_versions 0x\(String(version, radix: 16))") {
                $0.serverHello(extensions: Bytes.item(43, Bytes.n16(version)) + HostileSession.shareItem)
            }
        }

    private static let items: [TLSMisbehaviour] = [
        hello("supported_versions of no byte") {
            $0.serverHello(extensions: Bytes.item(43, []) + HostileSession.shareItem)
        },
        hello("supported_versions of one byte") {
            $0.serverHello(extensions: Bytes.item(43, [3]) + HostileSession.shareItem)
        },
        hello("supported_versions of three bytes") {
            $0.serverHello(extensions: Bytes.item(43, [3, 4, 0]) + HostileSession.shareItem)
        },
        hello("supported_versions as a list") {
            $0.serverHello(extensions: Bytes.item(43, [2, 3, 4]) + HostileSession.shareItem)
        },
        hello("supported_versions twice") { $0.serverHello(extensions: HostileSession.versionItem + both) },
        hello("key_share twice") { $0.serverHello(extensions: both + HostileSession.shareItem) },
        hello("65 extensions") { session in
            session.serverHello(extensions: both + (1000..<1063).flatMap { Bytes.item($0, []) })
        },
        hello("16,000 empty extensions") { session in
            session.serverHello(extensions: both + (100..<16_100).flatMap { Bytes.item($0, []) })
        },
        hello("one extension 60 times") { session in
            session.serverHello(extensions: both + (0..<60).flatMap { _ in Bytes.item(999, []) })
        },
        hello("an extension of 60,000 bytes, and no share") {
            $0.serverHello(
                extensions: HostileSession.versionItem + Bytes.item(999, [UInt8](repeating: 0, count: 60_000)))
        },
    ]

    private static let shares: [TLSMisbehaviour] =
        [
            hello("no key share") { $0.serverHello(extensions: HostileSession.versionItem) },
            hello("an empty key_share") { $0.serverHello(extensions: HostileSession.versionItem + Bytes.item(51, [])) },
            hello("a key_share of one byte") {
                $0.serverHello(extensions: HostileSession.versionItem + Bytes.item(51, [0]))
            },
            hello("a key_share with a group alone") {
                $0.serverHello(extensions: HostileSession.versionItem + Bytes.item(51, [0, 29]))
            },
            hello("bytes behind the key share") {
                $0.serverHello(
                    extensions: HostileSession.versionItem
                        + Bytes.item(51, [0, 29] + Bytes.vector(2, [UInt8](repeating: 9, count: 32)) + [0]))
            },
            hello("a key share that says one byte more") {
                $0.serverHello(extensions: share(29, [UInt8](repeating: 9, count: 32), lie: 1))
            },
            hello("a key share that says one byte less") {
                $0.serverHello(extensions: share(29, [UInt8](repeating: 9, count: 32), lie: -1))
            },
            hello("a point of small order") { $0.serverHello(extensions: share(29, [UInt8](repeating: 0, count: 32))) },
        ]
        + [0, 1, 31, 33, 64, 65_000 / 4].map { count in
            hello("a share of X25519 of \(count) bytes") {
                $0.serverHello(extensions: share(29, [UInt8](repeating: 9, count: count)))
            }
        }
        + [0, 19, 24, 25, 30, 256, 0x6399, 0x11EC, 0xFFFF].map { group in
            hello("a share of group \(group)") {
                $0.serverHello(extensions: share(group, [UInt8](repeating: 4, count: 65)))
            }
        }

    /// Lengths that lie, level by level.
    private static let lengths: [TLSMisbehaviour] = [
        hello("an extension block that says one byte more") { $0.serverHello(extensions: both, lie: 1) },
        hello("an extension block that says one byte less") { $0.serverHello(extensions: both, lie: -1) },
        hello("an extension block that says 65,535") { $0.serverHello(extensions: both, lie: 65_535 - both.count) },
        hello("an extension that says one byte more") {
            $0.serverHello(extensions: HostileSession.versionItem + Bytes.item(51, [0, 29], lie: 1))
        },
        hello("an extension that says 65,535") {
            $0.serverHello(extensions: HostileSession.versionItem + Bytes.item(51, [0, 29], lie: 65_533))
        },
        hello("a hello with bytes behind its extensions") {
            Bytes.message(2, Array($0.serverHello(extensions: both).dropFirst(4)) + [0])
        },
        hello("a hello that says one byte less") {
            Bytes.message(2, Array($0.serverHello(extensions: both).dropFirst(4)), lie: -1)
        },
        hello("a hello that says one byte more", .closed) {
            Bytes.message(2, Array($0.serverHello(extensions: both).dropFirst(4)), lie: 1)
        },
        hello("a hello without extensions") {
            Bytes.message(2, Array($0.serverHello(extensions: []).dropFirst(4).dropLast(2)))
        },
        hello("a hello with half of a length") {
            Bytes.message(2, Array($0.serverHello(extensions: []).dropFirst(4).dropLast(1)))
        },
        hello("an empty hello") { _ in Bytes.message(2, []) },
        hello("a hello of 33 bytes") { _ in Bytes.message(2, [UInt8](repeating: 3, count: 33)) },
        hello("a hello of 128 KiB of zeros") { _ in Bytes.message(2, [UInt8](repeating: 0, count: 131_000)) },
        TLSMisbehaviour("a record that says one byte more", .closed) { session in
            [.send(Bytes.record(22, session.serverHello(extensions: both), lie: 1)), .close]
        },
        TLSMisbehaviour("a record that says one byte less", .protocolError) { session in
            [.send(Bytes.record(22, session.serverHello(extensions: both), lie: -1) + [1, 2, 3, 4, 5])]
        },
        TLSMisbehaviour("two ServerHellos", .protocolError) { session in
            let message = session.serverHello(extensions: both)
            return [.send(Bytes.records(message + message))]
        },
        TLSMisbehaviour("the flight goes on unencrypted in the same record", .protocolError) { session in
            [.send(Bytes.records(session.serverHello(extensions: both) + session.encryptedExtensions))]
        },
        TLSMisbehaviour("the flight goes on unencrypted in the next record", .protocolError) { session in
            [.send(Bytes.records(session.serverHello(extensions: both)) + Bytes.records(session.encryptedExtensions))]
        },
    ]

    /// HelloRetryRequests: loops, cookies of every size, and choices that are none.
    static let retries: [TLSMisbehaviour] =
        [0].map { size in
            TLSMisbehaviour("a cookie of \(size) bytes", .protocolError) { session in
                [.send(Bytes.records(session.retry(HostileSession.cookie(size)))), .close]
            }
        }
        + [1, 32, 255, 1024, 4095, 4096].map { size in
            TLSMisbehaviour("a cookie of \(size) bytes, echoed", .negotiated) { session in
                if session.round == 0 {
                    return [.send(Bytes.records(session.retry(HostileSession.cookie(size)))), .awaitHello]
                }
                guard session.hello.cookie == size else { return [.send(Bytes.alert(2, 47)), .close] }
                return [.send(session.begin()), .send(session.honestRest())]
            }
        }
        + [4097, 8192, 16_384, 32_768, 65_000, 65_400, 65_500, 65_520].map { size in
            TLSMisbehaviour("a cookie of \(size) bytes", .protocolError) { session in
                [.send(Bytes.records(session.retry(HostileSession.cookie(size)))), .awaitHello]
            }
        } + [
            retry("a retry request that changes nothing", []),
            retry("a cookie that says one byte more", Bytes.item(44, Bytes.vector(2, [1], lie: 1))),
            retry("a cookie that says one byte less", Bytes.item(44, Bytes.vector(2, [1, 2], lie: -1))),
            retry("a cookie without a length", Bytes.item(44, [])),
            retry("two cookies", HostileSession.cookie(8) + HostileSession.cookie(8)),
            retry("the group that is there already", Bytes.item(51, [0, 29])),
            retry("the group 0", Bytes.item(51, [0, 0])),
            retry("the group X448", Bytes.item(51, [0, 30])),
            retry("the group ffdhe2048", Bytes.item(51, [1, 0])),
            retry("the group 0xFFFF", Bytes.item(51, [0xFF, 0xFF])),
            retry("a group of one byte", Bytes.item(51, [0])),
            retry("a group and a share", Bytes.item(51, [0, 23, 0, 1, 4])),
            TLSMisbehaviour("retry requests without end", .protocolError) { session in
                [.send(Bytes.records(session.retry(HostileSession.cookie(16)))), .awaitHello]
            },
            TLSMisbehaviour("a second retry request with another group", .protocolError) { session in
                session.round == 0
                    ? [.send(Bytes.records(session.retry(Bytes.item(51, [0, 23])))), .awaitHello]
                    : [.send(Bytes.records(session.retry(Bytes.item(51, [0, 24])))), .awaitHello]
            },
            TLSMisbehaviour("two retry requests in one record", .protocolError) { session in
                let message = session.retry(HostileSession.cookie(16))
                return [.send(Bytes.records(message + message)), .awaitHello]
            },
            TLSMisbehaviour("a retry request with the session of another", .protocolError) { session in
                [.send(Bytes.records(session.retry(HostileSession.cookie(8), session: [1, 2, 3]))), .awaitHello]
            },
            TLSMisbehaviour("a retry request with a suite of TLS 1.2", .protocolError) { session in
                [.send(Bytes.records(session.retry(HostileSession.cookie(8), suite: 0xC02B))), .awaitHello]
            },
            TLSMisbehaviour("another suite after a retry request", .protocolError) { session in
                session.round == 0
                    ? [.send(Bytes.records(session.retry(HostileSession.cookie(8), suite: 0x1302))), .awaitHello]
                    : [.send(session.begin()), .send(session.honestRest())]
            },
            TLSMisbehaviour("a retry request, then nothing", .timeout) { session in
                session.round == 0
                    ? [.send(Bytes.records(session.retry(HostileSession.cookie(8)))), .awaitHello] : [.stall]
            },
            TLSMisbehaviour("a retry request, then the end", .closed) { session in
                session.round == 0
                    ? [.send(Bytes.records(session.retry(HostileSession.cookie(8)))), .awaitHello] : [.close]
            },
            TLSMisbehaviour("a retry request, then TLS 1.2", .protocolError) { session in
                session.round == 0
                    ? [.send(Bytes.records(session.retry(HostileSession.cookie(8)))), .awaitHello]
                    : [.send(Bytes.records(session.serverHello(suite: 0xC02B, extensions: []))), .close]
            },
            TLSMisbehaviour("the share that was not asked for", .protocolError) { session in
                session.round == 0
                    ? [.send(Bytes.records(session.retry(Bytes.item(51, [0, 23])))), .awaitHello]
                    : [.send(Bytes.records(session.serverHello(extensions: both))), .close]
            },
        ]

    private static func retry(_ name: String, _ items: [UInt8]) -> TLSMisbehaviour {
        TLSMisbehaviour(name, .protocolError) { session in [.send(Bytes.records(session.retry(items))), .close] }
    }
}
