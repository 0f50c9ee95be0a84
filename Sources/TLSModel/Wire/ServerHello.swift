// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The server's choice (RFC 5246 section 7.4.1.3, RFC 8446 section 4.1.3).
package struct ServerHello: Sendable {
    package let version: TLSVersion
    package let random: [UInt8]
    package let sessionIdentifier: [UInt8]
    package let suite: CipherSuite
    package let compression: UInt8
    package let extensions: [UInt16: ArraySlice<UInt8>]

    package init?(_ body: ArraySlice<UInt8>) {
        var reader = WireReader(body)
        guard let legacy = reader.read16(), let random = reader.read(32), let session = reader.vector(1),
            session.count <= 32, let suite = reader.read16(), let compression = reader.read8()
        else { return nil }
        var extensions: [UInt16: ArraySlice<UInt8>] = [:]
        if !reader.isEmpty {
            guard let block = reader.vector(2), reader.isEmpty, let entries = WireReader.extensions(block)
            else { return nil }
            extensions = entries
        }
        if let chosen = extensions[ExtensionType.supportedVersions] {
            guard chosen.count == 2 else { return nil }
            // Safe: two bytes fit.
            version = TLSVersion(rawValue: chosen.reduce(0) { $0 << 8 | UInt16($1) })
        } else {
            version = TLSVersion(rawValue: legacy)
        }
        self.random = Array(random)
        sessionIdentifier = Array(session)
        self.suite = CipherSuite(rawValue: suite)
        self.compression = compression
        self.extensions = extensions
    }

    package var isRetryRequest: Bool { random == ServerHello.retryRandom }

    /// The share of the server; for a retry request only its group, with an empty share.
    package var keyShare: (group: NamedGroup, share: ArraySlice<UInt8>)? {
        guard let body = extensions[ExtensionType.keyShare] else { return nil }
        var reader = WireReader(body)
        guard let group = reader.read16() else { return nil }
        if isRetryRequest { return reader.isEmpty ? (NamedGroup(rawValue: group), []) : nil }
        guard let share = reader.vector(2), reader.isEmpty else { return nil }
        return (NamedGroup(rawValue: group), share)
    }

    /// Whether the server says that it would rather have spoken a newer version (RFC 8446 section 4.1.3).
    package var warnsOfDowngrade: Bool {
        random.suffix(8).elementsEqual(ServerHello.downgradeTo12)
            || random.suffix(8).elementsEqual(ServerHello.downgradeBelow12)
    }

    /// The one protocol of an ALPN answer; nil if there is not exactly one.
    package static func applicationProtocol(_ body: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var reader = WireReader(body)
        guard var list = reader.vector(2).map({ WireReader($0) }), reader.isEmpty, let name = list.vector(1),
            list.isEmpty,
            !name.isEmpty
        else { return nil }
        return name
    }

    /// SHA-256 of "HelloRetryRequest".
    private static let retryRandom: [UInt8] = [
        0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91, 0xC2, 0xA2,
        0x11,
        0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
    ]
    private static let downgradeTo12: [UInt8] = [0x44, 0x4F, 0x57, 0x4E, 0x47, 0x52, 0x44, 0x01]
    private static let downgradeBelow12: [UInt8] = [0x44, 0x4F, 0x57, 0x4E, 0x47, 0x52, 0x44, 0x00]
}
