// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel
import Vocabulary

/// What a dictionary does to one load on one system. Two that are equal end every load alike, whatever the server.
package struct LoadEffect: Sendable, Equatable {
    package let verdict: URLDecision.Verdict
    /// Which kind of rule decided; not part of the comparison.
    package let source: DecidingRule.Source
    private let requirements: TransportRequirements

    package init(_ decision: URLDecision) {
        verdict = decision.verdict
        source = decision.rule.source
        requirements = decision.requirements
    }

    package var minimum: TLSVersion { requirements.effectiveMinimum }
    package var suites: TransportRequirements.SuitePolicy { requirements.suitePolicy }
    package var trust: TransportRequirements.ServerTrust { requirements.serverTrust }
    package var isHardened: Bool { requirements.isHardened }
    package var pins: PinSet? { requirements.pins }

    package static func == (left: LoadEffect, right: LoadEffect) -> Bool {
        left.permitsAsMuch(as: right) && right.permitsAsMuch(as: left)
    }

    /// Whether the load may go ahead over cleartext, or be tried over TLS.
    package var isPermitted: Bool { verdict != .blocked }

    /// Whether RSA key exchange may be negotiated.
    package var offersRSAKeyExchange: Bool { suites != .ats && !isHardened && minimum < .tls13 }

    /// Whether every load that the other permits is permitted too, whatever the server.
    package func permitsAsMuch(as other: LoadEffect) -> Bool {
        let (own, others) = (requirements, other.requirements)
        return (isPermitted || !other.isPermitted) && minimum <= other.minimum && suites.rank >= other.suites.rank
            && (trust == .default || other.trust == .ats) && (own.delegateMayAccept || !others.delegateMayAccept)
            && (!own.judgesKeySize || others.judgesKeySize) && (!isHardened || other.isHardened)
            && (!own.entryRequiresTransparency || others.entryRequiresTransparency)
            && PinSet.accepts(pins, asMuchAs: other.pins)
    }
}

extension TransportRequirements.SuitePolicy {
    /// The more suites, the higher.
    package var rank: Int {
        switch self {
        case .ats: 0
        case .atsPlusRSA: 1
        case .system: 2
        }
    }
}

extension PinSet {
    /// Whether pins accept every chain that others accept; nil accepts all.
    package static func accepts(_ pins: PinSet?, asMuchAs other: PinSet?) -> Bool {
        func accepts(_ list: Set<[UInt8]>?, _ other: Set<[UInt8]>?) -> Bool {
            guard let list else { return true }
            guard let other else { return false }
            return other.isSubset(of: list)
        }
        return accepts(pins?.authorities, other?.authorities) && accepts(pins?.leaves, other?.leaves)
    }
}

/// The part of a dictionary that can decide about some loads, on the systems of an app: what ``ATSPolicy`` answers, era by era.
package struct LoadScope: Sendable {
    /// The dictionary, without entries that cannot decide.
    package let dictionary: ATSDictionary
    private let systems: AppSystems
    private let policies: [ATSPolicy]

    init(_ dictionary: ATSDictionary, _ systems: AppSystems) {
        self.dictionary = dictionary
        self.systems = systems
        policies = systems.profiles.map { ATSPolicy(dictionary: dictionary, profile: $0) }
    }

    package func effects(_ url: LoadURL, loader: Loader = .urlsession) -> [LoadEffect] {
        policies.map { LoadEffect($0.decide(url, loader: loader)) }
    }

    /// In which eras an entry of NSExceptionDomains decides about a load.
    package func decides(_ key: String, _ url: LoadURL) -> [Bool] {
        policies.map { policy in
            let rule = policy.decide(url).rule
            return rule.source == .exception && rule.key?.hasSameBytes(as: "\(ATSKey.exceptionDomains).\(key)") == true
        }
    }

    package func changing(_ change: (inout ATSDictionary) -> Void) -> LoadScope {
        var changed = dictionary
        change(&changed)
        return LoadScope(changed, systems)
    }
}

/// Takes the part out of a dictionary that can decide about a load, whatever the size of the rest.
package struct LoadScopes: Sendable {
    private let dictionary: ATSDictionary
    package let systems: AppSystems
    private let exceptions: ExceptionKeys
    private let pins: [UTF8Key: [PinnedDomain]]

    package init(_ dictionary: ATSDictionary, _ systems: AppSystems) {
        self.dictionary = dictionary
        self.systems = systems
        exceptions = ExceptionKeys(dictionary)
        pins = Dictionary(grouping: dictionary.pinnedDomains) { UTF8Key($0.domain) }
    }

    /// What decides about these loads; of none, what decides about every host without an entry.
    package func about(_ urls: [LoadURL]) -> LoadScope {
        var part = ATSDictionary()
        for (_, path) in ATSDictionary.flags { part[keyPath: path] = dictionary[keyPath: path] }
        part.hardening = dictionary.hardening
        var names: Set<UTF8Key> = []
        for url in urls {
            for key in exceptions.about(url) { part.exceptions[key] = dictionary.exceptions[key] }
            for name in url.host.lowercased().selfAndParents.prefix(2) {
                names.insert(UTF8Key(name.utf8.last == 0x2E ? String(name.dropLast()) : name))
            }
        }
        part.pinnedDomains = names.sorted().flatMap { pins[$0] ?? [] }
        return LoadScope(part, systems)
    }
}
