// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Testing

/// What the watcher says about flights that it was not asked for: the same limits and the same words as the prober's.
@Suite struct ServerFlightTests {
    private static func message(_ type: UInt8, _ body: (inout WireWriter) -> Void) -> [UInt8] {
        var writer = WireWriter()
        writer.write8(type)
        writer.prefixed(3, body)
        return writer.bytes
    }

    private static func hello(
        _ version: TLSVersion = .tls12, suite: CipherSuite = CipherSuite(rawValue: 0xC02F),
        extensions: [(UInt16, [UInt8])] = []
    ) -> [UInt8] {
        message(MessageType.serverHello) { writer in
            writer.write16(version.rawValue)
            writer.write([UInt8](repeating: 7, count: 32))
            writer.write8(0)
            writer.write16(suite.rawValue)
            writer.write8(0)
            writer.prefixed(2) { block in
                for (type, body) in extensions {
                    block.write16(type)
                    block.prefixed(2) { $0.write(body) }
                }
            }
        }
    }

    private static func chain(_ count: Int) -> [UInt8] {
        message(MessageType.certificate) { writer in
            writer.prefixed(3) { list in for index in 0..<count { list.prefixed(3) { $0.write([UInt8(index)]) } } }
        }
    }

    private static let keyExchange = message(MessageType.serverKeyExchange) { writer in
        writer.write([3, 0, 0x1D, 1, 9, 0x08, 0x04])
        writer.prefixed(2) { $0.write([1, 2, 3]) }
    }

    private static func read(_ messages: [UInt8]..., pieces: Int = .max) -> ServerFlight {
        var flight = ServerFlight()
        var rest = RecordReader.record(ContentType.handshake, version: 0x0303, messages.flatMap { $0 })[...]
        while !rest.isEmpty {
            flight.read(Array(rest.prefix(pieces)))
            rest = rest.dropFirst(pieces)
        }
        return flight
    }

    @Test(arguments: [1, 3, 5, 64, 100_000])
    func aFlightOfTLS12IsReadInPiecesOfAnySize(_ pieces: Int) throws {
        let flight = Self.read(
            Self.hello(extensions: [(23, []), (16, [0, 3, 2, 0x68, 0x32]), (18, [1, 2])]), Self.chain(3),
            Self.message(MessageType.certificateStatus) { $0.write([1, 0, 0, 2, 5, 6]) }, Self.keyExchange,
            Self.message(MessageType.certificateRequest) { $0.write([0]) },
            Self.message(MessageType.serverHelloDone) { _ in }, pieces: pieces)
        #expect(flight.isOver && flight.violation == nil)
        let observation = try #require(flight.observation(possession: .proven))
        #expect(observation.version == .tls12 && observation.suite == CipherSuite(rawValue: 0xC02F))
        #expect(observation.certificates == [[0], [1], [2]])
        #expect(observation.group == .x25519 && observation.signatureScheme == .rsaPSSSHA256)
        #expect(observation.stapledResponse == [5, 6] && observation.timestamps == [1, 2])
        #expect(observation.applicationProtocol == "h2" && observation.usesExtendedMasterSecret)
        #expect(observation.requestsClientCertificate)
    }

    @Test func nothingInTheClearFollowsAServerHelloOfTLS13() throws {
        let flight = Self.read(
            Self.hello(suite: .aes128GCMSHA256, extensions: [(43, [3, 4]), (51, [0, 0x1D, 0, 1, 9])]), Self.chain(2))
        let observation = try #require(flight.observation(possession: .proven))
        #expect(flight.isOver && observation.version == .tls13 && observation.group == .x25519)
        #expect(observation.certificates.isEmpty)
    }

    private static let broken: [(messages: [UInt8], reason: String)] = [
        (hello(extensions: [(23, []), (23, [])]), "The server's ServerHello is malformed"),
        (hello() + chain(65), "The server sent more than 64 certificates"),
        (hello() + message(11) { $0.write([0, 0, 9, 0]) }, "The server's Certificate is malformed"),
        (hello() + message(12) { $0.write([3, 0, 0x1D, 9]) }, "The server's ServerKeyExchange is malformed"),
        (hello() + chain(1) + hello(), "The server sent a second ServerHello"),
        (chain(1) + hello(), "The server's Certificate comes before its ServerHello"),
        (hello() + [11, 2, 0, 1], "The server announced a handshake message of 131073 bytes"),
    ]

    @Test(arguments: broken)
    func whatBreaksTheProtocolIsNamed(_ messages: [UInt8], _ reason: String) {
        for pieces in [1, 4096] { #expect(Self.read(messages, pieces: pieces).violation == reason) }
    }

    @Test func aFlightEndsAtItsLimit() {
        var flight = ServerFlight()
        let warning = RecordReader.record(ContentType.alert, version: 0x0303, [1, 112])
        for _ in 0...(WireLimits.flight / warning.count) {
            #expect(!flight.isOver)
            flight.read(warning)
        }
        #expect(flight.violation == "The server's flight is larger than \(WireLimits.flight) bytes")
    }

    @Test func otherProtocolsAreShownByTheirFirstBytes() {
        var flight = ServerFlight()
        flight.read(Array("220 mail.example ESMTP\r\n".utf8))
        #expect(flight.isOver && flight.notTLS == Array("220 mail.example ESMTP\r\n".utf8) && flight.violation == nil)
    }
}
