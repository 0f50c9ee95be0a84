// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// A stable, dotted, lower-case name of a rule, a cause or a refusal, for example `ats.tls.version-too-low`.
///
/// Codes are API: they are listed in `docs/codes.md`, never reused, and never carry a severity. Messages may change; codes may not.
public struct Code: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(stringLiteral value: String) { rawValue = value }

    public var description: String { rawValue }
}
