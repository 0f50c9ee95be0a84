// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import FuzzDriver
import HTTPService

/// `traceparent` and, behind a line feed, `tracestate`: what is passed on is within the limits of W3C and says the same when it is read.
FuzzDriver.run(corpus: "trace") { input in
    let parts = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
    guard let parent = parts.first,
        let context = TraceContext(traceparent: parent, tracestate: parts.dropFirst().first)
    else { return }
    precondition(TraceContext(traceparent: context.traceparent, tracestate: context.state) == context)
    precondition(context.traceparent.utf8.count == 55)
    if let state = context.state {
        precondition(state.utf8.count <= 512)
        precondition(state.utf8.allSatisfy { 0x20...0x7E ~= $0 }, "a control character is passed on")
    }
}
