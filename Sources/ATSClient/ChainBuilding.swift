// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import TLSModel
package import TLSProbe
import Vocabulary

/// Remembers the facts of chains that were seen, because one server shows the same chain on every connection.
///
/// Only chains that reached an anchor are kept, and only used while every certificate on them is valid: dates are still judged at every use. At
/// most `capacity` chains.
package final class RememberingChains: Sendable {
    private let builder: ChainBuilder
    private let kept = BoundedCache<PresentedChain, ChainFacts>(capacity: RememberingChains.capacity)
    static let capacity = 256

    package init(_ builder: ChainBuilder) { self.builder = builder }

    /// The facts of a chain: remembered, or built.
    package func facts(of presented: [[UInt8]], at instant: Date, fetchingWithin scope: FetchScope) async -> ChainFacts
    {
        let chain = PresentedChain(presented)
        if let facts = kept[chain], facts.judged.allSatisfy({ $0.isValid(at: instant) }) { return facts }
        let facts = await builder.build(presented: presented, at: instant, fetchingWithin: scope)
        if case .anchored = facts.path { kept.keep(facts, for: chain) }
        return facts
    }
}
