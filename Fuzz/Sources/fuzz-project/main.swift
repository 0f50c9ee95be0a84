// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import FuzzDriver

/// Project files of .NET and of Xcode. Nothing may crash.
FuzzDriver.run(corpus: "project") { input in
    _ = FuzzEntry.project(input)
}
