// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import PropertyLists
import Vocabulary

/// The App Attest entitlement of an app, as its code signature claims it or, where that cannot be read, as its embedded
/// profile grants it.
package struct AttestEntitlement: Sendable, Equatable {
    /// `development` or `production`; nil if App Attest is not among the entitlements.
    package let environment: String?
    /// The team's prefix and the bundle identifier, as App Attest hashes them.
    package let applicationIdentifier: String?
    package let teamIdentifier: String?
    /// Where it was read.
    package let source: String

    /// The most bytes of a claim that are kept; a bundle identifier has at most 155.
    private static let textBytes = 256

    /// - Parameter team: taken where the entitlements name none.
    init(entitlements: PlistNode, team: String?, source: String) {
        let environments = entitlements["com.apple.developer.devicecheck.appattest-environment"]
        let listed = environments?.elements?.prefix(8).compactMap { $0.string?.prefix(bytes: Self.textBytes) }
        environment = environments?.string?.prefix(bytes: Self.textBytes) ?? listed?.joined(separator: ", ")
        applicationIdentifier =
            (entitlements["application-identifier"]?.string
            ?? entitlements["com.apple.application-identifier"]?.string)?.prefix(bytes: Self.textBytes)
        teamIdentifier =
            (entitlements["com.apple.developer.team-identifier"]?.string ?? team)?.prefix(bytes: Self.textBytes)
        self.source = source
    }
}

/// Reads what a provisioning profile grants. The signature around it is not verified: these are claims of the file.
package enum ProvisioningProfile {
    static let name = "embedded.mobileprovision"
    static let limit = 4 << 20

    /// Finds the property list inside the signed message and reads the entitlements.
    package static func entitlement(_ bytes: [UInt8], source: String) -> AttestEntitlement? {
        guard let start = bytes.firstRange(of: "<?xml".utf8)?.lowerBound,
            let end = bytes[start...].firstRange(of: "</plist>".utf8)?.upperBound,
            let document = try? PlistReader.read(Array(bytes[start..<end]), values: ReadingLimits.claimValues),
            let grants = document.root["Entitlements"]
        else { return nil }
        return AttestEntitlement(
            entitlements: grants, team: document.root["TeamIdentifier"]?.elements?.first?.string, source: source)
    }
}
