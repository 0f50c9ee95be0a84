// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
public import Findings
import FoundationEssentials

/// The identity that App Attest proves: the App ID prefix (usually the team identifier) and the bundle identifier.
///
/// An App Clip attests with the identifier of its full app, so an app and its clip are one identity.
/// Two identities are equal only when their bytes are: case matters, and `com.a.b` is not `com.a.b.c`.
///
///     let app = try AppIdentity("ABCDE12345.com.example.app")
public struct AppIdentity: Hashable, Sendable, CustomStringConvertible {
    /// The App ID prefix, for example `ABCDE12345`.
    public let prefix: String
    /// The `CFBundleIdentifier` of the full app, for example `com.example.app`.
    public let bundleID: String
    /// SHA-256 of the application identifier, 32 bytes: what a WebAuthn authenticator calls `rpIdHash`.
    public let relyingPartyIDHash: [UInt8]

    /// Makes an identity from its two parts.
    ///
    /// - Throws: `malformed.app-id` where a part is empty, the prefix contains a dot, or a part has spaces or control characters.
    public init(prefix: String, bundleID: String) throws(MalformedInput) {
        let applicationID = prefix + "." + bundleID
        let isPlain = applicationID.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard !prefix.isEmpty, !bundleID.isEmpty, !prefix.utf8.contains(UInt8(ascii: ".")), isPlain,
            applicationID.utf8.count <= 512
        else {
            throw MalformedInput(
                code: .malformedAppID,
                reason: "an app identity is PREFIX.bundle, for example ABCDE12345.com.example.app"
            )
        }
        self.prefix = prefix
        self.bundleID = bundleID
        relyingPartyIDHash = Array(SHA256.hash(data: Array(applicationID.utf8)))
    }

    /// Makes an identity from the application identifier `PREFIX.bundle`; the prefix ends at the first dot.
    ///
    /// - Throws: `malformed.app-id`.
    public init(_ applicationID: String) throws(MalformedInput) {
        let dot = applicationID.firstIndex(of: ".") ?? applicationID.endIndex
        try self.init(
            prefix: String(applicationID[..<dot]),
            bundleID: String(applicationID[dot...].dropFirst())
        )
    }

    /// `PREFIX.bundle`.
    public var applicationID: String { prefix + "." + bundleID }

    public var description: String { applicationID }
}
