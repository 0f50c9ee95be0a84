// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import TLSModel
public import Vocabulary

/// The answer to a request, with its body still to be read.
public struct ATSResponse: Sendable {
    /// Status and header fields.
    public let head: HTTPResponse
    /// The body. Read it to the end or drop it: a body that is dropped gives its connection up.
    public let body: ResponseBody
    /// The URL that answered: the target of the last redirect.
    public let url: String
    /// Every request of the load in order; the last one is this answer.
    public let hops: [Hop]
    /// `http/1.1` or `h2`.
    public let applicationProtocol: String
    /// What was seen and judged of the server's TLS; nil for plain HTTP.
    public let connection: ConnectionFacts?
    /// Findings that refused nothing: notes of the judge, a certificate that the app's own delegate accepted.
    public let notes: [Cause]
    /// In monitor mode: what would have been refused, first hop first. Empty otherwise.
    public let wouldRefuse: [ATSLoadError]

    /// The status of the last hop.
    public var status: HTTPResponse.Status { head.status }
}
