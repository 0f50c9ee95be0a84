// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A version of TLS as it stands on the wire: 0x0301 is TLS 1.0, 0x0304 is TLS 1.3.
public struct TLSVersion: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// TLS 1.0, 0x0301.
    public static let tls10 = TLSVersion(rawValue: 0x0301)
    /// TLS 1.1, 0x0302.
    public static let tls11 = TLSVersion(rawValue: 0x0302)
    /// TLS 1.2, 0x0303.
    public static let tls12 = TLSVersion(rawValue: 0x0303)
    /// TLS 1.3, 0x0304.
    public static let tls13 = TLSVersion(rawValue: 0x0304)

    public static func < (left: TLSVersion, right: TLSVersion) -> Bool { left.rawValue < right.rawValue }

    /// The name as ATS writes it, for example `TLSv1.2`; an unknown version is written as hexadecimal.
    public var description: String {
        switch self {
        case .tls10: "TLSv1.0"
        case .tls11: "TLSv1.1"
        case .tls12: "TLSv1.2"
        case .tls13: "TLSv1.3"
        case TLSVersion(rawValue: 0x0300): "SSLv3"
        default: "0x" + String(rawValue, radix: 16)
        }
    }
}
