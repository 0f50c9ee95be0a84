// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A group for the key exchange, by its number in the IANA registry "TLS Supported Groups".
public struct NamedGroup: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// P-256, 0x0017.
    public static let secp256r1 = NamedGroup(rawValue: 23)
    /// P-384, 0x0018.
    package static let secp384r1 = NamedGroup(rawValue: 24)
    /// P-521, 0x0019.
    package static let secp521r1 = NamedGroup(rawValue: 25)
    /// Curve25519, 0x001D.
    public static let x25519 = NamedGroup(rawValue: 29)
    /// Curve448, 0x001E.
    package static let x448 = NamedGroup(rawValue: 30)
    /// ML-KEM-768 beside Curve25519, 0x11EC (draft-ietf-tls-ecdhe-mlkem).
    package static let x25519MLKEM768 = NamedGroup(rawValue: 0x11EC)

    /// Whether the group has a post-quantum part beside the classical one; its key share does not fit into one TCP segment.
    package var isHybrid: Bool { self == .x25519MLKEM768 }

    /// Those of a list that are classical, in order.
    package static func classical(_ groups: [NamedGroup]) -> [NamedGroup] { groups.filter { !$0.isHybrid } }

    public var description: String {
        switch self {
        case .secp256r1: "secp256r1"
        case .secp384r1: "secp384r1"
        case .secp521r1: "secp521r1"
        case .x25519: "x25519"
        case .x448: "x448"
        case .x25519MLKEM768: "X25519MLKEM768"
        default: "group \(rawValue)"
        }
    }
}

/// A signature scheme, by its number in the IANA registry "TLS SignatureScheme".
public struct SignatureScheme: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 0x0403 of the IANA registry.
    package static let ecdsaSECP256R1SHA256 = SignatureScheme(rawValue: 0x0403)
    /// 0x0503 of the IANA registry.
    package static let ecdsaSECP384R1SHA384 = SignatureScheme(rawValue: 0x0503)
    /// 0x0603 of the IANA registry.
    package static let ecdsaSECP521R1SHA512 = SignatureScheme(rawValue: 0x0603)
    /// 0x0804 of the IANA registry.
    package static let rsaPSSSHA256 = SignatureScheme(rawValue: 0x0804)
    /// 0x0805 of the IANA registry.
    package static let rsaPSSSHA384 = SignatureScheme(rawValue: 0x0805)
    /// 0x0806 of the IANA registry.
    package static let rsaPSSSHA512 = SignatureScheme(rawValue: 0x0806)
    /// 0x0401 of the IANA registry.
    package static let rsaPKCS1SHA256 = SignatureScheme(rawValue: 0x0401)
    /// 0x0501 of the IANA registry.
    package static let rsaPKCS1SHA384 = SignatureScheme(rawValue: 0x0501)
    /// 0x0601 of the IANA registry.
    package static let rsaPKCS1SHA512 = SignatureScheme(rawValue: 0x0601)
    /// 0x0201 of the IANA registry.
    package static let rsaPKCS1SHA1 = SignatureScheme(rawValue: 0x0201)
    /// 0x0203 of the IANA registry.
    package static let ecdsaSHA1 = SignatureScheme(rawValue: 0x0203)
    /// 0x0807 of the IANA registry.
    package static let ed25519 = SignatureScheme(rawValue: 0x0807)

    public var description: String {
        switch self {
        case .ecdsaSECP256R1SHA256: "ecdsa_secp256r1_sha256"
        case .ecdsaSECP384R1SHA384: "ecdsa_secp384r1_sha384"
        case .ecdsaSECP521R1SHA512: "ecdsa_secp521r1_sha512"
        case .rsaPSSSHA256: "rsa_pss_rsae_sha256"
        case .rsaPSSSHA384: "rsa_pss_rsae_sha384"
        case .rsaPSSSHA512: "rsa_pss_rsae_sha512"
        case .rsaPKCS1SHA256: "rsa_pkcs1_sha256"
        case .rsaPKCS1SHA384: "rsa_pkcs1_sha384"
        case .rsaPKCS1SHA512: "rsa_pkcs1_sha512"
        case .rsaPKCS1SHA1: "rsa_pkcs1_sha1"
        case .ecdsaSHA1: "ecdsa_sha1"
        case .ed25519: "ed25519"
        default: "0x" + String(rawValue, radix: 16)
        }
    }
}
