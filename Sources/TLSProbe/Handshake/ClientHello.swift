// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSFacts
import TLSWire

/// Writes client hellos (RFC 5246 section 7.4.1.2, RFC 8446 section 4.1.2) with the extensions, in the order, of Apple's
/// clients; without GREASE, padding and session tickets.
struct ClientHello {
    let offer: HelloOffer
    /// 32 bytes.
    let random: [UInt8]
    /// 32 bytes where TLS 1.3 is offered; servers behind middleboxes expect it (RFC 8446 appendix D.4).
    let sessionIdentifier: [UInt8]
    var shares: [(group: NamedGroup, publicKey: [UInt8])] = []
    /// From a HelloRetryRequest.
    var cookie: [UInt8]?

    /// The handshake message, header included.
    var message: [UInt8] {
        var writer = WireWriter()
        writer.write8(1)
        writer.prefixed(3) { body in
            body.write16(min(offer.maximumVersion, .tls12).rawValue)
            body.write(random)
            // RFC 8446 section 4.1.2: at most 32 bytes.
            body.prefixed(1) { $0.write(offer.maximumVersion >= .tls13 ? sessionIdentifier.prefix(32) : []) }
            body.prefixed(2) { list in
                for suite in offer.sentSuites { list.write16(suite.rawValue) }
            }
            body.write([1, 0])
            body.prefixed(2) { writeExtensions(&$0) }
        }
        return writer.bytes
    }

    private func writeExtensions(_ writer: inout WireWriter) {
        let modern = offer.maximumVersion >= .tls13
        let elliptic = offer.sentSuites.contains { [.tls13, .ecdheECDSA, .ecdheRSA].contains($0.keyExchange) }
        if let name = offer.sentServerName {
            write(ExtensionType.serverName, &writer) { body in
                body.prefixed(2) { list in
                    list.write8(0)
                    list.prefixed(2) { $0.write(name) }
                }
            }
        }
        if offer.minimumVersion < .tls13 {
            write(ExtensionType.extendedMasterSecret, &writer) { _ in }
            write(ExtensionType.renegotiation, &writer) { $0.write8(0) }
        }
        if elliptic {
            write(ExtensionType.supportedGroups, &writer) { body in
                body.prefixed(2) { list in
                    for group in offer.groups { list.write16(group.rawValue) }
                }
            }
            if offer.minimumVersion < .tls13 { write(ExtensionType.pointFormats, &writer) { $0.write([1, 0]) } }
        }
        if !offer.applicationProtocols.isEmpty {
            write(ExtensionType.applicationProtocols, &writer) { body in
                body.prefixed(2) { list in
                    for name in offer.applicationProtocols { list.prefixed(1) { $0.write(name.utf8.prefix(255)) } }
                }
            }
        }
        write(ExtensionType.statusRequest, &writer) { $0.write([1, 0, 0, 0, 0]) }
        if offer.maximumVersion >= .tls12 {
            write(ExtensionType.signatureAlgorithms, &writer) { body in
                body.prefixed(2) { list in
                    for scheme in offer.signatureSchemes { list.write16(scheme.rawValue) }
                }
            }
        }
        write(ExtensionType.timestamps, &writer) { _ in }
        if modern { writeModernExtensions(&writer) }
    }

    private func writeModernExtensions(_ writer: inout WireWriter) {
        write(ExtensionType.keyShare, &writer) { body in
            body.prefixed(2) { list in
                for share in shares {
                    list.write16(share.group.rawValue)
                    list.prefixed(2) { $0.write(share.publicKey) }
                }
            }
        }
        write(ExtensionType.pskModes, &writer) { $0.write([1, 1]) }
        write(ExtensionType.supportedVersions, &writer) { body in
            body.prefixed(1) { list in
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
}
