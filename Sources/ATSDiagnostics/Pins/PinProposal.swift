// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import TLSModel

/// The pins of one chain: its leaf with a spare key, and the authorities above it.
///
/// Apple asks for both lists where both are there. So the leaf is listed only with a spare key: the next key is then known to every installed app.
package struct PinProposal: Sendable {
    /// Why a chain yields no pins that are safe to ship.
    package enum Fault: Error, Equatable {
        case noCertificate
        /// A single key would be pinned: when it changes, every installed app is locked out.
        case singleKey
        /// A spare key is the key of the leaf.
        case spareIsInUse
    }

    /// SHA-256 of the SubjectPublicKeyInfo of the leaf and of the spare keys; nil without a spare key.
    package let leaves: [[UInt8]]?
    /// The same for each authority of the path, the issuer of the leaf first; nil if the path shows none.
    package let authorities: [[UInt8]]?

    /// Chooses the pins.
    ///
    /// - Parameter spares: SHA-256 of the SubjectPublicKeyInfo of keys that are kept off the server.
    package init(_ chain: ChainFacts, spares: [[UInt8]]) throws(Fault) {
        guard let leaf = chain.judged.first else { throw .noCertificate }
        let key = leaf.publicKey.sha256
        guard !spares.contains(key) else { throw .spareIsInUse }
        var above: [[UInt8]] = []
        let path =
            chain.judged.dropFirst() + [chain.anchor?.certificate].compactMap(\.self).filter { $0.der != leaf.der }
        for certificate in path where !above.contains(certificate.publicKey.sha256) {
            above.append(certificate.publicKey.sha256)
        }
        guard !spares.isEmpty || above.count > 1 else { throw .singleKey }
        var listed: [[UInt8]] = []
        for pin in [key] + spares where !listed.contains(pin) { listed.append(pin) }
        leaves = spares.isEmpty ? nil : listed
        authorities = above.isEmpty ? nil : above
    }

    /// The entry of a host; `*.example.com` becomes `example.com` with its subdomains.
    package func entry(for name: String) -> PinnedDomain {
        let isWildcard = name.utf8.starts(with: [0x2A, 0x2E])
        return PinnedDomain(
            domain: isWildcard ? String(name.dropFirst(2)) : name, includesSubdomains: isWildcard,
            authorities: authorities, leaves: leaves)
    }
}
