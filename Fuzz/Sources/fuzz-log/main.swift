// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import FuzzDriver

/// Logs of devices, whole and in parts of one byte to ten: nothing may crash, and the parts may not change the report.
FuzzDriver.run(corpus: "log") { input in
    var whole = DeviceLog()
    whole.read(input)
    let report = whole.report()
    var parts = DeviceLog()
    var rest = input[...]
    var size = 1
    while !rest.isEmpty {
        parts.read(Array(rest.prefix(size)))
        rest = rest.dropFirst(size)
        size = size % 10 + 1
    }
    precondition(parts.report().text == report.text, "the parts of a file change what is found")
    precondition(report.unknown <= report.lines, "more unknown lines than lines")
    _ = try? NSCurlTranscript(input)
}
