// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// How much a finding matters. The order is `note < warning < error`.
public enum Severity: String, Sendable, Comparable, CaseIterable {
    /// Worth knowing.
    case note
    /// A reviewer should see it.
    case warning
    /// It keeps an app from working, or its users from being safe.
    case error

    public static func < (left: Severity, right: Severity) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .note: 0
        case .warning: 1
        case .error: 2
        }
    }
}

/// A place in a text file.
public struct SourceLocation: Hashable, Sendable {
    /// From 1.
    public let line: Int
    /// From 1, in characters.
    public let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }
}

/// What a rule says about one place in one file.
public struct Finding: Sendable, Equatable {
    /// The id of the rule, for example `ATS001`.
    public let rule: String
    /// How much it matters.
    public let severity: Severity
    /// Where in the file, when the file is text.
    public let location: SourceLocation?
    /// The keys that lead to the place; array elements as `[0]`.
    public let keyPath: [String]
    /// What the key does now and what was probably meant.
    public let message: String
    /// What to do, in one sentence.
    public let fix: String?
    /// Where the rule is written.
    public let citation: Citation?

    package init(
        rule: String, severity: Severity, location: SourceLocation? = nil, keyPath: [String], message: String,
        fix: String? = nil, citation: Citation? = nil
    ) {
        self.rule = rule
        self.severity = severity
        self.location = location
        self.keyPath = keyPath
        self.message = message
        self.fix = fix
        self.citation = citation
    }
}

extension [String] {
    /// A key path as text: the components joined by dots, array elements as `[0]`.
    package var keyPathText: String { joined(separator: ".") }
}
