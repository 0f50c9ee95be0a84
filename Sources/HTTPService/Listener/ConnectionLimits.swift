// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import NIOCore
import Vocabulary

/// How long one connection may stay in each state, and how much it may carry.
package struct ConnectionLimits: Sendable {
    /// From the connection to its first complete head, the TLS handshake included.
    package var first = TimeAmount.seconds(10)
    /// From the head of a request to its end.
    package var request = TimeAmount.seconds(10)
    /// From the end of a request to its answer. Handlers have shorter deadlines; this one is for those that lost it.
    package var answer = TimeAmount.seconds(60)
    /// From the begin of an answer until the system has taken all of it.
    package var unread = TimeAmount.seconds(10)
    /// From an answer to the complete next head.
    package var idle = TimeAmount.seconds(75)
    /// From the last answer to the client's end; what comes meanwhile is dropped.
    package var linger = TimeAmount.seconds(2)
    /// A request that begins later than this after the connection is the last one.
    package var total = TimeAmount.hours(1)
    /// The most requests of one connection; the last is answered with `Connection: close`.
    package var requests = 10_000
    /// Bodies that claim more get no `100 Continue`.
    package var bodyBytes = 1 << 16

    package init() {}
}
