// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import NIOHTTP1
import Vocabulary

extension HTTPRequestHead {
    /// Takes one from Max-Forwards (RFC 9110 section 7.6.2), which counts for OPTIONS and TRACE alone.
    ///
    /// - Returns: the proxy's own answer if the request goes no further.
    mutating func takeForward() -> Refusal? {
        guard method == .OPTIONS || method == .TRACE else { return nil }
        let fields = headers["max-forwards"]
        guard let field = fields.first else { return nil }
        guard fields.count == 1, let left = field.decimalNumber(digits: 18) else {
            return Refusal(status: .badRequest, text: "Max-Forwards is not a number.")
        }
        guard left > 0 else {
            guard method == .OPTIONS else {
                return Refusal(status: .methodNotAllowed, text: "The proxy does not answer TRACE itself.")
            }
            var answer = Refusal(status: .ok, text: "A forward proxy: absolute http URLs, and CONNECT.")
            answer.proxyStatus = ""
            return answer
        }
        headers.replaceOrAdd(name: "max-forwards", value: String(left - 1))
        return nil
    }
}
