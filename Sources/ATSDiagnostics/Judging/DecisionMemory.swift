// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
import Findings
import Synchronization

/// What a policy asks of one place, as far as a judge needs it.
package final class PlaceDecision: Sendable {
    let isBlocked: Bool
    let error: URLLoadError?
    /// What blocks; empty where nothing does.
    let because: [Cause]
    let notes: [Cause]
    let requirements: TransportRequirements
    let offer: Offer

    init(_ decision: URLDecision) {
        isBlocked = decision.verdict == .blocked
        error = decision.error
        because = decision.because.onlyContract
        notes = decision.because.onlyNotes
        requirements = decision.requirements
        offer = Offer(decision.requirements)
    }
}

/// Remembers what the dictionaries of a diagnosis decide, because they are the same for every target but for the name of the host.
///
/// It holds for hosts that no rule singles out, and for dictionaries of a known shape: empty, NSAllowsArbitraryLoads alone, or one entry for
/// the host itself. Everything else is decided anew.
package final class DecisionMemory: Sendable {
    package let profile: OSProfile
    private let decisions = Mutex<[DictionaryShape: PlaceDecision]>([:])
    private let usualOffers = Mutex<[Offer]?>(nil)

    package init(profile: OSProfile) { self.profile = profile }

    func decision(_ dictionary: PropertyListValue, _ place: LoadURL) -> PlaceDecision {
        guard profile.treatsAsAnyOther(place), let shape = DictionaryShape(dictionary, host: place.host) else {
            return decideAnew(dictionary, place)
        }
        if let known = decisions.withLock({ $0[shape] }) { return known }
        let decision = decideAnew(dictionary, place)
        // Entries for one host have few shapes: four versions, two flags, present or not.
        decisions.withLock { $0[shape] = decision }
        return decision
    }

    private func decideAnew(_ dictionary: PropertyListValue, _ place: LoadURL) -> PlaceDecision {
        PlaceDecision(ATSPolicy(dictionary: ATSDictionary(dictionary), profile: profile).decide(place))
    }

    /// Every offer that the configurations and the search for the smallest exception need of one server, the default one's first.
    ///
    /// - Parameter app: the app's own dictionary.
    package func offers(for place: LoadURL, configurations: [PropertyListValue], app: PropertyListValue?) -> [Offer] {
        guard profile.treatsAsAnyOther(place) else {
            let candidates = ExceptionCandidates.dictionaries(host: place.host)
            return distinctOffers(configurations + (app.map { [$0] } ?? []) + candidates, place)
        }
        let usual =
            usualOffers.withLock { $0 }
            ?? distinctOffers(configurations + ExceptionCandidates.dictionaries(host: place.host), place)
        usualOffers.withLock { $0 = usual }
        guard let app else { return usual }
        let own = decision(app, place).offer
        return usual.contains(own) ? usual : usual + [own]
    }

    func distinctOffers(_ dictionaries: [PropertyListValue], _ place: LoadURL) -> [Offer] {
        var offers: [Offer] = []
        for dictionary in dictionaries {
            let offer = decision(dictionary, place).offer
            if !offers.contains(offer) { offers.append(offer) }
        }
        return offers
    }
}

/// A dictionary without the name of the host that its only entry is for.
private struct DictionaryShape: Hashable {
    private var allowsEverything = false
    private var minimumVersion: String?
    private var forwardSecrecy: Bool?
    private var insecureLoads: Bool?

    /// Nil where the dictionary has any other shape.
    init?(_ dictionary: PropertyListValue, host: String) {
        guard case .dictionary(let members) = dictionary else { return nil }
        guard let (key, value) = members.first else { return }
        guard members.count == 1 else { return nil }
        if key == ATSKey.arbitraryLoads, value == .boolean(true) {
            allowsEverything = true
            return
        }
        guard key == ATSKey.exceptionDomains, case .dictionary(let hosts) = value, hosts.count == 1,
            case .dictionary(let entry)? = hosts[host]
        else { return nil }
        for (key, value) in entry {
            switch (key, value) {
            case (ATSKey.minimumTLSVersion, .string(let text)) where DictionaryShape.versions.contains(text):
                minimumVersion = text
            case (ATSKey.forwardSecrecy, .boolean(let flag)): forwardSecrecy = flag
            case (ATSKey.insecureHTTPLoads, .boolean(let flag)): insecureLoads = flag
            default: return nil
            }
        }
        // An entry without keys decides more than no entry does.
        if entry.isEmpty { forwardSecrecy = true }
    }

    /// Any other text is remarked upon, with the name of the host.
    private static let versions = ["TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"]
}

extension [Cause] {
    /// Without the causes that only name the rule which decided; `because` of a report holds what failed.
    var onlyContract: [Cause] {
        filter { !$0.code.rawValue.hasPrefix("ats.rule.") && !$0.code.rawValue.hasPrefix("ats.note.") }
    }

    /// What is worth knowing about the decision and fails nothing.
    var onlyNotes: [Cause] { filter { $0.code.rawValue.hasPrefix("ats.note.") } }
}
