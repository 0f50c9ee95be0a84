// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A group for the key exchange, by its number in the IANA registry "TLS Supported Groups".
public struct NamedGroup: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// P-256, 0x0017.
    public static let secp256r1 = NamedGroup(rawValue: 23)
    package static let secp384r1 = NamedGroup(rawValue: 24)
    package static let secp521r1 = NamedGroup(rawValue: 25)
    /// Curve25519, 0x001D.
    public static let x25519 = NamedGroup(rawValue: 29)
    /// ML-KEM-768 beside Curve25519, 0x11EC (draft-ietf-tls-ecdhe-mlkem).
    package static let x25519MLKEM768 = NamedGroup(rawValue: 0x11EC)

    /// Whether the group has a post-quantum part beside the classical one; its key share does not fit into one TCP segment.
    package var isHybrid: Bool { self == .x25519MLKEM768 }

    /// Those of a list that are classical, in order.
    package static func classical(_ groups: [NamedGroup]) -> [NamedGroup] { groups.filter { !$0.isHybrid } }

    /// Every group that has a name in the registry, in the order of the numbers.
    package static let registered: [NamedGroup] = names.keys.sorted().map { NamedGroup(rawValue: $0) }

    public var description: String { NamedGroup.names[rawValue] ?? "group \(rawValue)" }

    /// IANA, "TLS Supported Groups", read 2026-11-23; the last two are drafts that were deployed.
    private static let names: [UInt16: String] = {
        let curves = [
            "sect163k1", "sect163r1", "sect163r2", "sect193r1", "sect193r2", "sect233k1", "sect233r1", "sect239k1",
            "sect283k1", "sect283r1", "sect409k1", "sect409r1", "sect571k1", "sect571r1", "secp160k1", "secp160r1",
            "secp160r2", "secp192k1", "secp192r1", "secp224k1", "secp224r1", "secp256k1", "secp256r1", "secp384r1",
            "secp521r1", "brainpoolP256r1", "brainpoolP384r1", "brainpoolP512r1", "x25519", "x448",
            "brainpoolP256r1tls13", "brainpoolP384r1tls13", "brainpoolP512r1tls13", "GC256A", "GC256B", "GC256C",
            "GC256D", "GC512A", "GC512B", "GC512C", "curveSM2",
        ]
        let others: [UInt16: String] = [
            256: "ffdhe2048", 257: "ffdhe3072", 258: "ffdhe4096", 259: "ffdhe6144", 260: "ffdhe8192",
            0x0200: "MLKEM512", 0x0201: "MLKEM768", 0x0202: "MLKEM1024", 0x11EB: "SecP256r1MLKEM768",
            0x11EC: "X25519MLKEM768", 0x11ED: "SecP384r1MLKEM1024", 0x6399: "X25519Kyber768Draft00",
            0x639A: "SecP256r1Kyber768Draft00",
        ]
        let numbered = curves.enumerated().map { (UInt16(clamping: $0.offset + 1), $0.element) }
        return others.merging(numbered) { known, _ in known }
    }()
}

/// A signature scheme, by its number in the IANA registry "TLS SignatureScheme".
public struct SignatureScheme: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let ecdsaSECP256R1SHA256 = SignatureScheme(rawValue: 0x0403)
    package static let ecdsaSECP384R1SHA384 = SignatureScheme(rawValue: 0x0503)
    package static let ecdsaSECP521R1SHA512 = SignatureScheme(rawValue: 0x0603)
    package static let rsaPSSSHA256 = SignatureScheme(rawValue: 0x0804)
    package static let rsaPSSSHA384 = SignatureScheme(rawValue: 0x0805)
    package static let rsaPSSSHA512 = SignatureScheme(rawValue: 0x0806)
    package static let rsaPKCS1SHA256 = SignatureScheme(rawValue: 0x0401)
    package static let rsaPKCS1SHA384 = SignatureScheme(rawValue: 0x0501)
    package static let rsaPKCS1SHA512 = SignatureScheme(rawValue: 0x0601)
    package static let rsaPKCS1SHA1 = SignatureScheme(rawValue: 0x0201)
    package static let ecdsaSHA1 = SignatureScheme(rawValue: 0x0203)
    package static let ed25519 = SignatureScheme(rawValue: 0x0807)
    package static let ed448 = SignatureScheme(rawValue: 0x0808)
    /// 0x0809 to 0x080B of the IANA registry: of keys that are marked for RSASSA-PSS alone.
    package static let rsaPSSKeys = [0x0809, 0x080A, 0x080B].map { SignatureScheme(rawValue: $0) }
    /// 0x081A to 0x081C of the IANA registry.
    package static let brainpoolTLS13 = [0x081A, 0x081B, 0x081C].map { SignatureScheme(rawValue: $0) }
    /// 0x0904 to 0x0906 of the IANA registry.
    package static let mlDSA = [0x0904, 0x0905, 0x0906].map { SignatureScheme(rawValue: $0) }

    /// 0x0303 and 0x0301 of the IANA registry.
    package static let sha224 = [0x0303, 0x0301].map { SignatureScheme(rawValue: $0) }

    public var description: String { SignatureScheme.names[rawValue] ?? "0x" + String(rawValue, radix: 16) }

    private static let names: [UInt16: String] = [
        0x0201: "rsa_pkcs1_sha1", 0x0203: "ecdsa_sha1", 0x0301: "rsa_pkcs1_sha224", 0x0303: "ecdsa_sha224",
        0x0401: "rsa_pkcs1_sha256", 0x0403: "ecdsa_secp256r1_sha256", 0x0501: "rsa_pkcs1_sha384",
        0x0503: "ecdsa_secp384r1_sha384", 0x0601: "rsa_pkcs1_sha512", 0x0603: "ecdsa_secp521r1_sha512",
        0x0804: "rsa_pss_rsae_sha256", 0x0805: "rsa_pss_rsae_sha384", 0x0806: "rsa_pss_rsae_sha512",
        0x0807: "ed25519", 0x0808: "ed448", 0x0809: "rsa_pss_pss_sha256", 0x080A: "rsa_pss_pss_sha384",
        0x080B: "rsa_pss_pss_sha512", 0x081A: "ecdsa_brainpoolP256r1tls13_sha256",
        0x081B: "ecdsa_brainpoolP384r1tls13_sha384", 0x081C: "ecdsa_brainpoolP512r1tls13_sha512",
        0x0904: "mldsa44", 0x0905: "mldsa65", 0x0906: "mldsa87",
    ]
}
