// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TLSModel
import TestSupport
import Testing

@testable import TLSProbe

/// Every scripted misbehaviour of a TLS server against the state machine of the client's side.
@Suite("Misbehaving TLS servers, byte for byte") struct MisbehaviourTableTests {
    /// What a row came to, and how many bytes were taken for it.
    struct Run {
        var handshake: ClientHandshake
        /// Bytes that the server sent until there was an outcome.
        var bytes = 0
        /// The longest answer of the client.
        var longestReply = 0
    }

    static let host = HostileServer.host(0)

    static func offer(maximum: TLSModel.TLSVersion = .tls13) -> HelloOffer {
        HelloOffer(
            maximumVersion: maximum, suites: ProbeFixtures.forwardSecret, serverName: host, keyShareGroups: [.x25519])
    }

    /// Plays a row.
    static func play(_ row: TLSMisbehaviour, offer: HelloOffer = offer()) throws -> Run {
        var run = Run(handshake: ClientHandshake(offer: offer, secrets: .fresh()))
        var hello = run.handshake.start()
        var session = HostileSession(try #require(SeenHello(records: hello)))
        while run.handshake.outcome == nil {
            var last: [UInt8] = []
            var isWaiting = false
            hello = []
            for act in row.play(&session) where run.handshake.outcome == nil {
                switch act {
                case .send(let bytes):
                    last = bytes
                    hello += feed(bytes, &run)
                case .flood(let bytes, let limit):
                    let end = run.bytes + limit
                    while run.handshake.outcome == nil, run.bytes < end { hello += feed(bytes, &run) }
                case .awaitHello: isWaiting = true
                case .close: run.handshake.end(.closed)
                case .reset: run.handshake.end(.reset)
                case .stall: run.handshake.end(.timeout)
                }
            }
            guard isWaiting, run.handshake.outcome == nil else { break }
            let next = HostileSession(try #require(SeenHello(records: hello), "\(row.name): no second hello"))
            let first = session
            session = next
            session.goOn(after: first, retry: TLSMisbehaviour.messages(inRecords: last))
        }
        return run
    }

    private static func feed(_ bytes: [UInt8], _ run: inout Run) -> [UInt8] {
        // As it comes from a socket: in pieces.
        var reply: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 2048) where run.handshake.outcome == nil {
            let piece = bytes[start..<min(start + 2048, bytes.count)]
            run.bytes += piece.count
            reply += run.handshake.receive(Array(piece))
        }
        run.longestReply = max(run.longestReply, reply.count)
        return reply
    }

    static func word(_ outcome: HandshakeOutcome?) -> TLSMisbehaviour.Outcome? {
        switch outcome {
        case .negotiated: .negotiated
        case .alert(_, let description): .alert(description)
        case .protocolError: .protocolError
        case .connection(.notTLS): .notTLS
        case .connection(.closed): .closed
        case .connection(.reset): .reset
        case .connection(.timeout): .timeout
        case .connection, nil: nil
        }
    }

    @Test("The table has more than 300 rows, each with a name of its own") func size() {
        #expect(TLSMisbehaviour.all.count >= 300)
        #expect(Set(TLSMisbehaviour.all.map(\.name)).count == TLSMisbehaviour.all.count)
    }

    @Test("Each row ends as it should, and takes no more than the flight's bound")
    func table() throws {
        for row in TLSMisbehaviour.all {
            let run = try Self.play(row)
            #expect(
                Self.word(run.handshake.outcome) == row.outcome,
                "\(row.name): \(String(describing: run.handshake.outcome).prefix(200))")
            #expect(run.bytes <= ClientHandshake.maximumFlight + 2048, "\(row.name)")
            #expect(run.longestReply < 8192, "\(row.name)")
            var handshake = run.handshake
            #expect(handshake.closingAlerts().count < 100, "\(row.name)")
        }
    }

    @Test("A flight cut at any byte is an end without an answer, never a server that failed")
    func truncation() throws {
        let offer = Self.offer()
        let rows: [(String, TLSMisbehaviour)] = [
            ("TLS 1.3", TLSMisbehaviour("flight", .negotiated) { [.send($0.begin() + $0.honestRest())] }),
            ("TLS 1.2", TLSMisbehaviour("flight", .negotiated) { [.send($0.classicFlight())] }),
            (
                "a retry",
                TLSMisbehaviour("flight", .protocolError) {
                    [.send(Bytes.records($0.retry(HostileSession.cookie(40))))]
                }
            ),
        ]
        let step = LongForm.isAsked ? 1 : 3
        for (name, row) in rows {
            var handshake = ClientHandshake(offer: offer, secrets: .fresh())
            var session = HostileSession(try #require(SeenHello(records: handshake.start())))
            guard case .send(let flight)? = row.play(&session).first else { continue }
            for length in Array(stride(from: 0, to: flight.count, by: step)) + [flight.count - 1] {
                var cut = handshake
                _ = cut.receive(Array(flight.prefix(length)))
                cut.end(.closed)
                #expect(cut.outcome == .connection(.closed), "\(name), cut at \(length) of \(flight.count)")
            }
        }
    }

    @Test("Every byte of a hello may be any other byte", arguments: [true, false])
    func changes(modern: Bool) throws {
        var handshake = ClientHandshake(offer: Self.offer(), secrets: .fresh())
        let session = HostileSession(try #require(SeenHello(records: handshake.start())))
        let hello =
            modern
            ? session.serverHello(extensions: HostileSession.versionItem + HostileSession.shareItem)
            : session.classicHello()
        let flight = Bytes.records(hello)
        let values: [UInt8] = LongForm.isAsked ? Array(0...255) : [0, 1, 0x7F, 0x80, 0xFF]
        for index in flight.indices {
            for value in values {
                var changed = flight
                changed[index] = value
                var copy = handshake
                _ = copy.receive(changed)
                copy.end(.closed)
                #expect(copy.outcome != nil)
            }
        }
    }

    @Test("A second hello of any length is split into records of at most 2^14 bytes")
    func records() throws {
        for count in [0, 1, 16_383, 16_384, 16_385, 32_768, 65_535, 65_536, 70_000, 200_000] {
            let body = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let bytes = RecordReader.record(ContentType.handshake, version: 0x0303, body)
            var reader = RecordReader()
            reader.append(bytes)
            var joined: [UInt8] = []
            var lengths: [Int] = []
            while case .record(let record) = reader.next() {
                joined += record.body
                lengths.append(record.body.count)
            }
            #expect(joined == body)
            #expect(lengths.count == max(1, (count + 16_383) / 16_384))
            #expect(lengths.allSatisfy { $0 <= 16_384 })
        }
    }
}
