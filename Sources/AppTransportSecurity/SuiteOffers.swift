// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import TLSModel

/// The cipher suites that the clients of one system offer under each policy, TLS 1.3 first, in the order of the hello.
struct SuiteOffers: Sendable {
    private struct Offer: Sendable {
        let plain: [CipherSuite]
        let hardened: [CipherSuite]

        init(_ modern: [CipherSuite], _ suites: [CipherSuite]) {
            plain = modern + suites
            hardened = modern + suites.filter(SuiteLists.hardened.contains)
        }
    }

    private let ats: Offer
    private let atsPlusRSA: Offer
    private let system: Offer

    init(_ facts: SystemFacts.Table) {
        let modern = facts.hello.value.tls13Suites
        let (secret, rsa) = (facts.forwardSecretSuites.value, facts.rsaSuites.value)
        let all = facts.unrestrictedSuites.value
        ats = Offer(modern, all.filter(secret.contains))
        atsPlusRSA = Offer(modern, all.filter { secret.contains($0) || rsa.contains($0) })
        system = Offer(modern, all)
    }

    func suites(_ policy: TransportRequirements.SuitePolicy, isHardened: Bool) -> [CipherSuite] {
        let offer =
            switch policy {
            case .ats: ats
            case .atsPlusRSA: atsPlusRSA
            case .system: system
            }
        return isHardened ? offer.hardened : offer.plain
    }
}
