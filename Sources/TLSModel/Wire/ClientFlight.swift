// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Reads a client's hello while it passes by, for the name of the server that it asks for (RFC 6066 section 3).
///
/// Fed with bytes as they come, in any pieces. Where the client encrypts its hello (RFC 9849) the name is that of the hello outside.
package struct ClientFlight: Sendable {
    /// What a hello says of the server.
    package enum ServerName: Sendable, Equatable {
        /// The bytes of the name as they appear there.
        case named([UInt8])
        case none
    }

    /// Nil until the hello is whole.
    package private(set) var serverName: ServerName?
    /// What is wrong with the hello, as a sentence without a full stop.
    package private(set) var violation: String?

    /// The newest version that the hello offers, as its two bytes; 0 until the hello is whole.
    package private(set) var newestVersion: UInt16 = 0

    private var records = RecordReader()
    private var messages = MessageReader()

    package init() {}

    /// Whether nothing more needs to be read.
    package var isOver: Bool { serverName != nil || violation != nil }

    package mutating func read(_ bytes: [UInt8]) {
        guard !isOver else { return }
        guard records.received + bytes.count <= WireLimits.hello else {
            violation = "The ClientHello is larger than \(WireLimits.hello) bytes"
            return
        }
        records.append(bytes)
        while !isOver {
            switch records.next() {
            case .needsMore: return
            case .notTLS: violation = "The client sends something that is not TLS"
            case .broken(let reason): violation = "The client broke the record layer: \(reason)"
            case .record(let record) where record.type == ContentType.handshake: take(record.body)
            case .record(let record): violation = "The client's first record is of type \(record.type)"
            }
        }
    }

    private mutating func take(_ fragment: ArraySlice<UInt8>) {
        messages.append(fragment)
        switch messages.next() {
        case .needsMore: return
        case .tooLong(let length): violation = "The client announced a handshake message of \(length) bytes"
        case .message(MessageType.clientHello, let body, _):
            take(hello: body)
            if serverName == nil { violation = "The ClientHello is malformed" }
        case .message(let type, _, _): violation = "The client's first handshake message is of type \(type)"
        }
    }

    /// Leaves ``serverName`` nil for a malformed hello, and for one with more than one name, of which the server may take another.
    private mutating func take(hello body: ArraySlice<UInt8>) {
        var reader = WireReader(body)
        guard let legacy = reader.read16(), reader.read(32) != nil, reader.vector(1) != nil, reader.vector(2) != nil,
            reader.vector(1) != nil
        else { return }
        var extensions: [UInt16: ArraySlice<UInt8>] = [:]
        if !reader.isEmpty {
            guard let block = reader.vector(2), reader.isEmpty, let found = WireReader.extensions(block) else { return }
            extensions = found
        }
        newestVersion = extensions[ExtensionType.supportedVersions].flatMap(ClientFlight.newest) ?? legacy
        guard let content = extensions[ExtensionType.serverName] else {
            serverName = ServerName.none
            return
        }
        serverName = ClientFlight.name(content)
    }

    /// The newest version of `supported_versions` (RFC 8446 section 4.2.1) without values that are reserved (RFC 8701).
    private static func newest(_ content: ArraySlice<UInt8>) -> UInt16? {
        var reader = WireReader(content)
        guard var versions = reader.vector(1).map({ WireReader($0) }) else { return nil }
        var newest: UInt16 = 0
        while let version = versions.read16() {
            if version >> 8 == 0x03 { newest = max(newest, version) }
        }
        return newest
    }

    private static func name(_ content: ArraySlice<UInt8>) -> ServerName? {
        var reader = WireReader(content)
        guard var names = reader.vector(2).map({ WireReader($0) }), reader.isEmpty, names.read8() == 0,
            let name = names.vector(2), !name.isEmpty, names.isEmpty
        else { return nil }
        return .named(Array(name))
    }
}
