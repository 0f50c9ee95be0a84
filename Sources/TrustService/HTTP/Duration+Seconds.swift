// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// The length in seconds, fractions included.
    package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
