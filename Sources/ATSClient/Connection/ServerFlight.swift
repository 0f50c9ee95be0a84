// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSFacts

/// Reads what a server says in the clear while a handshake passes by: ServerHello, and up to TLS 1.2 its certificates, group and requests.
///
/// It never answers and decrypts nothing. Fed with bytes as they come, in any pieces; every message and the whole flight are bounded.
package struct ServerFlight: Sendable {
    /// What was understood so far.
    package private(set) var version: TLSVersion?
    package private(set) var suite: CipherSuite?
    package private(set) var group: NamedGroup?
    package private(set) var signatureScheme: SignatureScheme?
    /// Up to TLS 1.2, leaf first, DER; empty before the message came, and in TLS 1.3.
    package private(set) var certificates: [[UInt8]] = []
    package private(set) var requestsClientCertificate = false
    package private(set) var usesExtendedMasterSecret = false
    package private(set) var usedHelloRetryRequest = false
    package private(set) var stapledResponse: [UInt8]?
    package private(set) var timestamps: [UInt8]?
    package private(set) var applicationProtocol: String?
    /// An alert in the clear: level and description.
    package private(set) var alert: (level: UInt8, description: UInt8)?
    /// The first bytes, where they were no TLS record.
    package private(set) var notTLS: [UInt8]?
    /// Nothing more in the clear will come.
    package private(set) var isOver = false
    /// Something after the ServerHello broke the protocol or a bound; the reason.
    package private(set) var violation: String?

    /// The most bytes of one handshake message, and of a whole flight. A real chain is under 20 KB.
    package static let messageLimit = 128 * 1024
    package static let flightLimit = 512 * 1024

    private var records: [UInt8] = []
    private var messages: [UInt8] = []
    private var seen = 0

    package init() {}

    /// Whether the ServerHello has come.
    package var hasHello: Bool { version != nil }

    /// Takes the next bytes that the server sent.
    package mutating func read(_ bytes: some Sequence<UInt8>) {
        guard !isOver else { return }
        records.append(contentsOf: bytes)
        let consumed = readRecords()
        records.removeFirst(consumed)
        if seen + records.count > ServerFlight.flightLimit {
            end("the server's flight is longer than \(ServerFlight.flightLimit) bytes")
        }
        if isOver {
            records = []
            messages = []
        }
    }

    private mutating func end(_ reason: String? = nil) {
        isOver = true
        if let reason, violation == nil { violation = reason }
    }

    /// Reads whole records; the number of bytes that are done with.
    private mutating func readRecords() -> Int {
        var at = 0
        while !isOver {
            let left = records.count - at
            let isForeign = left > 0 && !(20...23).contains(records[at]) || left > 1 && records[at + 1] != 3
            if isForeign {
                if seen == 0 { notTLS = Array(records[at...].prefix(16)) }
                end(seen == 0 ? nil : "a record has an unknown type or version")
                break
            }
            guard left >= 5 else { break }
            let type = records[at]
            let length = Int(records[at + 3]) << 8 | Int(records[at + 4])
            guard length <= 16384 + 2048 else {
                end("a record is longer than TLS allows")
                break
            }
            guard left >= 5 + length else { break }
            let payload = records[(at + 5)..<(at + 5 + length)]
            at += 5 + length
            seen += 5 + length
            switch type {
            case 22: readMessages(Array(payload))
            case 21:
                if let level = payload.first, payload.count == 2, let description = payload.last {
                    alert = (level, description)
                }
                // A warning such as unrecognized_name does not end a handshake.
                if alert?.level != 1 || alert?.description == 0 { end() }
            case 20:
                // TLS 1.3 sends a meaningless one for middleboxes, after a HelloRetryRequest even before the real ServerHello.
                if version != .tls13, !usedHelloRetryRequest { end() }
            default: end()
            }
        }
        return at
    }

    private mutating func readMessages(_ payload: [UInt8]) {
        messages += payload
        var at = 0
        while !isOver, messages.count - at >= 4 {
            let length = Int(messages[at + 1]) << 16 | Int(messages[at + 2]) << 8 | Int(messages[at + 3])
            guard length <= ServerFlight.messageLimit else { return end("a handshake message is too long") }
            guard messages.count - at >= 4 + length else { break }
            let body = Array(messages[(at + 4)..<(at + 4 + length)])
            let type = messages[at]
            at += 4 + length
            readMessage(type, body)
        }
        messages.removeFirst(at)
    }

    private mutating func readMessage(_ type: UInt8, _ body: [UInt8]) {
        var reader = FlightReader(body)
        switch type {
        case 2: readServerHello(&reader)
        case 11:
            guard let list = reader.vector(3) else { return end("the Certificate message is malformed") }
            var entries = FlightReader(list)
            while let certificate = entries.vector(3), certificates.count < 32 { certificates.append(certificate) }
        case 12: readKeyExchange(&reader)
        case 13: requestsClientCertificate = true
        case 14: end()
        case 22:
            if reader.byte() == 1 { stapledResponse = reader.vector(3) }
        default: break
        }
    }

    private mutating func readServerHello(_ reader: inout FlightReader) {
        guard let legacy = reader.number(2), let random = reader.bytes(32), reader.vector(1) != nil,
            let chosen = reader.number(2), reader.byte() != nil
        else { return end("the ServerHello is malformed") }
        var negotiated = TLSVersion(rawValue: UInt16(legacy))
        var extensions = FlightReader(reader.vector(2) ?? [])
        while let type = extensions.number(2), let value = extensions.vector(2) {
            var content = FlightReader(value)
            switch type {
            case 43: negotiated = content.number(2).map { TLSVersion(rawValue: UInt16($0)) } ?? negotiated
            case 51: group = content.number(2).map { NamedGroup(rawValue: UInt16($0)) }
            case 23: usesExtendedMasterSecret = true
            case 18: timestamps = value
            case 16:
                var list = FlightReader(content.vector(2) ?? [])
                applicationProtocol = list.vector(1).map { String(decoding: $0, as: UTF8.self) }
            default: break
            }
        }
        if random == ServerFlight.helloRetryRandom {
            usedHelloRetryRequest = true
            return
        }
        version = negotiated
        suite = CipherSuite(rawValue: UInt16(chosen))
        if negotiated >= .tls13 { end() }
    }

    /// ECDHE parameters: a named curve, the point, and from TLS 1.2 on the signature scheme (RFC 8422 5.4).
    private mutating func readKeyExchange(_ reader: inout FlightReader) {
        switch suite?.keyExchange {
        case .ecdheECDSA, .ecdheRSA:
            guard reader.byte() == 3, let curve = reader.number(2), reader.vector(1) != nil else { return }
            group = NamedGroup(rawValue: UInt16(curve))
            if version == .tls12 { signatureScheme = reader.number(2).map { SignatureScheme(rawValue: UInt16($0)) } }
        default: break
        }
    }

    /// SHA-256 of "HelloRetryRequest" (RFC 8446 4.1.3).
    private static let helloRetryRandom: [UInt8] = [
        0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
        0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
    ]
}

/// Reads numbers and vectors as TLS writes them; nil past the end.
private struct FlightReader {
    private let content: [UInt8]
    private var at = 0

    init(_ content: [UInt8]) { self.content = content }

    mutating func bytes(_ count: Int) -> [UInt8]? {
        guard count >= 0, content.count - at >= count else { return nil }
        defer { at += count }
        return Array(content[at..<(at + count)])
    }

    mutating func byte() -> UInt8? { bytes(1)?.first }

    mutating func number(_ width: Int) -> Int? { bytes(width)?.reduce(0) { $0 << 8 | Int($1) } }

    mutating func vector(_ width: Int) -> [UInt8]? { number(width).flatMap { bytes($0) } }
}

extension ServerFlight {
    /// The flight as the facts of a handshake, once there is a ServerHello.
    ///
    /// - Parameter certificates: the chain where the flight itself could not show it, leaf first.
    package func observation(certificates shown: [[UInt8]], possession: KeyPossession) -> HandshakeObservation? {
        guard let version, let suite else { return nil }
        return HandshakeObservation(
            version: version,
            suite: suite,
            group: group,
            signatureScheme: signatureScheme,
            certificates: shown.isEmpty ? certificates : shown,
            keyPossession: possession,
            applicationProtocol: applicationProtocol,
            stapledResponse: stapledResponse,
            timestamps: timestamps,
            usesExtendedMasterSecret: usesExtendedMasterSecret,
            requestsClientCertificate: requestsClientCertificate,
            usedHelloRetryRequest: usedHelloRetryRequest
        )
    }
}
