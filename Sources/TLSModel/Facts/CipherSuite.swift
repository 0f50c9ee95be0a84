// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A TLS cipher suite by its number in the IANA registry.
public struct CipherSuite: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// How the suite agrees on a key.
    package enum KeyExchange: Sendable {
        /// By the key_share extension of TLS 1.3; the suite does not say.
        case tls13
        case ecdheECDSA
        case ecdheRSA
        /// The secret is encrypted to the server's RSA key: no forward secrecy.
        case rsa
        /// Finite-field DHE, signed with RSA.
        case dheRSA
        /// A suite without an entry in the table.
        case other
    }

    /// How the suite agrees on a key.
    package var keyExchange: KeyExchange { CipherSuite.registry[self]?.keyExchange ?? .other }

    /// Whether the key exchange is ephemeral, so that a stolen server key opens no recorded traffic.
    public var hasForwardSecrecy: Bool {
        switch keyExchange {
        case .tls13, .ecdheECDSA, .ecdheRSA, .dheRSA: true
        case .rsa, .other: false
        }
    }

    /// The IANA name, for example `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`.
    public var description: String {
        CipherSuite.registry[self]?.name ?? "0x" + String(rawValue, radix: 16, uppercase: true)
    }
}

extension CipherSuite {
    /// 0x1301 of the IANA registry.
    public static let aes128GCMSHA256 = CipherSuite(rawValue: 0x1301)
    /// 0x1302 of the IANA registry.
    public static let aes256GCMSHA384 = CipherSuite(rawValue: 0x1302)
    /// 0x1303 of the IANA registry.
    public static let chacha20Poly1305SHA256 = CipherSuite(rawValue: 0x1303)
    /// 0xC02C of the IANA registry.
    public static let ecdheECDSAWithAES256GCMSHA384 = CipherSuite(rawValue: 0xC02C)
    /// 0xC02B of the IANA registry.
    public static let ecdheECDSAWithAES128GCMSHA256 = CipherSuite(rawValue: 0xC02B)
    /// 0xCCA9 of the IANA registry.
    public static let ecdheECDSAWithChaCha20Poly1305 = CipherSuite(rawValue: 0xCCA9)
    package static let ecdheECDSAWithAES256CBCSHA384 = CipherSuite(rawValue: 0xC024)
    package static let ecdheECDSAWithAES128CBCSHA256 = CipherSuite(rawValue: 0xC023)
    package static let ecdheECDSAWithAES256CBCSHA = CipherSuite(rawValue: 0xC00A)
    package static let ecdheECDSAWithAES128CBCSHA = CipherSuite(rawValue: 0xC009)
    /// 0xC030 of the IANA registry.
    public static let ecdheRSAWithAES256GCMSHA384 = CipherSuite(rawValue: 0xC030)
    /// 0xC02F of the IANA registry.
    public static let ecdheRSAWithAES128GCMSHA256 = CipherSuite(rawValue: 0xC02F)
    /// 0xCCA8 of the IANA registry.
    public static let ecdheRSAWithChaCha20Poly1305 = CipherSuite(rawValue: 0xCCA8)
    package static let ecdheRSAWithAES256CBCSHA384 = CipherSuite(rawValue: 0xC028)
    package static let ecdheRSAWithAES128CBCSHA256 = CipherSuite(rawValue: 0xC027)
    package static let ecdheRSAWithAES256CBCSHA = CipherSuite(rawValue: 0xC014)
    package static let ecdheRSAWithAES128CBCSHA = CipherSuite(rawValue: 0xC013)
    package static let rsaWithAES256GCMSHA384 = CipherSuite(rawValue: 0x009D)
    package static let rsaWithAES128GCMSHA256 = CipherSuite(rawValue: 0x009C)
    package static let rsaWithAES256CBCSHA256 = CipherSuite(rawValue: 0x003D)
    package static let rsaWithAES128CBCSHA256 = CipherSuite(rawValue: 0x003C)
    package static let rsaWithAES256CBCSHA = CipherSuite(rawValue: 0x0035)
    package static let rsaWithAES128CBCSHA = CipherSuite(rawValue: 0x002F)
    package static let ecdheECDSAWith3DESCBCSHA = CipherSuite(rawValue: 0xC008)
    package static let ecdheRSAWith3DESCBCSHA = CipherSuite(rawValue: 0xC012)
    package static let rsaWith3DESCBCSHA = CipherSuite(rawValue: 0x000A)
    package static let ecdheECDSAWithRC4128SHA = CipherSuite(rawValue: 0xC007)
    package static let ecdheRSAWithRC4128SHA = CipherSuite(rawValue: 0xC011)
    package static let rsaWithRC4128SHA = CipherSuite(rawValue: 0x0005)
    package static let rsaWithRC4128MD5 = CipherSuite(rawValue: 0x0004)
    package static let dheRSAWithAES256GCMSHA384 = CipherSuite(rawValue: 0x009F)
    package static let dheRSAWithAES128GCMSHA256 = CipherSuite(rawValue: 0x009E)
    package static let dheRSAWithAES256CBCSHA256 = CipherSuite(rawValue: 0x006B)
    package static let dheRSAWithAES128CBCSHA256 = CipherSuite(rawValue: 0x0067)
    package static let dheRSAWithAES256CBCSHA = CipherSuite(rawValue: 0x0039)
    package static let dheRSAWithAES128CBCSHA = CipherSuite(rawValue: 0x0033)

    /// Every suite that this package can name. Source: the IANA registry "TLS Cipher Suites".
    static let registry: [CipherSuite: (name: String, keyExchange: KeyExchange)] = [
        .aes128GCMSHA256: ("TLS_AES_128_GCM_SHA256", .tls13),
        .aes256GCMSHA384: ("TLS_AES_256_GCM_SHA384", .tls13),
        .chacha20Poly1305SHA256: ("TLS_CHACHA20_POLY1305_SHA256", .tls13),
        .ecdheECDSAWithAES256GCMSHA384: ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", .ecdheECDSA),
        .ecdheECDSAWithAES128GCMSHA256: ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", .ecdheECDSA),
        .ecdheECDSAWithChaCha20Poly1305: ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", .ecdheECDSA),
        .ecdheECDSAWithAES256CBCSHA384: ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", .ecdheECDSA),
        .ecdheECDSAWithAES128CBCSHA256: ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", .ecdheECDSA),
        .ecdheECDSAWithAES256CBCSHA: ("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", .ecdheECDSA),
        .ecdheECDSAWithAES128CBCSHA: ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", .ecdheECDSA),
        .ecdheRSAWithAES256GCMSHA384: ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", .ecdheRSA),
        .ecdheRSAWithAES128GCMSHA256: ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", .ecdheRSA),
        .ecdheRSAWithChaCha20Poly1305: ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", .ecdheRSA),
        .ecdheRSAWithAES256CBCSHA384: ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", .ecdheRSA),
        .ecdheRSAWithAES128CBCSHA256: ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", .ecdheRSA),
        .ecdheRSAWithAES256CBCSHA: ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", .ecdheRSA),
        .ecdheRSAWithAES128CBCSHA: ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", .ecdheRSA),
        .rsaWithAES256GCMSHA384: ("TLS_RSA_WITH_AES_256_GCM_SHA384", .rsa),
        .rsaWithAES128GCMSHA256: ("TLS_RSA_WITH_AES_128_GCM_SHA256", .rsa),
        .rsaWithAES256CBCSHA256: ("TLS_RSA_WITH_AES_256_CBC_SHA256", .rsa),
        .rsaWithAES128CBCSHA256: ("TLS_RSA_WITH_AES_128_CBC_SHA256", .rsa),
        .rsaWithAES256CBCSHA: ("TLS_RSA_WITH_AES_256_CBC_SHA", .rsa),
        .rsaWithAES128CBCSHA: ("TLS_RSA_WITH_AES_128_CBC_SHA", .rsa),
        .ecdheECDSAWith3DESCBCSHA: ("TLS_ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA", .ecdheECDSA),
        .ecdheRSAWith3DESCBCSHA: ("TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", .ecdheRSA),
        .rsaWith3DESCBCSHA: ("TLS_RSA_WITH_3DES_EDE_CBC_SHA", .rsa),
        .ecdheECDSAWithRC4128SHA: ("TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", .ecdheECDSA),
        .ecdheRSAWithRC4128SHA: ("TLS_ECDHE_RSA_WITH_RC4_128_SHA", .ecdheRSA),
        .rsaWithRC4128SHA: ("TLS_RSA_WITH_RC4_128_SHA", .rsa),
        .rsaWithRC4128MD5: ("TLS_RSA_WITH_RC4_128_MD5", .rsa),
        .dheRSAWithAES256GCMSHA384: ("TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", .dheRSA),
        .dheRSAWithAES128GCMSHA256: ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", .dheRSA),
        .dheRSAWithAES256CBCSHA256: ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", .dheRSA),
        .dheRSAWithAES128CBCSHA256: ("TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", .dheRSA),
        .dheRSAWithAES256CBCSHA: ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA", .dheRSA),
        .dheRSAWithAES128CBCSHA: ("TLS_DHE_RSA_WITH_AES_128_CBC_SHA", .dheRSA),
    ]
}
