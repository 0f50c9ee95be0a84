// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPService
import Vocabulary

/// One thing that is wrong with a configuration: where, and why.
package struct ConfigurationIssue: Sendable, Equatable, CustomStringConvertible {
    /// The setting (`apps[0].mode`); empty if the document is no configuration at all.
    package let path: String
    /// What is wrong and what would be right, without a full stop.
    package let reason: String
    /// The environment variable from which the setting came; nil for the document.
    package var variable: String?

    package init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    package var description: String { sentence() }

    /// `path: reason`, with the file or the variable to fix behind it.
    package func sentence(file: String? = nil) -> String {
        if path.isEmpty { return "\(file ?? "configuration"): \(reason)" }
        let source = variable ?? file
        return "\(path): \(reason)\(source.map { " (\($0))" } ?? "")"
    }
}

/// Why a file that a configuration names cannot be read, or what is wrong with its text.
package struct UnreadableFile: Error, Sendable {
    /// One sentence without a full stop; with the name of the file if it cannot be read.
    package let reason: String

    package init(reason: String) { self.reason = reason }
}

/// One reading of a configuration: what it may ask for, and everything that is wrong so far, so that it is reported at once.
final class ConfigurationReading {
    let environment: [String: String]
    /// The instant by which expiries are judged.
    let now: Date
    fileprivate let readFile: (String) throws(UnreadableFile) -> [UInt8]
    fileprivate(set) var issues: [ConfigurationIssue] = []

    init(
        environment: [String: String], now: Date = SystemSources.live.now(),
        readFile: @escaping (String) throws(UnreadableFile) -> [UInt8]
    ) {
        self.environment = environment
        self.now = now
        self.readFile = readFile
    }
}

struct ConfigurationPlace {
    let path: String
    let reading: ConfigurationReading

    func member(_ name: String) -> ConfigurationPlace {
        ConfigurationPlace(path: path.isEmpty ? name : "\(path).\(name)", reading: reading)
    }

    func element(_ index: Int) -> ConfigurationPlace {
        ConfigurationPlace(path: "\(path)[\(index)]", reading: reading)
    }

    func wrong(_ reason: String) {
        reading.issues.append(ConfigurationIssue(path: path.terminalSafe, reason: reason.terminalSafe))
    }

    /// The text of a file that the value here names; nil after its fault has been noted.
    func contents(ofFile file: String) -> String? {
        do throws(UnreadableFile) {
            if let text = String(validating: try reading.readFile(file), as: UTF8.self) { return text }
            wrong("\(file): is not UTF-8 text")
        } catch {
            wrong(error.reason)
        }
        return nil
    }
}
