// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
package import AppTransportSecurity
package import TLSProbe
import Vocabulary

/// What a policy asks of one place, as far as a judge needs it.
struct PlaceDecision: Sendable {
    let isBlocked: Bool
    let error: URLLoadError?
    /// What blocks; empty if nothing does.
    let because: [Cause]
    let notes: [Cause]
    let requirements: TransportRequirements
    let offer: HelloOffer

    init(_ dictionary: ATSDictionary, _ profile: OSProfile, _ place: LoadURL) {
        let decision = ATSPolicy(dictionary: dictionary, profile: profile).decide(place)
        isBlocked = decision.verdict == .blocked
        error = decision.error
        because = decision.failures
        notes = decision.notes
        requirements = decision.requirements
        offer = HelloOffer(decision.requirements)
    }
}

extension HelloOffer {
    /// What the dictionaries offer to one place on their systems, each offer once, the first dictionary's first.
    package static func distinct(_ dictionaries: [(ATSDictionary, OSProfile)], _ place: LoadURL) -> [HelloOffer] {
        var offers: [HelloOffer] = []
        for (dictionary, profile) in dictionaries {
            for reading in dictionary.readings(on: profile) {
                let policy = ATSPolicy(dictionary: reading, profile: profile)
                let offer = HelloOffer(policy.requirements(for: place))
                if !offers.contains(offer) { offers.append(offer) }
            }
        }
        return offers
    }
}
