// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import HTTPTypes
public import TLSModel
public import Vocabulary

/// How one load ended, as a value: what `ats fetch` prints and `ats check` needs.
public struct LoadReport: Sendable {
    /// The three ends of a load.
    public enum Result: String, Sendable {
        /// A complete answer arrived, whatever its status.
        case loaded
        /// The load does not comply.
        case refused
        /// No complete answer came: connection, DNS, time, broken HTTP.
        case noAnswer = "no-answer"
    }

    /// What became of the load.
    public let result: Result
    /// The status of the last answer; nil if none came.
    public let status: Int?
    /// The URL of the last request.
    public let url: String
    /// The requests in order, redirects first.
    public let hops: [Hop]
    /// The NSURLError that an app would get; nil if the load completed.
    public internal(set) var error: URLLoadError?
    /// Why it ended as it did, first cause first; after a load, notes such as a certificate that the delegate accepted.
    public let because: [Cause]
    /// The Info.plist keys that would change the outcome.
    public internal(set) var remedies: [Remedy] = []
    /// The header fields of the answer.
    public let headerFields: HTTPFields
    /// The body, up to the configured limit.
    public internal(set) var body: [UInt8] = []
    /// Bytes of the body, kept or handed over.
    public internal(set) var bodyLength = 0
    /// What was seen of the last server's TLS; nil for plain HTTP and where no handshake came that far.
    public let connection: ConnectionFacts?
    /// In monitor mode: what would have been refused.
    public internal(set) var wouldRefuse: [ATSLoadError] = []
}
