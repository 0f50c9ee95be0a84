// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceCheckBits
package import HTTPService
import TrustStores
import TrustTokens
package import Vocabulary

extension Problem {
    /// A refusal or fault with the status, title and advice of its code.
    package init(_ code: Code, retryAfterSeconds: Int? = nil, evidence: String = "") {
        self.init(
            code, as: ProblemTable.entry(for: code), retryAfterSeconds: retryAfterSeconds, evidence: evidence)
    }

    /// What a caller sees of any error. Whatever is not known here is a failure of the service, without details.
    package init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let malformed as MalformedInput: self.init(malformed.code, evidence: malformed.description)
        case let fault as StoreFault: self.init(fault)
        case let fault as DeviceCheckFault: self.init(fault)
        default: self.init(.internalError, evidence: "\(type(of: error))")
        }
    }

    private init(_ fault: StoreFault) {
        let seconds = fault.retryAfter.map { max(1, Int(($0 / .seconds(1)).rounded(.up))) }
        self.init(.storeUnavailable, retryAfterSeconds: seconds, evidence: fault.description)
    }

    private init(_ fault: DeviceCheckFault) {
        switch fault.code {
        case .deviceTokenInvalid: self.init(.deviceTokenInvalid, evidence: fault.reason)
        case .devicecheckTransactionInvalid: self.init(.requestMalformed, evidence: fault.reason)
        default:
            var seconds: Int?
            if case .later(let wait?) = fault.advice { seconds = max(1, wait) }
            self.init(.appleUnavailable, retryAfterSeconds: seconds, evidence: "\(fault.code): \(fault.reason)")
        }
    }
}

extension CompactToken {
    /// The token, or the refusal of a caller that sent something else.
    ///
    /// - Throws: ``Problem`` `token.invalid`.
    static func read(_ token: String, algorithm: String) throws(Problem) -> CompactToken {
        do throws(UnreadableToken) {
            return try CompactToken(token, algorithm: algorithm)
        } catch {
            throw Problem(.tokenInvalid, evidence: error.reason)
        }
    }
}
