// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The name of one attested key: the SHA-256 of its public key, 32 bytes.
///
/// On a device it is called `keyId` and written in base64. In a path of the service it is base64url without padding.
public struct KeyIdentifier: Hashable, Sendable {
    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Takes exactly 32 bytes; nil for any other length.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads the base64 text that a device gives: standard alphabet, padding, exactly 32 bytes. Nil for anything else.
    public init?(strictBase64 text: String) {
        guard text.utf8.count == 44, let data = Data(base64Encoded: text), data.base64EncodedString() == text else {
            return nil
        }
        self.init(bytes: data)
    }

    /// Reads the form used in paths: base64url without padding, 43 characters. Nil for anything else.
    public init?(base64URL text: String) {
        guard text.utf8.count == 43, !text.utf8.contains(where: { $0 == 0x2B || $0 == 0x2F }) else { return nil }
        let standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        self.init(strictBase64: standard + "=")
    }

    /// The form that devices use: standard base64 with padding.
    public var base64: String { Data(bytes).base64EncodedString() }

    /// The form that paths use: base64url without padding.
    public var base64URL: String {
        String(base64.dropLast().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    /// The first eight characters, which is all that a log may hold.
    public var logPrefix: String { String(base64.prefix(8)) }
}
