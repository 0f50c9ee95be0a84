// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

extension FindingsReport {
    /// JUnit XML: a suite for each file, a case for each finding. Findings below the threshold pass, with their text as output.
    package func junit() -> String {
        let total = files.reduce(0) { $0 + max(1, $1.findings.count) } + gaps.count
        let failures = files.reduce(0) { sum, file in sum + file.findings.count { $0.severity >= failOn } }
        var result = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        result +=
            "<testsuites name=\"sealward ats lint\" tests=\"\(total)\" failures=\"\(failures)\" errors=\"\(gaps.count)\">\n"
        for file in files {
            let failed = file.findings.count { $0.severity >= failOn }
            result += "  <testsuite name=\"\(Markup.attribute(file.path))\" tests=\"\(max(1, file.findings.count))\" "
            result += "failures=\"\(failed)\" errors=\"0\" skipped=\"0\">\n"
            if file.findings.isEmpty {
                result += "    <testcase classname=\"\(Markup.attribute(file.path))\" name=\"no findings\"/>\n"
            }
            for finding in file.findings { result += testCase(finding, file.path) }
            result += "  </testsuite>\n"
        }
        for (index, (path, reason)) in gaps.enumerated() {
            let name = index < unreadable.count ? "read" : "list"
            result +=
                "  <testsuite name=\"\(Markup.attribute(path))\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"
            result += "    <testcase classname=\"\(Markup.attribute(path))\" name=\"\(name)\">"
            result += "<error message=\"\(Markup.attribute(reason))\"/></testcase>\n  </testsuite>\n"
        }
        return result + "</testsuites>\n"
    }

    private func testCase(_ finding: Finding, _ path: String) -> String {
        let place = finding.location.map { ":\($0.line):\($0.column)" } ?? ""
        let name = "\(finding.rule) \(finding.keyPath.keyPathText)"
        var text = "\(path.terminalSafe)\(place): \(finding.severity.rawValue): \(finding.message.terminalSafe)"
        if let fix = finding.fix { text += "\n\(fix.terminalSafe)" }
        var result = "    <testcase classname=\"\(Markup.attribute(path))\" name=\"\(Markup.attribute(name))\">\n"
        if finding.severity >= failOn {
            result +=
                "      <failure type=\"\(finding.severity.rawValue)\" message=\"\(Markup.attribute(finding.message))\">"
            result += "\(Markup.text(text))</failure>\n"
        } else {
            result += "      <system-out>\(Markup.text(text))</system-out>\n"
        }
        return result + "    </testcase>\n"
    }
}
