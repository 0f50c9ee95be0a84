// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import DeviceCheckBits
import Findings

/// The client of DeviceCheck that counts now, and what the two bits mean.
struct DeviceBits: Sendable {
    let live: LiveBook
    let bits: [Configuration.Bit]

    /// How often a bit is written that somebody else writes over.
    static let attempts = 3
    /// Somebody wrote over it each time.
    static let overwritten = Problem(
        .appleUnavailable, retryAfterSeconds: 5, evidence: "somebody else has written over the bits each time")

    func client(environment: String) throws(Problem) -> DeviceCheckClient {
        guard let apple = live.current.apple else {
            throw Problem(.appleUnavailable, retryAfterSeconds: 60, evidence: "no Apple account is configured")
        }
        return apple.deviceCheck(environment: environment)
    }

    func registry() throws(Problem) -> BitRegistry {
        let meanings = bits.map {
            BitMeaning(bit: $0.bit == 0 ? .zero : .one, name: $0.name, resetAfterMonths: $0.resetAfterMonths)
        }
        do {
            return try BitRegistry(meanings)
        } catch {
            throw Problem(.internalError, evidence: error.description)
        }
    }

    /// The rule of the promotion that a path names.
    func rule(_ call: Call) throws(Problem) -> PromotionRule {
        guard let name = call.parameters["name"], let rule = PromotionRule(name, in: try registry()) else {
            throw Problem(.promotionUnknown)
        }
        return rule
    }
}
