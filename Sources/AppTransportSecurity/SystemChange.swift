// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel

/// Since which releases something holds, as the table of profiles has it.
package struct SystemChange: Sendable {
    /// The first release of each family since which it always holds; iOS before macOS.
    package let first: [OSProfile]
    /// The last release of each family before that.
    private let before: [OSProfile]

    private init(_ holds: (SystemFacts) -> Bool) {
        var (first, before): ([OSProfile], [OSProfile]) = ([], [])
        for family in SystemChange.families {
            let releases = OSProfile.known.filter { $0.id.hasPrefix(family) }
            let later = releases.reversed().prefix { holds($0.facts) }
            first += later.last.map { [$0] } ?? []
            before += releases.dropLast(later.count).suffix(1)
        }
        (self.first, self.before) = (first, before)
    }

    /// For people: `iOS 17 and macOS 14`.
    package var names: String { first.map(\.name).joined(separator: " and ") }

    /// The same as a list: `iOS 17, macOS 14`.
    package var list: String { first.map(\.name).joined(separator: ", ") }

    /// Whether a release is older than the change.
    ///
    /// - Parameter family: `ios` or `macos`.
    package func isLater(than release: (major: Int, minor: Int), of family: String) -> Bool {
        guard let number = first.lazy.compactMap({ $0.number(in: family) }).first else { return false }
        return release < (number.major, number.minor)
    }

    /// The last release of a family before the change; nil if it is older than all of them.
    package func last(of family: String) -> OSProfile? { before.first { $0.id.hasPrefix(family) } }

    private static let families = ["ios", "macos"]
}

extension SystemChange {
    package static let transportSecurity = SystemChange { _ in true }
    /// All global keys are obeyed, not NSAllowsArbitraryLoads alone.
    package static let globalKeys = SystemChange { !$0.obeysOnlyArbitraryLoads.value }
    package static let pins = SystemChange { $0.readsPins.value }
    /// Addresses and ranges are read as keys of exceptions.
    package static let addressKeys = SystemChange { $0.releaseReadsAddressKeys.value }
    /// The network stack speaks TLS 1.2 or later.
    package static let stackMinimum = SystemChange { $0.releaseMinimum.value >= .tls12 }
    /// The keys for NIAP packages are read.
    package static let hardening = SystemChange { $0.readsHardening.value }
    package static let tls13 = SystemChange { $0.supportsTLS13.value }
    package static let tls13Minimum = SystemChange { $0.supportsTLS13Minimum.value }
    /// The evaluator is the one that Apple publishes, which registers exceptions of the system.
    package static let builtInExceptions = SystemChange { !$0.builtInExceptions.value.isEmpty }
    /// NSRequiresCertificateTransparency is not read anymore.
    package static let transparencyKeyEnds = SystemChange { !$0.readsTransparencyKey.value }
}

extension OSProfile {
    /// The number of the release, if it is one of a family.
    fileprivate func number(in family: String) -> ReleaseNumber? {
        id.hasPrefix(family) ? ReleaseNumber(id.dropFirst(family.count)) : nil
    }
}
