// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import FuzzDriver

/// App archives: the zip's end, its directory, each entry, and the lists, profiles and executables in it. Nothing may crash, and
/// nothing may be unpacked past its limit.
FuzzDriver.run(corpus: "archive") { input in
    guard let archive = try? ZipArchive(input) else { return }
    for entry in archive.entries.prefix(64) { _ = try? archive.contents(entry, limit: 1 << 20) }
    _ = try? InfoPlistSearch.read(input, name: "fuzz.ipa")
}
