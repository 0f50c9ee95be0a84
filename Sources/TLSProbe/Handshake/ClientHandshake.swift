// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel

/// The client's side of one TLS handshake up to the end of the server's flight: a function from bytes to bytes and an outcome.
///
/// It knows no socket, clock or source of randomness. Feed it what arrives with ``receive(_:)``, send what it returns, and
/// stop as soon as ``outcome`` is there. RFC 8446 for TLS 1.3, RFC 5246, RFC 4346 and RFC 2246 for what came before.
package struct ClientHandshake: Sendable {
    enum State: Sendable {
        case serverHello
        // TLS 1.0 to 1.2
        case certificate, keyExchange, requestOrDone, done
        // TLS 1.3
        case encryptedExtensions, requestOrCertificate, modernCertificate, certificateVerify, finished
    }

    /// Ends the handshake with an outcome.
    struct Abort: Error {
        let outcome: HandshakeOutcome

        init(_ reason: String) { outcome = .protocolError(reason) }
        init(outcome: HandshakeOutcome) { self.outcome = outcome }
    }

    /// How the handshake ended; nil while it goes on.
    package private(set) var outcome: HandshakeOutcome?
    package var received: Int { records.received }

    let offer: HelloOffer
    let secrets: HandshakeSecrets
    var hello: ClientHello
    var state = State.serverHello
    var shares: [KeyShare] = []
    var observation: HandshakeObservation?
    var serverRandom: [UInt8] = []
    var leafKey: PublicKeyFacts?
    /// All handshake messages so far; what stands here for the first hello after a retry request, too.
    var transcript: [UInt8] = []
    var keys: HandshakeKeys?
    private var records = RecordReader()
    var messages = MessageReader()
    private var quietRecords = 0

    package init(offer: HelloOffer, secrets: HandshakeSecrets) {
        self.offer = offer
        self.secrets = secrets
        hello = ClientHello(offer: offer, random: secrets.random, sessionIdentifier: secrets.sessionIdentifier)
    }

    /// The bytes that open the connection.
    package mutating func start() -> [UInt8] {
        shares = offer.sharedGroups.compactMap { secrets.keyShare($0) }
        hello.shares = shares.map { ($0.group, $0.publicKey) }
        transcript = hello.message
        return RecordReader.record(ContentType.handshake, version: TLSVersion.tls10.rawValue, transcript)
    }

    /// Takes bytes from the server and returns what to send to it, mostly nothing.
    package mutating func receive(_ bytes: [UInt8]) -> [UInt8] {
        guard outcome == nil else { return [] }
        guard records.received + bytes.count <= ClientHandshake.maximumFlight else {
            outcome = .protocolError("The server's flight is larger than \(ClientHandshake.maximumFlight) bytes")
            return []
        }
        records.append(bytes)
        var reply: [UInt8] = []
        do throws(Abort) {
            while outcome == nil {
                switch records.next() {
                case .needsMore: return reply
                case .notTLS(let prefix): throw Abort(outcome: .connection(.notTLS(prefix: prefix)))
                case .broken(let reason): throw Abort("The server broke the record layer: \(reason)")
                case .record(let record): reply += try take(record)
                }
            }
        } catch {
            outcome = error.outcome
        }
        return reply
    }

    /// Tells that the connection ended before the handshake did.
    package mutating func end(_ failure: ConnectionFailure) {
        if outcome == nil { outcome = .connection(failure) }
    }

    /// The alerts that end the connection in good order: the user has cancelled (RFC 8446 section 6.1), or the fault.
    package mutating func closingAlerts() -> [UInt8] {
        switch outcome {
        case .negotiated: sealedAlert(1, 90) + sealedAlert(1, 0)
        case .protocolError: sealedAlert(2, 47)
        case .alert, .connection, nil: []
        }
    }

    private mutating func sealedAlert(_ level: UInt8, _ description: UInt8) -> [UInt8] {
        if let sealed = keys?.writing.seal(ContentType.alert, [level, description]) { return sealed }
        return RecordReader.record(
            ContentType.alert, version: min(observation?.version ?? .tls10, .tls12).rawValue, [level, description])
    }

    // MARK: Records

    private mutating func take(_ record: RecordReader.Record) throws(Abort) -> [UInt8] {
        switch record.type {
        case ContentType.alert:
            try alert(record.body)
            return []
        case ContentType.changeCipherSpec:
            guard offer.maximumVersion >= .tls13, state == .serverHello || keys != nil, record.body.elementsEqual([1])
            else {
                throw Abort("The server changed to encryption too early")
            }
            try countQuiet()
            return []
        case ContentType.handshake where keys == nil: return try fragment(record.body)
        case ContentType.applicationData where keys != nil:
            guard let (type, content) = keys?.reading.open(record) else {
                throw Abort("A record of the server does not decrypt")
            }
            if type == ContentType.alert {
                try alert(content)
                return []
            }
            guard type == ContentType.handshake else { throw Abort("The server sent data inside the handshake") }
            return try fragment(content)
        default: throw Abort("The server sent a record of type \(record.type) inside the handshake")
        }
    }

    private mutating func fragment(_ body: ArraySlice<UInt8>) throws(Abort) -> [UInt8] {
        guard !body.isEmpty else {
            try countQuiet()
            return []
        }
        var reply: [UInt8] = []
        messages.append(body)
        while outcome == nil {
            switch messages.next() {
            case .needsMore: return reply
            case .tooLong(let length): throw Abort("The server announced a handshake message of \(length) bytes")
            case .message(let type, let body, let whole): reply += try take(type, body, whole)
            }
        }
        return reply
    }

    /// Records that bring nothing are allowed, but not for ever.
    private mutating func countQuiet() throws(Abort) {
        quietRecords += 1
        if quietRecords > 16 { throw Abort("The server sends records without content") }
    }

    private mutating func alert(_ body: ArraySlice<UInt8>) throws(Abort) {
        guard body.count == 2, let level = body.first, let description = body.last else {
            throw Abort("The server sent a malformed alert")
        }
        // Warnings that the name is unknown (112) or that the user cancelled (90) end nothing by themselves.
        if level == 1, description == 112 || description == 90 {
            try countQuiet()
        } else {
            throw Abort(outcome: .alert(level: level, description: description))
        }
    }

    // MARK: Messages

    private mutating func take(
        _ type: UInt8, _ body: ArraySlice<UInt8>, _ whole: ArraySlice<UInt8>
    ) throws(Abort) -> [UInt8] {
        // HelloRequest is ignored and stays out of the transcript (RFC 5246 section 7.4.1.1).
        if type == MessageType.helloRequest, body.isEmpty, keys == nil, state != .serverHello {
            try countQuiet()
            return []
        }
        if state == .serverHello {
            guard type == MessageType.serverHello, let answer = ServerHello(body) else {
                throw Abort("The server's first message is not a readable ServerHello")
            }
            return try take(answer, whole)
        }
        if keys == nil {
            try takeClassic(type, body)
        } else {
            try takeModern(type, body)
            transcript += whole
        }
        return []
    }

    func require(_ condition: Bool, _ reason: @autoclosure () -> String) throws(Abort) {
        if !condition { throw Abort(reason()) }
    }

    /// Reads a message; what is malformed ends the handshake.
    func parse<Message>(_ read: () throws(MalformedMessage) -> Message) throws(Abort) -> Message {
        do throws(MalformedMessage) { return try read() } catch { throw Abort(error.reason) }
    }

    mutating func finish() {
        if let observation { outcome = .negotiated(observation) }
    }

    /// The most bytes of a cookie that is echoed. Servers put a hash of the first hello there, well under 1 KiB (RFC 8446 section 4.2.2).
    static let maximumCookie = 4096
    package static let maximumFlight = WireLimits.flight
}
