// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Testing

/// The name that a client's hello asks for, whatever pieces it comes in.
@Suite struct ClientFlightTests {
    private static func hello(_ extensions: [(UInt16, [UInt8])]?, type: UInt8 = MessageType.clientHello) -> [UInt8] {
        var writer = WireWriter()
        writer.write8(type)
        writer.prefixed(3) { body in
            body.write16(0x0303)
            body.write([UInt8](repeating: 7, count: 32))
            body.write8(0)
            body.prefixed(2) { $0.write16(0x1301) }
            body.write([1, 0])
            guard let extensions else { return }
            body.prefixed(2) { block in
                for (number, content) in extensions {
                    block.write16(number)
                    block.prefixed(2) { $0.write(content) }
                }
            }
        }
        return writer.bytes
    }

    private static func names(_ names: [String], kind: UInt8 = 0) -> [UInt8] {
        var writer = WireWriter()
        writer.prefixed(2) { list in
            for name in names {
                list.write8(kind)
                list.prefixed(2) { $0.write(Array(name.utf8)) }
            }
        }
        return writer.bytes
    }

    private static func read(_ message: [UInt8], pieces: Int = .max) -> ClientFlight {
        var flight = ClientFlight()
        var rest = RecordReader.record(ContentType.handshake, version: 0x0301, message)[...]
        while !rest.isEmpty {
            flight.read(Array(rest.prefix(pieces)))
            rest = rest.dropFirst(pieces)
        }
        return flight
    }

    @Test("The name, or that there is none", arguments: [Int.max, 1, 7])
    func name(pieces: Int) {
        let named = Self.hello([(0x0A0A, []), (ExtensionType.serverName, Self.names(["api.example.com"]))])
        #expect(Self.read(named, pieces: pieces).serverName == .named(Array("api.example.com".utf8)))
        #expect(Self.read(Self.hello([]), pieces: pieces).serverName == ClientFlight.ServerName.none)
        #expect(Self.read(Self.hello(nil), pieces: pieces).serverName == ClientFlight.ServerName.none)
    }

    @Test("A hello over several records")
    func fragments() {
        let message = Self.hello([(ExtensionType.serverName, Self.names(["a.example"]))])
        var flight = ClientFlight()
        for start in stride(from: 0, to: message.count, by: 10) {
            let part = Array(message[start..<min(start + 10, message.count)])
            flight.read(RecordReader.record(ContentType.handshake, version: 0x0301, part))
        }
        #expect(flight.serverName == .named(Array("a.example".utf8)))
    }

    @Test("Two names, none inside, another kind of name, and what is no hello, are violations")
    func malformed() {
        let name = ExtensionType.serverName
        for message in [
            Self.hello([(name, Self.names(["a.example", "b.example"]))]), Self.hello([(name, Self.names([]))]),
            Self.hello([(name, Self.names([""]))]), Self.hello([(name, Self.names(["a.example"], kind: 1))]),
            Self.hello([(name, [])]), Self.hello([(name, []), (name, [])]),
            Self.hello([], type: MessageType.serverHello), [1, 0, 0, 1, 0], [1, 0xFF, 0xFF, 0xFF],
        ] {
            let flight = Self.read(message)
            #expect(flight.violation != nil && flight.serverName == nil, "\(message)")
        }
        var plain = ClientFlight()
        plain.read(Array("GET / HTTP/1.1\r\n".utf8))
        #expect(plain.violation != nil)
    }

    @Test("A hello that never ends is given up")
    func endless() {
        var flight = ClientFlight()
        var fed = 0
        while !flight.isOver, fed < 1 << 20 {
            let part = RecordReader.record(
                ContentType.handshake, version: 0x0301, fed == 0 ? [1, 0x01, 0xFF, 0xFF] : [0, 0, 0])
            flight.read(part)
            fed += part.count
        }
        #expect(flight.violation != nil && fed <= WireLimits.hello + 16)
    }
}
