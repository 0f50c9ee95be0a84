// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What clients may share that differ in policy, addresses and timeouts alone: TLS contexts and the chains that were judged.
package struct ConnectionMaterial: Sendable {
    let contexts = TLSOffer.Contexts()
    /// What is known of chains; whoever saw one before the client does may have it remembered here.
    package let chains: RememberingChains

    package init(chains: RememberingChains) { self.chains = chains }
}
