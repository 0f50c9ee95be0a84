// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A stable, dotted, lower-case name of a rule, a cause or a refusal, for example `ats.tls.version-too-low`.
///
/// Codes are API: they are listed in `docs/errors.md`, never reused, and never carry a severity. Messages may change; codes may not.
public struct Code: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(stringLiteral value: String) { rawValue = value }

    public var description: String { rawValue }
}

/// A value with a sentence for people, which is compared by its code alone: sentences may change.
public protocol ComparedByCode: Equatable {
    /// What happened, for programs.
    var code: Code { get }
}

extension ComparedByCode {
    /// Whether the codes are the same.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}
