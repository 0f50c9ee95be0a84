// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSProbe

/// What clients may share that differ in policy, pinned address and timeouts alone: TLS contexts, names, and the chains that were judged.
package struct ConnectionMaterial: Sendable {
    let contexts = TLSOffer.Contexts()
    /// What is known about chains; whoever saw one before the client does may have it remembered here.
    package let chains: RememberingChains

    /// Where names are looked up, with the overrides of all who share it: a client's own configuration adds none.
    let resolver: NameResolver

    package init(chains: RememberingChains, resolver: NameResolver) {
        self.chains = chains
        self.resolver = resolver
    }
}
