// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
public import Vocabulary

/// What the app passed to `attestKey` or `generateAssertion` as `clientDataHash`.
///
/// Usually it is the SHA-256 of a challenge or of the request's bytes. Apple asks for at least 16 bytes and hashes nothing itself:
/// its own published samples hand over raw bytes, so a value that is used as it is must be possible.
public struct ClientDataHash: Hashable, Sendable {
    /// The bytes, 16 to 1024 of them.
    public let bytes: [UInt8]

    /// The SHA-256 of a challenge or of client data, for an app that hashes before it calls.
    public init(hashing clientData: some Sequence<UInt8>) {
        bytes = Array(SHA256.hash(data: Array(clientData)))
    }

    /// The bytes exactly as the app passed them.
    ///
    /// - Throws: `malformed.client-data-hash` for fewer than 16 bytes (Apple's lower bound) or more than 1024 (ours).
    public init(precomputed bytes: some Collection<UInt8>) throws(MalformedInput) {
        guard 16...1024 ~= bytes.count else {
            throw MalformedInput(
                code: .malformedClientDataHash,
                reason: "a client data hash must have 16 to 1024 bytes, not \(bytes.count)")
        }
        self.bytes = Array(bytes)
    }
}
