// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import FuzzDriver

/// Bytes as people paste them: base64, hexadecimal, PEM, prints of languages. Nothing may crash.
FuzzDriver.run(corpus: "pasted") { input in
    _ = try? PastedBytes(reading: input, wanted: .object, mayBeRaw: true)
    _ = try? PastedBytes(reading: input, wanted: .anything)
    _ = try? PastedBytes.fixed(input, sizes: [32, 65, 91])
}
