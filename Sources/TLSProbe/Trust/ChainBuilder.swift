// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import TLSModel

/// Builds the path from a presented chain to a root: in whatever order the server sent it, with duplicates, cross-signed
/// certificates and gaps.
///
/// Dates and the server's name are not judged; of several complete paths the first is taken against which nothing speaks: what RFC 5280
/// asks of paths, weak keys and hashes, and the dates at the given instant.
public struct ChainBuilder: Sendable {
    /// Bounds of the search. A chain of the web has at most five certificates; the figures leave room for odd ones.
    package struct Limits: Sendable {
        /// Certificates on a path, the anchor not counted.
        package var pathLength = 10
        /// Signatures checked for one chain: cross-signed chains need under ten.
        package var signatureChecks = 128
        /// Issuers tried in one round of the search; there are at most four rounds.
        package var steps = 1024
        /// Presented certificates that are looked at; the rest are counted as unparsed. Apple's trust evaluation sorted 36 in one message.
        package var presented = 64
        /// Intermediates fetched for one chain.
        package var fetches = 3

        package init() {}
    }

    package let anchors: TrustAnchors
    /// Fetches missing intermediates; nil fetches none.
    package let fetcher: (any IntermediateFetcher)?
    package var limits = Limits()

    /// Builds chains to these anchors; without a fetcher it stays off the network.
    public init(anchors: TrustAnchors, fetcher: (any IntermediateFetcher)? = nil) {
        self.anchors = anchors
        self.fetcher = fetcher
    }

    /// - Parameters:
    ///   - presented: DER certificates as the server sent them, leaf first.
    ///   - instant: decides only between several complete paths.
    ///   - scope: the addresses that intermediates may be fetched from.
    public func build(
        presented: [[UInt8]], at instant: Date? = nil, fetchingWithin scope: FetchScope = .publicAddresses
    ) async -> ChainFacts {
        let parsed: [CertificateFacts?] = presented.prefix(limits.presented).enumerated().map { index, der in
            index == 0 ? try? CertificateFacts(decoding: der) : anchors.issuer(der)
        }
        let certificates = parsed.compactMap { $0 }
        let unparsed = presented.count - certificates.count
        // Without a readable leaf there is nothing whose issuer could be looked for.
        guard let leaf = parsed.first ?? nil else {
            return ChainFacts(presented: certificates, unparsed: unparsed, path: .unanchored([]))
        }
        var fetched: [FetchedCertificate] = []
        var tried: Set<String> = []
        while true {
            var search = PathSearch(
                leaf: leaf, others: certificates.dropFirst() + fetched.map(\.certificate), anchors, limits,
                preferringValidAt: instant)
            let result = search.run()
            guard case .unanchored(let partial) = result.path, let tip = partial.last,
                let found = await fetch(above: tip, &tried, scope)
            else {
                var facts = ChainFacts(presented: certificates, unparsed: unparsed, path: result.path)
                facts.fetched = fetched
                facts.violations = result.violations
                return facts
            }
            fetched.append(found)
        }
    }

    /// The issuer of `tip` from its caIssuers addresses; nil if there is none, or the bounds are reached.
    private func fetch(
        above tip: CertificateFacts, _ tried: inout Set<String>, _ scope: FetchScope
    ) async -> FetchedCertificate? {
        guard let fetcher, !tip.isSelfIssued else { return nil }
        let wanted = DistinguishedName.comparisonKey(tip.issuerDER)
        for address in tip.issuerAddresses where tried.count < limits.fetches && tried.insert(address).inserted {
            let bodies = await fetcher.certificates(at: address, within: scope)
            for der in bodies.prefix(8) {
                guard let certificate = try? CertificateFacts(decoding: der), certificate.der != tip.der,
                    DistinguishedName.comparisonKey(certificate.subjectDER) == wanted
                else { continue }
                return FetchedCertificate(address: address, certificate: certificate)
            }
        }
        return nil
    }
}
