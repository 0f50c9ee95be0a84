// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import FuzzDriver
import TLSModel
import TLSProbe

/// Lists of Certificate Transparency logs, and of timestamps. Nothing may crash; what is read has logs in it.
FuzzDriver.run(corpus: "ct-list") { input in
    if let list = try? CTLogList(json: input, verifier: TimestampVerifier()) { precondition(list.count > 0) }
    guard let timestamps = SignedTimestamp.list(decoding: input) else { return }
    for timestamp in timestamps { precondition(timestamp.logIdentifier.count == 32) }
}
