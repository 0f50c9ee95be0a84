// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

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
