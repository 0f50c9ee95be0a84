// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel

/// The systems that an app runs on, one for each way in which releases decide about a dictionary.
package struct AppSystems: Sendable {
    /// One release of each era, oldest first, with the app's SDK. Without a minimum system all of them.
    package let profiles: [OSProfile]
    /// The eras that the app supports, as indices of ``profiles``. Without a minimum system those since addresses may be keys.
    package let supported: Range<Int>
    private let names: [String]

    /// The eras from a minimum system on.
    ///
    /// - Parameters:
    ///   - minimum: the family, `ios` or `macos`, and the number of the oldest release that the app runs on; nil if that is not known.
    ///   - sdk: the SDK that the app is linked on; nil for the SDK of each release.
    package init(from minimum: (family: String, major: Int, minor: Int)?, sdk: LinkedSDK?) {
        let eras = AppSystems.eras(of: sdk)
        let first = minimum.map { minimum in
            eras.lastIndex { era in
                era.first.contains { profile in
                    guard profile.id.hasPrefix(minimum.family),
                        let number = ReleaseNumber(profile.id.dropFirst(minimum.family.count))
                    else { return false }
                    return (number.major, number.minor) <= (minimum.major, minimum.minor)
                }
            } ?? 0
        }
        let kept = eras[(first ?? 0)...]
        profiles = kept.map(\.profile)
        names = kept.map { $0.first.map(\.name).joined(separator: " and ") }
        let today = kept.firstIndex { $0.profile.facts.releaseReadsAddressKeys.value } ?? 0
        supported = first == nil ? today..<kept.count : 0..<kept.count
    }

    /// The eras in which something holds, as the end of a clause: nothing if it holds in all, else for example ` since iOS 17 and macOS 14`.
    ///
    /// - Returns: nil if it holds in none.
    package func words(_ holds: [Bool]) -> String? {
        guard holds.contains(true), holds.count == names.count else { return nil }
        var runs: [String] = []
        var start = 0
        while let begin = holds[start...].firstIndex(of: true) {
            let end = holds[begin...].firstIndex(of: false) ?? holds.count
            switch (begin, end) {
            case (0, holds.count): return ""
            case (0, _): runs.append("before \(names[end])")
            case (_, holds.count): runs.append("since \(names[begin])")
            default: runs.append("from \(names[begin]) to before \(names[end])")
            }
            start = end
        }
        return " " + runs.joined(separator: " and ")
    }

    /// Whether something holds in an era that the app supports.
    package func someSupported(_ holds: [Bool]) -> Bool {
        supported.contains { holds.indices.contains($0) && holds[$0] }
    }

    /// Whether something holds in all eras that the app supports.
    package func allSupported(_ holds: [Bool]) -> Bool {
        supported.allSatisfy { holds.indices.contains($0) && holds[$0] }
    }

    private struct Era {
        let profile: OSProfile
        var first: [OSProfile]
        let rules: Rules
    }

    /// What decides about a dictionary.
    private struct Rules: Equatable {
        let flags: [Bool]
        let versions: [TLSVersion]
        let local: SystemFacts.LocalRule

        init(_ profile: OSProfile) {
            let facts = profile.facts
            flags = [
                facts.obeysOnlyArbitraryLoads.value, facts.readsLegacyKeys.value,
                facts.readsLegacyKeys.basis == .unknown, profile.readsAddressKeys.value, facts.readsPins.value,
                facts.readsHardening.value, facts.readsTransparencyKey.value, facts.supportsTLS13Minimum.value,
                facts.forwardSecrecyOffDropsKeySize.value, facts.builtInExceptions.value.isEmpty,
                profile.hasTransportSecurity,
            ]
            versions = [profile.maximumVersion, profile.stackMinimum.value]
            local = profile.localRule.value
        }
    }

    private static func eras(of sdk: LinkedSDK?) -> [Era] {
        var eras: [Era] = []
        for profile in OSProfile.known {
            let linked = sdk.map(profile.linked) ?? profile
            let rules = Rules(linked)
            let family = profile.id.prefix { $0.isLetter }
            guard let known = eras.firstIndex(where: { $0.rules == rules }) else {
                eras.append(Era(profile: linked, first: [profile], rules: rules))
                continue
            }
            if !eras[known].first.contains(where: { $0.id.hasPrefix(family) }) { eras[known].first.append(profile) }
        }
        return eras
    }
}
