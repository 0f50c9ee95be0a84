// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// One way in which a TLS server misbehaves, as data: what it sends, and what must come of it.
package struct TLSMisbehaviour: Sendable, CustomStringConvertible {
    /// One thing that the server does.
    package enum Act: Sendable {
        case send([UInt8])
        /// The same bytes until the client is gone or `limit` bytes are sent.
        case flood([UInt8], limit: Int)
        /// Waits for another hello, and plays the row again for it.
        case awaitHello
        case close
        case reset
        /// Says nothing more and keeps the connection open.
        case stall

        /// What is sent, once.
        package var bytes: [UInt8]? {
            switch self {
            case .send(let bytes), .flood(let bytes, _): bytes
            case .awaitHello, .close, .reset, .stall: nil
            }
        }
    }

    /// What a prober must make of it.
    package enum Outcome: Sendable, Equatable {
        case negotiated
        case protocolError
        case alert(UInt8)
        case notTLS
        case closed
        case reset
        case timeout
    }

    package let name: String
    package let outcome: Outcome
    /// The first cause that `ats check` gives; nil for a pass.
    package let code: String?
    /// Whether the server needs a hello with a key share of TLS 1.3.
    package let isModern: Bool
    package let play: @Sendable (inout HostileSession) -> [Act]

    package var description: String { name }

    /// - Parameter code: `-` takes the one that belongs to the outcome.
    package init(
        _ name: String, _ outcome: Outcome, code: String? = "-", modern: Bool = true,
        _ play: @escaping @Sendable (inout HostileSession) -> [Act]
    ) {
        self.name = name
        self.outcome = outcome
        self.code = code == "-" ? TLSMisbehaviour.code(outcome) : code
        isModern = modern
        self.play = play
    }

    private static func code(_ outcome: Outcome) -> String? {
        switch outcome {
        case .negotiated: nil
        case .protocolError: "ats.tls.handshake-failed"
        case .alert(40): "ats.tls.no-common-suite"
        case .alert(70): "ats.tls.version-too-low"
        case .alert(116): "ats.tls.client-certificate-required"
        case .alert: "ats.tls.handshake-failed"
        case .notTLS: "ats.net.not-tls"
        case .closed: "ats.net.closed"
        case .reset: "ats.net.reset"
        case .timeout: "ats.net.timeout"
        }
    }

    /// Whether nothing of TLS was learned, so that `ats check` may not say that the server fails.
    package var isUndetermined: Bool { code?.hasPrefix("ats.net.") == true }

    /// All of them.
    package static let all: [TLSMisbehaviour] =
        noTLS + alerts + records + serverHellos + retries + encrypted + orders + certificates + classic + afterwards
}
