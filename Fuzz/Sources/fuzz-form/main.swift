// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FuzzDriver
import PropertyLists

/// Property lists in every form but the binary one: the old style, prints of programs, JSON, literals of scripts, parts of XML. Nothing may crash.
FuzzDriver.run(corpus: "form") { input in
    for isPrinted in [false, true] {
        if let document = try? PlistReader.read(input, isPrinted: isPrinted) {
            _ = document.substituting { $0.isEmpty ? nil : "$(\($0))x" }.root.propertyListValue
        }
    }
    _ = try? PlistDocument(script: input, name: "infoPlist")
    _ = try? PlistDocument(json: input, below: ["*", "ios"])
}
