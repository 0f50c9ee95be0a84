// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
package import AppTransportSecurity
import TLSModel
package import TLSProbe

extension HostEvidence {
    /// Sends the hellos from which the outcome of every offer is known: all of them, or as few as decide the rest.
    ///
    /// - Parameter ask: sends one hello; nil when the time is over.
    init(offers: [HelloOffer], isExhaustive: Bool, ask: (HelloOffer) async -> HandshakeOutcome?) async {
        self.init()
        for group in HelloOffer.comparable(offers) {
            var plan = AdaptivePlan(
                questions: group.map { HelloQuestion(minimumVersion: $0.minimumVersion, suites: $0.suites) },
                maximumVersion: group.first?.maximumVersion ?? .tls13,
                exhaustive: isExhaustive)
            while let index = plan.next {
                guard let outcome = await ask(group[index]) else { break }
                plan.record(outcome, for: index)
            }
            for index in group.indices { outcomes[group[index]] = plan.answer(index)?.outcome }
            hellos += plan.hellosSent
        }
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

    /// Offers that differ in version floor and suites alone decide one another; those with other groups or signature schemes do not.
    fileprivate static func comparable(_ offers: [HelloOffer]) -> [[HelloOffer]] {
        offers.reduce(into: []) { groups, offer in
            if let index = groups.firstIndex(where: { $0.first.map(offer.isComparable) == true }) {
                groups[index].append(offer)
            } else {
                groups.append([offer])
            }
        }
    }

    /// Whether what is learned with one of two hellos says something about the other.
    func isComparable(to other: HelloOffer) -> Bool {
        maximumVersion == other.maximumVersion && groups == other.groups && keyShareGroups == other.keyShareGroups
            && signatureSchemes == other.signatureSchemes && layout == other.layout
    }
}
