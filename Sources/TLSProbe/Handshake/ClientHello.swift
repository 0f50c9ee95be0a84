// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel

/// Writes client hellos (RFC 5246 section 7.4.1.2, RFC 8446 section 4.1.2) in the layout of the offer; without session tickets.
struct ClientHello {
    let offer: HelloOffer
    /// 32 bytes.
    let random: [UInt8]
    /// 32 bytes where TLS 1.3 is offered; servers behind middleboxes expect it (RFC 8446 appendix D.4).
    let sessionIdentifier: [UInt8]
    var shares: [(group: NamedGroup, publicKey: [UInt8])] = []
    /// From a HelloRetryRequest.
    var cookie: [UInt8]?
    /// Whether a HelloRetryRequest asked for this hello: then the share that it asked for stands alone.
    var isSecond = false

    /// The handshake message, header included.
    var message: [UInt8] {
        let bare = message(padding: nil)
        guard offer.layout.items.contains(.padding), (256...511).contains(bare.count) else { return bare }
        // As BoringSSL: up to 512 bytes, four of which are the head of the extension, and at least one byte.
        return message(padding: max(1, 508 - bare.count))
    }

    private func message(padding: Int?) -> [UInt8] {
        var writer = WireWriter()
        writer.write8(1)
        writer.prefixed(3) { body in
            body.write16(min(offer.maximumVersion, .tls12).rawValue)
            body.write(random)
            // RFC 8446 section 4.1.2: at most 32 bytes.
            body.prefixed(1) { $0.write(offer.maximumVersion >= .tls13 ? sessionIdentifier.prefix(32) : []) }
            body.prefixed(2) { list in
                if offer.layout.usesGREASE { list.write16(grease(.suite)) }
                if offer.layout.leadsWithRenegotiation { list.write16(0x00FF) }
                for suite in offer.sentSuites { list.write16(suite.rawValue) }
            }
            body.write([1, 0])
            body.prefixed(2) { extensions in
                for item in offer.layout.items { write(item, padding: padding, &extensions) }
            }
        }
        return writer.bytes
    }

    // MARK: Extensions

    /// Writes one item, if it has anything to say.
    private func write(_ item: HelloLayout.Item, padding: Int?, _ writer: inout WireWriter) {
        let isModern = offer.maximumVersion >= .tls13
        // What belongs to TLS 1.2 alone is left out where no hello of TLS 1.2 is meant.
        let isClassic = offer.minimumVersion < .tls13
        switch item {
        case .serverName: writeServerName(&writer)
        case .statusRequest: write(ExtensionType.statusRequest, &writer) { $0.write([1, 0, 0, 0, 0]) }
        case .supportedGroups where isElliptic: writeGroups(&writer)
        case .pointFormats where isElliptic && isClassic:
            write(ExtensionType.pointFormats, &writer) { $0.write([1, 0]) }
        case .signatureAlgorithms where offer.maximumVersion >= .tls12:
            write(ExtensionType.signatureAlgorithms, &writer) { body in
                body.prefixed(2) { list in
                    for scheme in offer.signatureSchemes { list.write16(scheme.rawValue) }
                }
            }
        case .applicationProtocols where !offer.applicationProtocols.isEmpty:
            write(ExtensionType.applicationProtocols, &writer) { body in
                body.prefixed(2) { list in
                    for name in offer.applicationProtocols {
                        list.prefixed(1) { $0.write(Array(name.utf8.prefix(255))) }
                    }
                }
            }
        case .timestamps: write(ExtensionType.timestamps, &writer) { _ in }
        case .padding:
            guard let padding else { return }
            write(ExtensionType.padding, &writer) { $0.write([UInt8](repeating: 0, count: padding)) }
        case .extendedMasterSecret where isClassic: write(ExtensionType.extendedMasterSecret, &writer) { _ in }
        case .renegotiation where isClassic: write(ExtensionType.renegotiation, &writer) { $0.write8(0) }
        case .nextProtocol where isClassic: write(ExtensionType.nextProtocol, &writer) { _ in }
        case .certificateCompression where isModern:
            write(ExtensionType.certificateCompression, &writer) { $0.write([2, 0, 1]) }
        case .keyShare where isModern: writeShares(&writer)
        case .pskModes where isModern: write(ExtensionType.pskModes, &writer) { $0.write([1, 1]) }
        case .supportedVersions where isModern: writeVersions(&writer)
        case .emptyGREASE: write(grease(.firstExtension), &writer) { _ in }
        case .byteGREASE: write(grease(.lastExtension), &writer) { $0.write8(0) }
        // It has nothing to say in this hello.
        default: return
        }
    }

    private var isElliptic: Bool {
        offer.sentSuites.contains { [.tls13, .ecdheECDSA, .ecdheRSA].contains($0.keyExchange) }
    }

    private func writeServerName(_ writer: inout WireWriter) {
        guard let name = offer.sentServerName else { return }
        write(ExtensionType.serverName, &writer) { body in
            body.prefixed(2) { list in
                list.write8(0)
                list.prefixed(2) { $0.write(name) }
            }
        }
    }

    private func writeGroups(_ writer: inout WireWriter) {
        write(ExtensionType.supportedGroups, &writer) { body in
            body.prefixed(2) { list in
                if offer.layout.usesGREASE { list.write16(grease(.group)) }
                for group in offer.groups { list.write16(group.rawValue) }
            }
        }
    }

    private func writeShares(_ writer: inout WireWriter) {
        write(ExtensionType.keyShare, &writer) { body in
            body.prefixed(2) { list in
                if offer.layout.usesGREASE, !isSecond {
                    list.write16(grease(.group))
                    list.prefixed(2) { $0.write8(0) }
                }
                for share in shares {
                    list.write16(share.group.rawValue)
                    list.prefixed(2) { $0.write(share.publicKey) }
                }
            }
        }
    }

    private func writeVersions(_ writer: inout WireWriter) {
        write(ExtensionType.supportedVersions, &writer) { body in
            body.prefixed(1) { list in
                if offer.layout.usesGREASE { list.write16(grease(.version)) }
                for version in offer.versions { list.write16(version.rawValue) }
            }
        }
        if let cookie {
            write(ExtensionType.cookie, &writer) { body in body.prefixed(2) { $0.write(cookie) } }
        }
    }

    private func write(_ type: UInt16, _ writer: inout WireWriter, _ body: (inout WireWriter) -> Void) {
        writer.write16(type)
        writer.prefixed(2, body)
    }

    // MARK: Values that mean nothing

    private enum GREASEPlace: Int {
        case suite, group, version, firstExtension, lastExtension
    }

    /// One of the sixteen values of RFC 8701, the same for the second hello as for the first.
    private func grease(_ place: GREASEPlace) -> UInt16 {
        func value(_ place: GREASEPlace) -> UInt16 {
            let byte = UInt16(random.dropFirst(place.rawValue).first ?? 0) & 0xF0 | 0x0A
            return byte << 8 | byte
        }
        // No extension may stand in a hello twice.
        if place == .lastExtension, value(.lastExtension) == value(.firstExtension) { return value(place) ^ 0x1010 }
        return value(place)
    }
}
