// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FuzzDriver
import TLSProbe

/// The answer of whoever stands behind a caIssuers address, whole and in pieces of one byte to ten, which may not change what it says.
FuzzDriver.run(corpus: "http") { input in
    // All of a longer answer is refused, and its first pieces may be enough.
    let input = input.prefix(HTTPAnswer.maximumSize)
    var whole = HTTPAnswer()
    whole.append(input)
    var pieces = HTTPAnswer()
    var rest = input
    var size = 1
    while !rest.isEmpty {
        pieces.append(rest.prefix(size))
        rest = rest.dropFirst(size)
        size = size % 10 + 1
    }
    precondition(whole.isComplete == pieces.isComplete, "the end depends on how the bytes arrive")
    precondition(whole.body == pieces.body, "the body depends on how the bytes arrive")
    precondition(whole.body?.count ?? 0 <= input.count)
}
