// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel
import TLSProbe

/// Which hellos are sent to learn the outcome of all offers: all of them, or as few as decide the rest.
package struct HelloPlan: Sendable {
    package let offers: [Offer]
    package let isExhaustive: Bool

    /// - Parameter ask: sends one hello; nil when the time is over.
    package func run(_ ask: (Offer) async -> HandshakeOutcome?) async -> HostEvidence {
        var evidence = HostEvidence()
        for group in groups {
            var plan = AdaptivePlan(
                questions: group.map(\.question), maximumVersion: group.first?.maximum ?? .tls13,
                exhaustive: isExhaustive)
            while let index = plan.next {
                guard let outcome = await ask(group[index]) else { break }
                plan.record(outcome, for: index)
            }
            for index in group.indices { evidence.outcomes[group[index]] = plan.answer(index)?.outcome }
            evidence.hellos += plan.hellosSent
        }
        return evidence
    }

    /// Offers that differ in version floor and suites alone decide one another; those with other groups or signature schemes do not.
    private var groups: [[Offer]] {
        var groups: [[Offer]] = []
        for offer in offers {
            if let index = groups.firstIndex(where: { $0.first.map(offer.isComparable) == true }) {
                groups[index].append(offer)
            } else {
                groups.append([offer])
            }
        }
        return groups
    }
}

extension Offer {
    /// Whether what is learned with one of two hellos says something about the other.
    func isComparable(to other: Offer) -> Bool {
        maximum == other.maximum && groups == other.groups && keyShareGroups == other.keyShareGroups
            && signatureSchemes == other.signatureSchemes && layout == other.layout
    }
}
