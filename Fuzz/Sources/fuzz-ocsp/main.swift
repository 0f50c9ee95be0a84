// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FuzzDriver
import TLSModel
import TLSProbe

/// OCSP responses as a server staples them, and the timestamps in them. Nothing may crash, and every bound holds.
FuzzDriver.run(corpus: "ocsp") { input in
    guard let response = try? StapledResponse(decoding: input) else { return }
    precondition(input.count <= 64 * 1024)
    precondition(response.singles.count <= 16)
    for single in response.singles {
        if let timestamps = single.timestamps { _ = SignedTimestamp.list(decoding: timestamps) }
    }
    // A response is a DER value: nothing may stand behind it, and nothing be missing.
    precondition((try? StapledResponse(decoding: input + [0])) == nil)
    precondition((try? StapledResponse(decoding: Array(input.dropLast()))) == nil)
}
