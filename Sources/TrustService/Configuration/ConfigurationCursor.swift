// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Findings

/// One thing that is wrong with a configuration: where, and why.
package struct ConfigurationIssue: Sendable, Equatable, CustomStringConvertible {
    /// The setting (`apps[0].mode`); empty where the document is no configuration at all.
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

/// Why a file that a configuration names cannot be read.
package struct UnreadableFile: Error, Sendable {
    /// One sentence with the name of the file in it, without a full stop.
    package let reason: String

    package init(reason: String) { self.reason = reason }
}

/// Collects everything that is wrong, so that it is reported at once.
final class ConfigurationIssues {
    private(set) var all: [ConfigurationIssue] = []

    func add(_ path: String, _ reason: String) {
        all.append(ConfigurationIssue(path: path.terminalSafe, reason: reason.terminalSafe))
    }
}

/// One object of the configuration while it is read: it hands out typed members and names what is left over.
struct ConfigurationCursor {
    let path: String
    let issues: ConfigurationIssues
    private let members: [JSONValue.Member]
    private let isObject: Bool

    init(_ value: JSONValue, path: String, issues: ConfigurationIssues) {
        self.path = path
        self.issues = issues
        members = value.members ?? []
        isObject = value.members != nil
        if !isObject { issues.add(path, path.isEmpty ? ConfigurationCursor.shape : "must be an object") }
        var seen: Set<UTF8Key> = []
        for member in members where !seen.insert(UTF8Key(member.name)).inserted {
            issues.add(child(member.name), "is given twice; leave one of them")
        }
    }

    /// What every document must be.
    static let shape = "must be one JSON object, for example {\"listen\": \"127.0.0.1:8080\"}"

    func child(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    /// Names every member that is not among the known ones.
    func finish(known: Set<String>) {
        let names = known.sorted().joined(separator: ", ")
        let knownKeys = Set(known.map { UTF8Key($0) })
        for member in members where !knownKeys.contains(UTF8Key(member.name)) {
            issues.add(child(member.name), "is not a known key; known here are \(names)")
        }
    }

    func value(_ name: String) -> JSONValue? {
        guard let value = members.first(where: { $0.name.hasSameBytes(as: name) })?.value, value != .null else {
            return nil
        }
        return value
    }

    func string(_ name: String) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.text, !text.isEmpty else {
            issues.add(child(name), "must be a text that is not empty")
            return nil
        }
        return text
    }

    func required(_ name: String) -> String? {
        if value(name) == nil, isObject { issues.add(child(name), "is missing") }
        return string(name)
    }

    func integer(_ name: String, _ range: ClosedRange<Int>) -> Int? {
        guard let value = value(name) else { return nil }
        guard case .integer(let number) = value, range ~= number else {
            issues.add(child(name), "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    func number(_ name: String, _ range: ClosedRange<Double>) -> Double? {
        guard let value = value(name) else { return nil }
        let number: Double? =
            switch value {
            case .integer(let whole): Double(whole)
            case .number(let number): number
            default: nil
            }
        guard let number, range ~= number else {
            issues.add(child(name), "must be a number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    func flag(_ name: String) -> Bool? {
        guard let value = value(name) else { return nil }
        guard case .bool(let flag) = value else {
            issues.add(child(name), "must be true or false")
            return nil
        }
        return flag
    }

    func choice<Choice: RawRepresentable & CaseIterable>(_ name: String, _: Choice.Type) -> Choice?
    where Choice.RawValue == String {
        guard let value = value(name) else { return nil }
        guard let text = value.text, let choice = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            issues.add(child(name), "must be one of \(known)")
            return nil
        }
        return choice
    }

    func strings(_ name: String) -> [String]? {
        elements(name)?.compactMap { element in
            guard let text = element.value.text, !text.isEmpty else {
                issues.add(element.path, "must be a text that is not empty")
                return nil
            }
            return text
        }
    }

    func integers(_ name: String, _ range: ClosedRange<Int>) -> [Int]? {
        elements(name)?.compactMap { element in
            guard case .integer(let number) = element.value, range ~= number else {
                issues.add(element.path, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
                return nil
            }
            return number
        }
    }

    func object(_ name: String) -> ConfigurationCursor? {
        value(name).map { ConfigurationCursor($0, path: child(name), issues: issues) }
    }

    func objects(_ name: String) -> [ConfigurationCursor]? {
        elements(name)?.map { ConfigurationCursor($0.value, path: $0.path, issues: issues) }
    }

    private func elements(_ name: String) -> [(path: String, value: JSONValue)]? {
        guard let value = value(name) else { return nil }
        guard case .array(let elements) = value else {
            issues.add(child(name), "must be an array")
            return nil
        }
        return elements.enumerated().map { ("\(child(name))[\($0.offset)]", $0.element) }
    }
}
