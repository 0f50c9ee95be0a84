// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension TLSMisbehaviour {
    /// TLS 1.3 with a chain of any shape.
    private static func chain(
        _ name: String, _ outcome: Outcome = .negotiated, code: String? = "-", items: [UInt8] = [],
        _ make: @escaping @Sendable (HostileIdentity) -> [[UInt8]]
    ) -> TLSMisbehaviour {
        TLSMisbehaviour(name, outcome, code: code) { session in
            // It stays: a server that goes while its chain is judged has given no answer.
            [.send(session.begin() + session.honestRest(chain: make(session.identity), items: items)), .stall]
        }
    }

    private static func message(_ name: String, _ body: [UInt8]) -> TLSMisbehaviour {
        TLSMisbehaviour(name, .protocolError) { session in
            let begin = session.begin() + session.say(session.encryptedExtensions)
            return [.send(begin + session.sayInParts(Bytes.message(11, body))), .close]
        }
    }

    /// A leaf whose key is right and whose name is as it should be, with more extensions.
    private static func leaf(
        _ name: String, code: String? = nil, subject: [UInt8] = DER.name("hostile"),
        names: [String] = ["*." + HostileIdentity.domain], _ more: [UInt8] = []
    ) -> TLSMisbehaviour {
        chain(name, code: code) { identity in
            let extensions = HostileIdentity.purpose + (names.isEmpty ? [] : HostileIdentity.names(names)) + more
            return [identity.certificate(subject: subject, extensions: extensions)]
        }
    }

    /// Combining marks in an order that canonical equivalence has to sort: four bytes each time.
    package static func marks(_ bytes: Int) -> String { String(repeating: "\u{0301}\u{0316}", count: bytes / 4) }

    private static func attribute(_ text: String) -> [UInt8] {
        DER.set(DER.sequence(DER.identifier(2, 5, 4, 3), DER.text(text)))
    }

    /// Certificate messages that lie, and certificates that are huge, unreadable or strange.
    static let certificates: [TLSMisbehaviour] = messages + strange + huge

    private static let messages: [TLSMisbehaviour] = [
        message("an empty Certificate message", []),
        message("a Certificate without a certificate", [0, 0, 0, 0]),
        message("a Certificate with a context", [1, 7] + Bytes.vector(3, [])),
        message("a certificate list that says one byte more", [0] + Bytes.vector(3, [], lie: 1)),
        message("bytes behind the certificate list", [0] + Bytes.vector(3, []) + [0]),
        message("a certificate that says more than the list", [0] + Bytes.vector(3, Bytes.vector(3, [1, 2], lie: 5))),
        message("a certificate that says 16 MiB", [0] + Bytes.vector(3, [0xFF, 0xFF, 0xFF, 1])),
        message("a certificate without extensions", [0] + Bytes.vector(3, Bytes.vector(3, [1, 2, 3]))),
        message(
            "extensions that say one byte more",
            [0] + Bytes.vector(3, Bytes.vector(3, [1]) + Bytes.vector(2, [], lie: 1))),
        message(
            "an extension of a certificate twice",
            [0] + Bytes.vector(3, Bytes.vector(3, [1]) + Bytes.vector(2, Bytes.item(5, []) + Bytes.item(5, [])))),
        message(
            "65 certificates", [0] + Bytes.vector(3, (0..<65).flatMap { _ in Bytes.vector(3, [0x30, 0]) + [0, 0] })),
        message("20,000 empty certificates", [0] + Bytes.vector(3, [UInt8](repeating: 0, count: 100_000))),
        message(
            "a Certificate of more than 128 KiB",
            [0] + Bytes.vector(3, Bytes.vector(3, [UInt8](repeating: 1, count: 131_072)))),
    ]

    private static let strange: [TLSMisbehaviour] =
        [
            chain("64 copies of the leaf") { identity in [[UInt8]](repeating: identity.leaf, count: 64) },
            chain("the leaf behind the root", code: "ats.tls.handshake-failed") { [$0.root, $0.leaf] },
            chain("a chain with garbage in it") {
                [$0.leaf, [1, 2, 3], [UInt8](repeating: 0xFF, count: 3000), $0.root]
            },
            chain("an empty staple", items: Bytes.item(5, [1, 0, 0, 0])) { [$0.leaf] },
            chain(
                "a staple of garbage",
                items: Bytes.item(5, [1] + Bytes.vector(3, [UInt8](repeating: 0x30, count: 3000)))
            ) {
                [$0.leaf]
            },
            chain("a staple that says 16 MiB", items: Bytes.item(5, [1, 0xFF, 0xFF, 0xFF])) { [$0.leaf] },
            chain(
                "a staple of 60,000 bytes",
                items: Bytes.item(5, [1] + Bytes.vector(3, [UInt8](repeating: 0, count: 60_000)))
            ) {
                [$0.leaf]
            },
            chain(
                "timestamps of garbage", code: "ats.tls.handshake-failed",
                items: Bytes.item(18, [UInt8](repeating: 0xFF, count: 5000))
            ) { [$0.leaf] },
            chain("timestamps that are empty", code: "ats.tls.handshake-failed", items: Bytes.item(18, [])) {
                [$0.leaf]
            },
            chain("20,000 timestamps", items: Bytes.item(18, Bytes.vector(2, (0..<20_000).flatMap { _ in [0, 1, 9] })))
            { [$0.leaf] },
            leaf("a name for another host", code: "ats.trust.wrong-host", names: ["other.example"]),
            leaf("no name at all", code: "ats.trust.no-subject-alternative-name", names: []),
            leaf("an empty name", code: "ats.trust.wrong-host", names: [""]),
            leaf("nothing but dots", code: "ats.trust.wrong-host", names: ["*.", ".", "..", "*.."]),
            leaf("an empty subject", subject: DER.sequence()),
            leaf("control characters in the subject", subject: DER.name("a\u{1B}[31m\r\n\u{202E}b")),
            leaf(
                "a malformed keyUsage", code: "ats.trust.wrong-key-usage",
                DER.item(DER.identifier(2, 5, 29, 15), [9, 9])),
            leaf(
                "an unknown critical extension", code: "ats.trust.wrong-key-usage",
                DER.item(DER.identifier(1, 2, 3), critical: true, [5, 0])),
            leaf(
                "addresses that lead nowhere",
                HostileIdentity.issuers(["http://", "http://[", "ftp://x", "http://\u{301}"])),
        ]
        + [0, 1, 100, 3000].map { count in
            TLSMisbehaviour("a leaf of \(count) bytes of garbage", .negotiated, code: "ats.trust.unknown-root") {
                session in
                [.send(session.begin() + session.honestRest(chain: [[UInt8](repeating: 0x30, count: count)])), .stall]
            }
        }
        + [1, 40, 200, 300].map { cut in
            TLSMisbehaviour("a leaf cut by \(cut) bytes", .negotiated, code: "ats.trust.unknown-root") { session in
                [
                    .send(session.begin() + session.honestRest(chain: [Array(session.identity.leaf.dropLast(cut))])),
                    .stall,
                ]
            }
        }

    /// Sizes that no honest certificate has. Each costs about as much as any other of its size.
    private static let huge: [TLSMisbehaviour] = [
        leaf("a name of 120 kB of marks in the subject", subject: DER.name(marks(120_000))),
        leaf("a name of 120 kB of spaces in the subject", subject: DER.name(String(repeating: " ", count: 120_000))),
        leaf(
            "ten names of 12 kB of marks in the subject",
            subject: DER.value(0x30, (0..<10).flatMap { _ in attribute(marks(12_000)) })),
        leaf("8,000 short names in the subject", subject: DER.value(0x30, (0..<8000).flatMap { _ in attribute("a") })),
        leaf("an alternative name of 120 kB of marks", code: "ats.trust.wrong-host", names: [marks(120_000)]),
        leaf("100 alternative names of marks", code: "ats.trust.wrong-host", names: (0..<100).map { _ in marks(1200) }),
        leaf("30,000 alternative names", names: (0..<30_000).map { _ in "a" } + ["*." + HostileIdentity.domain]),
        leaf("60,000 empty alternative names", code: "ats.trust.wrong-host", names: (0..<60_000).map { _ in "" }),
        leaf(
            "5,000 unknown critical extensions", code: "ats.trust.wrong-key-usage",
            (0..<5000).flatMap { DER.item(DER.identifier(1, 2, 3, $0), critical: true, [5, 0]) }),
        leaf("an extension of 120 kB", DER.item(DER.identifier(1, 2, 3, 4), [UInt8](repeating: 0, count: 120_000))),
        leaf("an address of 100 kB of marks", HostileIdentity.issuers(["http://" + marks(100_000)])),
        leaf("2,000 addresses", HostileIdentity.issuers((0..<2000).map { "http://127.0.0.1:1/\($0)" })),
        leaf(
            "40,000 purposes",
            DER.item(DER.identifier(2, 5, 29, 36), [5, 0])
                + DER.item(
                    DER.identifier(1, 2, 9), DER.value(0x30, (0..<25_000).flatMap { _ in DER.identifier(1, 2, 3) }))),
        chain("31 certificates of one name above the leaf") { identity in
            [identity.leaf]
                + (0..<31).map { _ in identity.certificate(subject: DER.name("Hostile Root"), extensions: []) }
        },
        chain("a certificate of one byte more than 128 KiB", .protocolError) { _ in
            [[UInt8](repeating: 0x30, count: 131_073)]
        },
    ]
}
