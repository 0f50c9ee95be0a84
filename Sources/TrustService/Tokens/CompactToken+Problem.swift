// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import TrustTokens

extension CompactToken {
    /// The token, or the refusal of a caller that sent something else.
    ///
    /// - Throws: ``Problem`` `token.invalid`.
    static func read(_ token: String, algorithm: String) throws(Problem) -> CompactToken {
        do throws(UnreadableToken) {
            return try CompactToken(token, algorithm: algorithm)
        } catch {
            throw Problem(.tokenInvalid, evidence: error.reason)
        }
    }
}
