// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

extension FindingsReport {
    /// The form for people in a terminal.
    package func text(colored: Bool) -> String {
        func paint(_ text: String, _ code: String) -> String { colored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
        var result = ""
        for file in files where !file.findings.isEmpty {
            result += paint(file.path.terminalSafe, "1") + "\n"
            for finding in file.findings {
                let place = finding.location.map { "\($0.line):\($0.column)" } ?? "-"
                let word =
                    switch finding.severity {
                    case .error: paint("error", "1;31")
                    case .warning: paint("warning", "1;33")
                    case .note: paint("note", "1;36")
                    }
                result += "  \(place)  \(word) \(finding.rule)  \(finding.keyPath.keyPathText.terminalSafe)\n"
                result += "      \(finding.message.terminalSafe)\n"
                if let fix = finding.fix { result += "      \(paint("->", "2")) \(fix.terminalSafe)\n" }
            }
            result += "\n"
        }
        for (path, reason) in unreadable {
            result += "\(path.terminalSafe): could not be read: \(reason.terminalSafe)\n"
        }
        for (path, reason) in unlisted { result += "\(path.terminalSafe): \(reason.terminalSafe)\n" }
        for note in notes { result += note.terminalSafe + "\n" }
        return result + summary + ".\n"
    }

    /// The form that Xcode and most editors understand in a build log: one line for each finding.
    package func xcode() -> String {
        var result = ""
        for file in files {
            for finding in file.findings {
                let place = finding.location.map { "\($0.line):\($0.column)" } ?? "1:1"
                result += "\(file.path.terminalSafe):\(place): \(finding.severity.rawValue): "
                result += "\(finding.message.terminalSafe) [\(finding.rule)]\n"
            }
        }
        return result
    }

    /// Workflow commands of GitHub Actions, which become annotations of a pull request.
    package func github() -> String {
        var result = ""
        for file in files {
            for finding in file.findings {
                let command =
                    switch finding.severity {
                    case .error: "error"
                    case .warning: "warning"
                    case .note: "notice"
                    }
                var properties = "file=\(Self.workflowProperty(file.path.terminalSafe))"
                if let location = finding.location { properties += ",line=\(location.line),col=\(location.column)" }
                properties += ",title=\(finding.rule)"
                let text = finding.message + (finding.fix.map { "\n" + $0 } ?? "")
                result += "::\(command) \(properties)::\(Self.workflowText(text))\n"
            }
        }
        return result
    }

    private static func workflowText(_ text: String) -> String {
        let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self).terminalSafe.commandSafe }
        let escapes: [Unicode.Scalar: String] = ["%": "%25", "\r": "%0D", "\n": "%0A"]
        return lines.joined(separator: "\n").escaped { escapes[$0] }
    }

    private static func workflowProperty(_ text: String) -> String {
        workflowText(text).escaped { $0 == ":" ? "%3A" : $0 == "," ? "%2C" : nil }
    }
}
