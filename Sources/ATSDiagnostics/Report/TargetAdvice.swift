// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import Vocabulary

/// Why a target does not load, and what would change that: once for all systems on which the same helps.
package struct TargetAdvice: Sendable {
    /// Where it is so; empty if one system alone was asked for.
    package private(set) var systems: [OSProfile]
    /// Why, first cause first; where systems say it differently, what each says.
    package private(set) var because: [Cause]
    /// What to do outside of the dictionary: the remedy of the cause that decides, then those of the others.
    package let fixes: [String]
    /// What would change the dictionary for the better.
    package let proposal: DictionaryProposal?
    /// The same in words, or that no exception helps; nil if that is not known.
    package let alternative: String?

    fileprivate init?(
        _ systems: [OSProfile], _ decisive: ConfigurationResult?, _ proposal: DictionaryProposal?, behind: Cause?
    ) {
        guard let decisive, decisive.result != .pass else { return nil }
        var fixes: [String] = []
        for cause in decisive.because where cause.code != .trustNeedsDelegate || fixes.isEmpty {
            guard let fix = Remediation(for: cause)?.server, !fixes.contains(fix) else { continue }
            fixes.append(fix)
        }
        let behind = behind.map {
            ": if the app's own code accepts the certificate, the load fails all the same (\($0))"
        }
        self.systems = systems
        because = decisive.because
        self.fixes = fixes
        self.proposal = proposal
        alternative =
            proposal?.sentence(after: decisive.because)
            ?? (decisive.result == .fail ? "no exception helps\(behind ?? "")" : nil)
    }

    /// Takes in the same of another system; false if something else helps there.
    fileprivate mutating func take(_ other: TargetAdvice) -> Bool {
        guard fixes == other.fixes, proposal == other.proposal, alternative == other.alternative else { return false }
        for cause in other.because {
            let general = TargetAdvice.general(cause, other.systems)
            let names = systems
            let same = because.firstIndex {
                TargetAdvice.general($0, names).description == general.description
            }
            guard let same else {
                because.append(cause)
                continue
            }
            if because[same].description != cause.description { because[same] = general }
        }
        systems += other.systems
        return true
    }

    /// A cause without the names of systems, which stand above it.
    private static func general(_ cause: Cause, _ systems: [OSProfile]) -> Cause {
        let names = systems.map(\.name).sorted { $0.utf8.count > $1.utf8.count }
        let message = names.reduce(cause.message) { $0.replacing($1, with: "the system") }
        if message.hasSameBytes(as: cause.message) { return cause }
        return cause.saying(message.hasPrefix("the system") ? "The" + message.dropFirst(3) : message)
    }
}

extension TargetReport {
    /// What is to be said of each system on which the target does not load; empty if it loads on all of them.
    package var advice: [TargetAdvice] {
        guard !systems.isEmpty else {
            return TargetAdvice([], decisive, proposal, behind: causeBehindCertificate).map { [$0] } ?? []
        }
        var all: [TargetAdvice] = []
        for system in systems {
            guard
                let advice = TargetAdvice(
                    [system.profile], system.decisive, system.proposal, behind: system.causeBehindCertificate),
                !all.indices.contains(where: { all[$0].take(advice) })
            else { continue }
            all.append(advice)
        }
        return all
    }
}
