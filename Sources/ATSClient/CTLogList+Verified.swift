// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
import TLSProbe
public import Vocabulary

extension CTLogList {
    /// Reads a log list as browsers publish it; the signatures of timestamps are checked with its keys.
    ///
    /// - Throws: `MalformedInput` with code `malformed.ct-log-list` if there are no operators with logs in it.
    public init(json bytes: [UInt8]) throws(MalformedInput) {
        try self.init(json: bytes, verifier: TimestampVerifier())
    }
}
