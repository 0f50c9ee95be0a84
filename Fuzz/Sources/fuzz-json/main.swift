// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppTransportSecurity
import Formats
import FuzzDriver
import PropertyLists
import Vocabulary

/// JSON that people hand to the program: a dictionary of App Transport Security, a baseline, a report of a check. Nothing may crash.
FuzzDriver.run(corpus: "json") { input in
    if let value = try? PropertyListValue(json: input) {
        _ = ATSPolicy(dictionary: ATSDictionary(value), profile: .standard)
    }
    if let baseline = try? Baseline(json: input) { _ = baseline.json().rendered() }
    _ = try? CheckEvidence(json: input)
}
