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

    private var rank: Int { Severity.allCases.firstIndex(of: self) ?? 0 }
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

/// Where a rule comes from: the document, the place in it, and the day it was read.
public struct Citation: Hashable, Sendable, CustomStringConvertible {
    /// The document or source file, for example `NSExceptionMinimumTLSVersion` or `Security-61901: SecPolicy.c`.
    public let source: String
    /// The address of the document, where it has a public one.
    public let url: String?
    /// The day on which the source was read, as `YYYY-MM-DD`.
    public let read: String

    package init(source: String, url: String? = nil, read: String) {
        self.source = source
        self.url = url
        self.read = read
    }

    /// A page of Apple's developer documentation, by its last path component or symbol name.
    package static func apple(_ page: String, url: String? = nil, read: String) -> Citation {
        Citation(source: "Apple Developer Documentation: \(page)", url: url, read: read)
    }

    /// A file of Apple's published Security sources.
    package static func security(_ file: String, read: String = "2026-11-21") -> Citation {
        Citation(source: "apple-oss-distributions/Security 61901.0.87.0.1: \(file)", read: read)
    }

    public var description: String { source }
}
