// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import FuzzDriver

/// App archives: the zip's end, its directory, each entry, and the lists, profiles and executables in it. Nothing may crash, and
/// nothing may be unpacked past its limit.
FuzzDriver.run(corpus: "archive") { input in
    _ = FuzzEntry.archive(input)
}
