// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
public import Vocabulary

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
    public let bundleId: String
    /// SHA-256 of the application identifier, 32 bytes: what a WebAuthn authenticator calls `rpIdHash`.
    package let relyingPartyIdHash: [UInt8]

    /// Makes an identity from its two parts.
    ///
    /// - Throws: `malformed.app-id` if a part is empty, the prefix contains a dot, or a part has spaces, control characters or a `*`.
    public init(prefix: String, bundleId: String) throws(MalformedInput) {
        let applicationId = prefix + "." + bundleId
        let isPlain = applicationId.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard !prefix.isEmpty, !bundleId.isEmpty, !prefix.utf8.contains(UInt8(ascii: ".")), isPlain,
            applicationId.utf8.count <= 512
        else {
            throw MalformedInput(
                code: .malformedAppId,
                reason: "an app identity is PREFIX.bundle, for example ABCDE12345.com.example.app")
        }
        guard !applicationId.utf8.contains(UInt8(ascii: "*")) else {
            throw MalformedInput(
                code: .malformedAppId,
                reason:
                    "an App ID with * is one of a provisioning profile: give the App ID of the app itself, without *")
        }
        self.prefix = prefix
        self.bundleId = bundleId
        relyingPartyIdHash = Array(SHA256.hash(data: Array(applicationId.utf8)))
    }

    /// Makes an identity from the application identifier `PREFIX.bundle`; the prefix ends at the first dot.
    ///
    /// - Throws: `malformed.app-id`.
    public init(_ applicationId: String) throws(MalformedInput) {
        let dot = applicationId.firstIndex(of: ".") ?? applicationId.endIndex
        try self.init(prefix: String(applicationId[..<dot]), bundleId: String(applicationId[dot...].dropFirst()))
    }

    /// Whether the prefix is one that Apple gives: ten letters and digits. Without it, the first part of a bundle identifier stands in its place.
    package var hasPrefixOfApple: Bool { prefix.utf8.count == 10 && prefix.utf8.allSatisfy(\.isASCIIAlphanumeric) }

    /// `PREFIX.bundle`.
    public var applicationId: String { prefix + "." + bundleId }

    public var description: String { applicationId }
}
