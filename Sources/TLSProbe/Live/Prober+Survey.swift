// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import NIOCore
import TLSFacts

extension Prober {
    /// Runs a plan to its end against one server. All hellos go to the address that the first one reached.
    ///
    /// - Parameters:
    ///   - plan: what to ask; comes back with its answers.
    ///   - template: what all hellos have in common; its suites give the order.
    ///   - timeout: for each hello.
    /// - Returns: the plan, and the address that answered.
    public func survey(
        _ plan: AdaptivePlan,
        template: HelloOffer,
        addresses: [SocketAddress],
        connectTimeout: Duration = .seconds(5),
        timeout: Duration = .seconds(10)
    ) async -> (plan: AdaptivePlan, address: SocketAddress?) {
        var plan = plan
        var addresses = addresses
        var reached: SocketAddress?
        while let index = plan.next, !Task.isCancelled {
            let (outcome, address) = await probe(
                plan.questions[index].offer(template),
                addresses: addresses,
                connectTimeout: connectTimeout,
                timeout: timeout
            )
            plan.record(outcome, for: index)
            if reached == nil, let address {
                reached = address
                addresses = [address]
            }
        }
        return (plan, reached)
    }
}
