// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel
import Vocabulary

/// The address of one of Apple's services: a scheme, a host, and a path to which the calls are appended.
public struct AppleEndpoint: Sendable, Equatable, CustomStringConvertible {
    /// The address without a slash at its end.
    public let baseURL: String

    /// Takes `https://` with any host, and `http://` for a simulator on this machine only (127.0.0.0/8, `[::1]`, `localhost`).
    ///
    /// - Returns: nil for any other scheme, for user information, a query, a fragment, or characters that no address has.
    public init?(_ text: String) {
        let secure = text.hasPrefix("https://")
        guard secure || text.hasPrefix("http://") else { return nil }
        let rest = text.dropFirst(secure ? 8 : 7)
        guard rest.utf8.count <= 1024, rest.utf8.allSatisfy(AppleEndpoint.isAllowed) else { return nil }
        let authority = rest.prefix { $0 != "/" }
        guard let host = AppleEndpoint.host(of: authority), secure || AddressKind.isLoopback(host: host) else {
            return nil
        }
        baseURL = String(text.reversed().drop { $0 == "/" }.reversed())
    }

    private init(trusted: String) { baseURL = trusted }

    /// The address of a call, for example of `/v1/query_two_bits`.
    package func url(_ path: String) -> String { baseURL + path }

    public var description: String { baseURL }

    /// Apple's server for the receipts of production apps.
    public static let data = AppleEndpoint(trusted: "https://data.appattest.apple.com")
    /// Apple's server for the receipts of apps in development.
    public static let dataDevelopment = AppleEndpoint(trusted: "https://data-development.appattest.apple.com")
    /// Apple's server for the bits of devices, production.
    public static let deviceCheck = AppleEndpoint(trusted: "https://api.devicecheck.apple.com")
    /// Apple's server for the bits of devices, development.
    public static let deviceCheckDevelopment = AppleEndpoint(trusted: "https://api.development.devicecheck.apple.com")

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "-._~/:[]".utf8.contains(byte)
    }

    /// The host in lower case, without brackets; nil if the port is not a number from 1 to 65535.
    private static func host(of authority: Substring) -> String? {
        guard let place = try? HostPort(authority: authority), !place.host.isEmpty,
            place.portText.map({ HostPort.port($0) != nil }) ?? true,
            !place.host.utf8.contains(where: { $0 == 0x5B || $0 == 0x5D })
        else { return nil }
        return place.host.lowercased()
    }
}
