// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The codes of this module that more than one file needs. `docs/errors.md` says what each means.
extension Code {
    package static let challengeBinding: Code = "challenge.binding"
    package static let challengeExpired: Code = "challenge.expired"
    package static let challengeUnknown: Code = "challenge.unknown"
    package static let challengeUsed: Code = "challenge.used"
    package static let keyExists: Code = "key.exists"
    package static let keyOtherUser: Code = "key.other-user"
    package static let keyRevoked: Code = "key.revoked"
    package static let keyUnknown: Code = "key.unknown"
    package static let storeNewer: Code = "store.newer"
    package static let storeUnavailable: Code = "store.unavailable"
    package static let receiptOlder: Code = "receipt.older"
    package static let storeConfiguration: Code = "store.configuration"
    package static let storeDamaged: Code = "store.damaged"
    package static let storeTLS: Code = "store.tls"
}
