// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel

/// What the client of a system puts into its hello if nothing restricts it, the suites up to TLS 1.2 apart
/// (``OSProfile/unrestrictedSuites``).
package struct SystemHello: Sendable, Hashable {
    /// The extensions and what is sent for the sake of others.
    package let layout: HelloLayout
    /// The suites of TLS 1.3 in their order; empty on systems without TLS 1.3.
    package let tls13Suites: [CipherSuite]
    package let groups: [NamedGroup]
    /// The groups that the hello has a key share of; empty on systems without TLS 1.3.
    package let keyShareGroups: [NamedGroup]
    /// signature_algorithms, with a value that Apple sends twice.
    package let signatureSchemes: [SignatureScheme]

    /// For people: what tells one system's hello from another's.
    var words: String {
        func list(_ names: [some CustomStringConvertible]) -> String {
            names.map(\.description).joined(separator: ", ")
        }
        var parts = ["groups \(list(groups))"]
        if !keyShareGroups.isEmpty { parts.append("key shares \(list(keyShareGroups))") }
        if !tls13Suites.isEmpty { parts.append("TLS 1.3 suites \(list(tls13Suites))") }
        parts.append("signature schemes \(list(signatureSchemes))")
        parts.append("\(layout.items.count) extensions\(layout.usesGREASE ? ", with GREASE" : "")")
        return parts.joined(separator: "; ")
    }
}

/// The hellos of the eras, each with the capture that it is read from. Where a release was not captured its hello is that of the nearest
/// captured one before it.
enum SystemHellos {
    /// Safari on iOS 9 and OS X 10.11: CoreTLS.
    static let of2015 = SystemHello(
        layout: coreTLS(extendedMasterSecret: false), tls13Suites: [], groups: nistCurves, keyShareGroups: [],
        signatureSchemes: schemes(0x0501, 0x0401, 0x0201, 0x0503, 0x0403, 0x0203))

    /// Safari on iOS 10 and macOS 10.12: with extended_master_secret.
    static let of2016 = SystemHello(
        layout: coreTLS(extendedMasterSecret: true), tls13Suites: [], groups: nistCurves, keyShareGroups: [],
        signatureSchemes: schemes(0x0401, 0x0201, 0x0501, 0x0601, 0x0403, 0x0203, 0x0503, 0x0603))

    /// Safari 12.1 on macOS 10.13.6: BoringSSL.
    static let of2017 = SystemHello(
        layout: HelloLayout(items: [
            .renegotiation, .serverName, .extendedMasterSecret, .signatureAlgorithms, .statusRequest, .nextProtocol,
            .timestamps,
            .applicationProtocols, .pointFormats, .supportedGroups, .padding,
        ]),
        tls13Suites: [],
        groups: classicalGroups,
        keyShareGroups: [],
        signatureSchemes: schemes(0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601, 0x0201)
    )

    /// Safari 12.1 on iOS 12.2, which resumed a session, and 13.0 on macOS 10.14.6, which did not: with TLS 1.3.
    static let of2018 = SystemHello(
        layout: HelloLayout(items: [
            .renegotiation, .serverName, .extendedMasterSecret, .signatureAlgorithms, .statusRequest, .nextProtocol,
            .timestamps,
            .applicationProtocols, .pointFormats, .keyShare, .pskModes, .supportedVersions, .supportedGroups, .padding,
        ]),
        tls13Suites: [.chacha20Poly1305SHA256, .aes128GCMSHA256, .aes256GCMSHA384],
        groups: classicalGroups,
        keyShareGroups: [.x25519],
        signatureSchemes: schemesWithSHA1
    )

    /// Safari 15.4 on macOS 12.3.1: with GREASE and packed certificates.
    static let of2021 = SystemHello(
        layout: greased, tls13Suites: [.aes128GCMSHA256, .aes256GCMSHA384, .chacha20Poly1305SHA256],
        groups: classicalGroups, keyShareGroups: [.x25519], signatureSchemes: schemesWithSHA1)

    /// Safari 18.4 on iOS 18.4 and macOS 15.4: without ecdsa_sha1.
    static let of2024 = SystemHello(
        layout: greased, tls13Suites: [.aes128GCMSHA256, .aes256GCMSHA384, .chacha20Poly1305SHA256],
        groups: classicalGroups, keyShareGroups: [.x25519], signatureSchemes: schemesOfToday)

    /// Safari 26.4 on iOS, iPadOS and macOS 26.4: with ML-KEM, which makes it larger than one TCP segment.
    static let of2025 = SystemHello(
        layout: greased, tls13Suites: [.aes256GCMSHA384, .chacha20Poly1305SHA256, .aes128GCMSHA256],
        groups: [.x25519MLKEM768] + classicalGroups, keyShareGroups: [.x25519MLKEM768, .x25519],
        signatureSchemes: schemesOfToday)

    private static let nistCurves: [NamedGroup] = [.secp256r1, .secp384r1, .secp521r1]
    private static let classicalGroups: [NamedGroup] = [.x25519] + nistCurves

    private static func coreTLS(extendedMasterSecret: Bool) -> HelloLayout {
        HelloLayout(
            items: [
                .serverName, .supportedGroups, .pointFormats, .signatureAlgorithms, .nextProtocol,
                .applicationProtocols,
                .statusRequest, .timestamps,
            ] + (extendedMasterSecret ? [.extendedMasterSecret] : []),
            leadsWithRenegotiation: true
        )
    }

    private static let greased = HelloLayout(
        items: [
            .emptyGREASE, .serverName, .extendedMasterSecret, .renegotiation, .supportedGroups, .pointFormats,
            .applicationProtocols,
            .statusRequest, .signatureAlgorithms, .timestamps, .keyShare, .pskModes, .supportedVersions,
            .certificateCompression,
            .byteGREASE, .padding,
        ],
        usesGREASE: true
    )

    private static let schemesWithSHA1 = schemes(
        0x0403, 0x0804, 0x0401, 0x0503, 0x0203, 0x0805, 0x0805, 0x0501, 0x0806, 0x0601, 0x0201)
    private static let schemesOfToday = schemes(
        0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0805, 0x0501, 0x0806, 0x0601, 0x0201)

    private static func schemes(_ numbers: UInt16...) -> [SignatureScheme] {
        numbers.map { SignatureScheme(rawValue: $0) }
    }
}
