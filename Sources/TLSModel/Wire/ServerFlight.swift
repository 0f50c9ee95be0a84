// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Reads what a server says in the clear while a handshake passes by: ServerHello, and up to TLS 1.2 its certificates, group and requests.
///
/// It never answers and decrypts nothing: it watches with the readers of the prober, and within the same limits.
/// Fed with bytes as they come, in any pieces.
package struct ServerFlight: Sendable {
    /// What was understood since the ServerHello.
    private var seen: HandshakeObservation?
    private var usedHelloRetryRequest = false
    /// An alert in the clear: level and description.
    package private(set) var alert: (level: UInt8, description: UInt8)?
    /// The first bytes, where they were no TLS record.
    package private(set) var notTLS: [UInt8]?
    /// Nothing more in the clear will come.
    package private(set) var isOver = false
    /// Something after the ServerHello broke the protocol or a bound; the reason.
    package private(set) var violation: String?

    private var records = RecordReader()
    private var messages = MessageReader()

    package init() {}

    package var hasHello: Bool { seen != nil }

    /// Whether a HelloRetryRequest came and no ServerHello yet, so that the client has to speak first.
    package var awaitsSecondHello: Bool { usedHelloRetryRequest && !hasHello }

    /// Whether the server asked for a client certificate in the clear.
    package var requestsClientCertificate: Bool { seen?.requestsClientCertificate == true }

    package mutating func read(_ bytes: [UInt8]) {
        guard !isOver else { return }
        if records.received + bytes.count > WireLimits.flight {
            end("The server's flight is larger than \(WireLimits.flight) bytes")
        } else {
            records.append(bytes)
            readRecords()
        }
        if isOver {
            records = RecordReader()
            messages = MessageReader()
        }
    }

    private mutating func end(_ reason: String? = nil) {
        isOver = true
        if let reason, violation == nil { violation = reason }
    }

    private mutating func readRecords() {
        while !isOver {
            switch records.next() {
            case .needsMore: return
            case .notTLS(let prefix):
                notTLS = prefix
                end()
            case .broken(let reason): end("The server broke the record layer: \(reason)")
            case .record(let record): take(record)
            }
        }
    }

    private mutating func take(_ record: RecordReader.Record) {
        switch record.type {
        case ContentType.handshake:
            do throws(MalformedMessage) { try readMessages(record.body) } catch { end(error.reason) }
        case ContentType.alert:
            if let level = record.body.first, record.body.count == 2, let description = record.body.last {
                alert = (level, description)
            }
            // A warning such as unrecognized_name does not end a handshake.
            if alert?.level != 1 || alert?.description == 0 { end() }
        case ContentType.changeCipherSpec:
            // TLS 1.3 sends a meaningless one for middleboxes, after a HelloRetryRequest even before the real ServerHello.
            if seen?.version != .tls13, !usedHelloRetryRequest { end() }
        default: end()
        }
    }

    private mutating func readMessages(_ fragment: ArraySlice<UInt8>) throws(MalformedMessage) {
        messages.append(fragment)
        while !isOver {
            switch messages.next() {
            case .needsMore: return
            case .tooLong(let length):
                throw MalformedMessage("The server announced a handshake message of \(length) bytes")
            case .message(let type, let body, _): try take(type, body)
            }
        }
    }

    private mutating func take(_ type: UInt8, _ body: ArraySlice<UInt8>) throws(MalformedMessage) {
        switch type {
        case MessageType.serverHello:
            guard let hello = ServerHello(body) else { throw MalformedMessage("The server's ServerHello is malformed") }
            guard !hasHello else { throw MalformedMessage("The server sent a second ServerHello") }
            take(hello)
        case MessageType.certificate:
            guard hasHello else { throw MalformedMessage("The server's Certificate comes before its ServerHello") }
            seen?.certificates = try CertificateMessage(body).certificates
        case MessageType.serverKeyExchange:
            guard let seen else { return }
            let exchange = try ServerKeyExchange(body, suite: seen.suite, version: seen.version)
            self.seen?.group = exchange.group
            self.seen?.signatureScheme = exchange.scheme
        case MessageType.certificateRequest: seen?.requestsClientCertificate = true
        case MessageType.serverHelloDone: end()
        case MessageType.certificateStatus: seen?.stapledResponse = CertificateStatus.response(body)
        default: break
        }
    }

    private mutating func take(_ hello: ServerHello) {
        if hello.isRetryRequest {
            usedHelloRetryRequest = true
            return
        }
        seen = HandshakeObservation(
            version: hello.version, suite: hello.suite, group: hello.keyShare?.group,
            keyPossession: .unproven("The handshake was only watched"),
            applicationProtocol: hello.extensions[ExtensionType.applicationProtocols]
                .flatMap(ServerHello.applicationProtocol).map { String(decoding: $0, as: UTF8.self) },
            timestamps: hello.extensions[ExtensionType.timestamps].map { Array($0) },
            usesExtendedMasterSecret: hello.extensions[ExtensionType.extendedMasterSecret] != nil,
            usedHelloRetryRequest: usedHelloRetryRequest)
        if hello.version >= .tls13 { end() }
    }

    /// The flight as the facts of a handshake, once there is a ServerHello.
    ///
    /// - Parameter certificates: the chain where the flight itself could not show it, leaf first.
    package func observation(
        certificates shown: [[UInt8]] = [], possession: KeyPossession
    ) -> HandshakeObservation? {
        var seen = seen
        seen?.keyPossession = possession
        if !shown.isEmpty { seen?.certificates = shown }
        return seen
    }
}
