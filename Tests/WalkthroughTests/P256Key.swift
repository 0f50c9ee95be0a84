// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto

/// A key as Apple hands them out, made for this run.
enum P256Key {
    static let pem = P256.Signing.PrivateKey().pemRepresentation
}
