// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import PropertyLists
import Testing
import Vocabulary

@Test func `ATSLint: an Info.plist read like Apple reads it`() throws {
    // walkthrough: ATSLint lint
    let text = """
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0"><dict>
          <key>NSAppTransportSecurity</key>
          <dict><key>NSAllowsArbitraryLoad</key><true/></dict>
        </dict></plist>
        """
    let document = try PlistReader.read(Array(text.utf8))
    let result = Linter.lint(LintSubject(path: "Info.plist", document: document))
    for found in result.findings {
        let place = found.finding.location.map { "\($0.line):\($0.column)" } ?? "-"
        print(place, found.finding.rule, found.finding.severity, found.finding.message)
    }
    // end
    #expect(result.findings.contains { $0.finding.message.contains("NSAllowsArbitraryLoads") })
    #expect(result.findings.first?.finding.location?.line == 4)
    #expect(result.findings.allSatisfy { RuleCatalog.rule($0.finding.rule) != nil })
}
