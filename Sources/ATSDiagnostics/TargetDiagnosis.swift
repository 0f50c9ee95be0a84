// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import Findings
package import Foundation
import TLSFacts

/// What answers hellos: the network, or a model of a server in tests.
package protocol ServerProbing: Sendable {
    /// Learns the outcome of every offer, asking as few hellos as the plan allows, and the path of every chain that is presented.
    ///
    /// - Parameters:
    ///   - offers: the default configuration's first.
    ///   - address: where to connect; nil asks the resolver.
    ///   - allowsPrivate: false where a public server led here, so that private addresses are out of bounds.
    func evidence(of endpoint: Endpoint, offers: [Offer], address: String?, allowsPrivate: Bool) async -> HostEvidence

    /// Whether an address is one of a private network or of this machine.
    func isPrivate(_ address: String) -> Bool
}

/// What makes the one real load.
package protocol TargetLoading: Sendable {
    /// Loads a URL under a dictionary, following redirects as far as the dictionary lets.
    func load(_ url: LoadURL, dictionary: PropertyListValue, profile: OSProfile, address: String?) async -> LoadTrace
}

/// A server to check.
public struct CheckTarget: Sendable, Hashable {
    /// Always `https`.
    public let url: LoadURL
    /// Set where one of several addresses is meant.
    public var address: String?

    /// Reads a host, `host:port` or a URL; `http` becomes `https`, as nscurl has it.
    ///
    /// - Throws: `MalformedInput` with code `malformed.url`.
    public init(_ text: String) throws(MalformedInput) {
        var full = text
        if !text.contains("://") {
            let colons = text.prefix { $0 != "/" }.filter { $0 == ":" }.count
            full = "https://" + (colons > 1 && !text.hasPrefix("[") ? "[\(text)]" : text)
        }
        let given = try LoadURL(full)
        let isCleartext = given.scheme == "http" || given.scheme == "ws"
        let port = given.port ?? 443
        url = try LoadURL(
            "https://\(given.bracketedHost):\(isCleartext && port == 80 ? 443 : port)\(given.pathAndQuery)"
        )
        let shown = given.text.drop { $0 != ":" }
        displayURL = "https" + shown
    }

    /// The URL as nscurl shows it: as given, with `https`.
    public let displayURL: String
}

/// Checks one target: hellos, judgement, one load, judgement of every place that the load came to.
package struct TargetDiagnosis: Sendable {
    package let profile: OSProfile
    /// The app's NSAppTransportSecurity dictionary, judged as one more configuration.
    package let appDictionary: PropertyListValue?
    package let probing: any ServerProbing
    /// Nil for `--no-http`.
    package let loading: (any TargetLoading)?
    /// Whether redirects of public servers may lead to private addresses.
    package let allowsPrivate: Bool
    package let instant: Date
    package let logs: CTLogList?
    private let decisions: DecisionMemory

    package init(
        profile: OSProfile,
        appDictionary: PropertyListValue? = nil,
        probing: any ServerProbing,
        loading: (any TargetLoading)? = nil,
        allowsPrivate: Bool = false,
        instant: Date,
        logs: CTLogList? = nil
    ) {
        self.profile = profile
        self.appDictionary = appDictionary
        self.probing = probing
        self.loading = loading
        self.allowsPrivate = allowsPrivate
        self.instant = instant
        self.logs = logs
        decisions = DecisionMemory(profile: profile)
    }

    /// - Parameter clock: measures how long the check took; it decides nothing.
    package func diagnose(_ target: CheckTarget, clock: ContinuousClock = ContinuousClock()) async -> TargetReport {
        let start = clock.now
        let configurations = configurations(of: target)
        let judge = await evidence(of: target, configurations)
        return report(of: target, judge: judge, configurations, elapsed: clock.now - start)
    }

    /// Everything that the network tells about a target.
    package func evidence(of target: CheckTarget) async -> ConfigurationJudge {
        await evidence(of: target, configurations(of: target))
    }

    private func evidence(
        of target: CheckTarget,
        _ configurations: [DiagnosticConfiguration]
    ) async -> ConfigurationJudge {
        let endpoint = Endpoint(target.url)
        let dictionaries = configurations.filter { !$0.isAppDictionary }.map(\.ats)
        let known = await probing.evidence(
            of: endpoint,
            offers: decisions.offers(for: target.url, configurations: dictionaries, app: appDictionary),
            address: target.address,
            allowsPrivate: true
        )
        var judge = ConfigurationJudge(
            target: target.url,
            decisions: decisions,
            evidence: [endpoint: known],
            instant: instant,
            logs: logs
        )
        guard let loading, let widest = widestPassing(configurations, judge) else { return judge }
        // The load goes to the address that the hellos reached.
        let trace = await loading.load(
            target.url,
            dictionary: widest,
            profile: profile,
            address: target.address ?? known.address
        )
        for place in trace.places.dropFirst() where place.isSecure && judge.evidence[Endpoint(place)] == nil {
            judge.evidence[Endpoint(place)] = await probing.evidence(
                of: Endpoint(place),
                offers: decisions.distinctOffers(
                    configurations.map(\.ats) + ExceptionCandidates.dictionaries(host: place.host),
                    place
                ),
                address: nil,
                allowsPrivate: allowsPrivate || known.address.map(probing.isPrivate) == true
            )
        }
        judge.trace = trace
        return judge
    }

    package func configurations(of target: CheckTarget) -> [DiagnosticConfiguration] {
        let all = DiagnosticConfiguration.all(host: target.url.host, supportsTLS13: profile.supportsTLS13.value)
        return all + (appDictionary.map { [.app($0)] } ?? [])
    }

    private func report(
        of target: CheckTarget,
        judge: ConfigurationJudge,
        _ configurations: [DiagnosticConfiguration],
        elapsed: Duration
    ) -> TargetReport {
        let endpoint = Endpoint(target.url)
        let known = judge.evidence[endpoint] ?? HostEvidence()
        let results = configurations.map(judge.judge)
        let defaults = decisions.decision(.dictionary([:]), target.url).offer
        var facts: ConnectionFacts?
        if case .negotiated(let observation)? = known.outcomes[defaults] { facts = known.facts(of: observation) }
        let isWider = facts == nil && known.widest != nil
        return TargetReport(
            target: target.url.text,
            host: target.url.host,
            port: target.url.effectivePort,
            address: known.address,
            results: results,
            smallestException: judge.smallestException(),
            facts: facts ?? known.widest?.facts,
            factsAreOfWiderHello: isWider,
            status: judge.trace?.status,
            handshakes: known.hellos,
            elapsed: elapsed,
            notes: results.first?.notes ?? []
        )
    }

    /// The dictionary to load under: of those whose handshake passes, the one that lets most redirects through.
    private func widestPassing(
        _ configurations: [DiagnosticConfiguration],
        _ judge: ConfigurationJudge
    ) -> PropertyListValue? {
        let all = PropertyListValue.dictionary([ATSKey.arbitraryLoads: .boolean(true)])
        // The target itself is judged at each place, so the widest dictionary is right for all but servers that dislike wide hellos.
        if judge.judge(dictionary: all).result == .pass { return all }
        return configurations.last { judge.judge($0).result == .pass }?.ats
    }
}
