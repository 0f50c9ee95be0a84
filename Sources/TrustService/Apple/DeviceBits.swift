// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import DeviceCheckBits
import Findings

/// The client of DeviceCheck that counts now, and what the two bits mean.
struct DeviceBits: Sendable {
    let live: LiveBook
    let bits: [Configuration.Bit]

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
