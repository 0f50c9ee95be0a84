// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import Findings
import TLSFacts

/// Check reports as documents for other programs and for people: JUnit XML, Markdown, and one self-contained HTML page.
enum CheckDocuments {
    static let junitHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sealward ats check\">\n"
    static let junitTail = "</testsuites>\n"

    /// One suite a target, one case a configuration; only the decisive one can fail the build, the others are diagnosis.
    static func junit(_ report: TargetReport) -> String {
        let decisive = report.decisive?.configuration
        let failures = report.decisive?.result == .fail ? 1 : 0
        let errors = report.decisive?.result == .undetermined ? 1 : 0
        var text =
            "  <testsuite name=\"\(escape(report.target))\" tests=\"\(report.results.count)\" failures=\"\(failures)\" "
        text += "errors=\"\(errors)\" time=\"\(Double(report.elapsed.milliseconds) / 1000)\">\n"
        for result in report.results {
            let name = "\(result.configuration.section): \(result.configuration.name)"
            text += "    <testcase classname=\"\(escape(report.host))\" name=\"\(escape(name))\""
            let reasons = result.because.map { "\($0.code): \($0.message)" }.joined(separator: "\n")
            let first = result.because.first?.code.rawValue ?? result.result.rawValue
            if result.result == .pass {
                text += "/>\n"
            } else if result.configuration == decisive {
                let element = result.result == .fail ? "failure" : "error"
                text +=
                    ">\n      <\(element) message=\"\(escape(first))\">\(escape(reasons))</\(element)>\n    </testcase>\n"
            } else {
                text +=
                    ">\n      <system-out>\(escape("\(result.result.rawValue) \(reasons)"))</system-out>\n    </testcase>\n"
            }
        }
        return text + "  </testsuite>\n"
    }

    static func markdownHead(os: String) -> String { "# App Transport Security check on \(os)\n" }

    static func markdown(_ report: TargetReport) -> String {
        let result = report.decisive?.result.rawValue ?? "UNDETERMINED"
        var text = "\n## \(result) \(code(report.target))\n\n"
        for cause in report.decisive?.because ?? [] {
            text += "- \(code(cause.code.rawValue)): \(plain(cause.message))\n"
        }
        text +=
            "- smallest exception: \(code(report.smallestException.value?.json.rendered(pretty: false) ?? "none helps"))\n"
        if let facts = report.facts {
            text += "- negotiated: \(facts.handshake.version), \(facts.handshake.suite)\n"
        }
        text += "\n| configuration | result | because |\n|---|---|---|\n"
        for row in report.results {
            let reasons = row.because.map { code($0.code.rawValue) }.joined(separator: " ")
            text += "| \(plain(row.configuration.name)) | \(row.result.rawValue) | \(reasons) |\n"
        }
        return text
    }

    static func escape(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n", "\t": result.unicodeScalars.append(scalar)
            // XML 1.0 has no other control characters, nor the two noncharacters.
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func plain(_ text: String) -> String {
        var result = ""
        for character in text {
            if character.isNewline {
                result += " "
            } else {
                if "\\`*_{}[]<>#|!".contains(character) { result += "\\" }
                result.append(character)
            }
        }
        return result
    }

    private static func code(_ text: String) -> String {
        "`" + text.filter { !$0.isNewline && $0 != "`" && $0 != "|" } + "`"
    }
}
