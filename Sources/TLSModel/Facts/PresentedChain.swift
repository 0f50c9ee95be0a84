// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The certificates that a server presented, as the key of a table.
///
/// Equality compares every byte; the hash looks at the end of the leaf alone, which is its signature and differs for every
/// certificate, so that looking a chain up costs no pass over kilobytes.
package struct PresentedChain: Hashable, Sendable {
    /// DER, leaf first.
    package let certificates: [[UInt8]]

    package init(_ certificates: [[UInt8]]) { self.certificates = certificates }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(certificates.count)
        guard let leaf = certificates.first else { return }
        hasher.combine(leaf.count)
        hasher.combine(leaf.suffix(16))
    }
}
