// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// How a client writes its hello, apart from what it offers: the order of the extensions, and what it sends for the sake of others.
///
/// Two hellos with the same layout, offer and server name have the same length.
package struct HelloLayout: Sendable, Hashable {
    /// What stands at one place among the extensions. An item that has nothing to say, for example because TLS 1.3 is not offered, is left
    /// out.
    package enum Item: Sendable, Hashable, CaseIterable {
        case serverName
        /// status_request, 5: a stapled OCSP response is welcome.
        case statusRequest
        case supportedGroups
        case pointFormats
        case signatureAlgorithms
        case applicationProtocols
        case timestamps
        /// padding, 21: fills hellos of 256 to 511 bytes up to 512, for servers that hang on those (RFC 7685).
        case padding
        case extendedMasterSecret
        /// compress_certificate, 27, with zlib (RFC 8879).
        case certificateCompression
        /// supported_versions, 43; behind it the cookie of a HelloRetryRequest.
        case supportedVersions
        case pskModes
        case keyShare
        /// next_protocol_negotiation, 0x3374, which ALPN came after.
        case nextProtocol
        case renegotiation
        /// A number that means nothing, without content (RFC 8701).
        case emptyGREASE
        /// A number that means nothing, with one byte (RFC 8701).
        case byteGREASE
    }

    /// The extensions in their order.
    package let items: [Item]
    /// Whether a value that means nothing stands first among the suites, the groups, the key shares and the versions (RFC 8701).
    package let usesGREASE: Bool
    /// Whether TLS_EMPTY_RENEGOTIATION_INFO_SCSV, 0x00FF, leads the suites (RFC 5746 section 3.3).
    package let leadsWithRenegotiation: Bool
    /// Whether server_name contains the address where the host is one, against RFC 6066 section 3.
    package var sendsAddresses = false

    package init(items: [Item], usesGREASE: Bool = false, leadsWithRenegotiation: Bool = false) {
        self.items = items
        self.usesGREASE = usesGREASE
        self.leadsWithRenegotiation = leadsWithRenegotiation
    }

    /// The layout of no system: what a server needs to answer, and nothing else.
    package static let plain = HelloLayout(items: [
        .serverName, .extendedMasterSecret, .renegotiation, .supportedGroups, .pointFormats, .applicationProtocols,
        .statusRequest,
        .signatureAlgorithms, .timestamps, .keyShare, .pskModes, .supportedVersions,
    ])
}
