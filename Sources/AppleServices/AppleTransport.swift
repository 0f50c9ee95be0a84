// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Vocabulary

/// One HTTP request to Apple.
public struct AppleRequest: Sendable, Equatable {
    /// Upper case, for example `POST`.
    public var method: String
    /// The whole address.
    public var url: String
    /// In the order in which they are sent.
    public var headers: [Header]
    /// The content; empty for none.
    public var body: [UInt8]

    /// A header field of a request.
    public struct Header: Sendable, Equatable {
        /// The field's name.
        public let name: String
        /// The field's value.
        public let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}

/// Apple's whole answer.
public struct AppleAnswer: Sendable, Equatable, CustomStringConvertible {
    package let status: Int
    package let headers: [String: String]
    package let body: [UInt8]

    /// Makes one from its parts.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - headers: the fields by lower-case name; of a repeated field the first value.
    ///   - body: the content.
    public init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The status and the size: receipts and bits stay out of logs.
    public var description: String { "\(status) with \(body.count) bytes" }
}

/// Sends one request to Apple and returns its answer: the only access of this target to the network.
///
/// A transport never follows a redirect (the authorization must not leave the configured host), and never returns a body beyond
/// 65,536 bytes.
public protocol AppleTransport: Sendable {
    /// Sends the request and reads the whole answer, whatever its status.
    ///
    /// - Throws: ``AppleTransportFault`` if no whole answer came.
    func send(_ request: AppleRequest) async throws -> AppleAnswer
}

/// No complete answer came from Apple.
///
/// Codes: `apple.unreachable`, `apple.untrusted`, `apple.answer.too-large`, `apple.timeout`.
public struct AppleTransportFault: Error, Sendable, ComparedByCode, CustomStringConvertible {
    /// The stable code, as in `docs/errors.md`.
    public let code: Code
    /// One sentence without a full stop.
    public let reason: String

    /// A fault for your own transport to throw, with one of the codes above.
    public init(code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { reason }
}
