// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
package import AppTransportSecurity
package import FoundationEssentials
import TLSModel
package import TLSProbe
import Vocabulary

/// What answers hellos: the network, or a model of a server in tests.
package protocol ServerProbing: Sendable {
    /// Learns the outcome of every offer, asking as few hellos as the plan allows, and the path of every chain that is presented.
    ///
    /// - Parameters:
    ///   - offers: the default configuration's first.
    ///   - address: where to connect; nil asks the resolver.
    ///   - scope: the addresses that may be connected to.
    func evidence(
        of endpoint: Endpoint, offers: [HelloOffer], address: String?, within scope: FetchScope
    ) async -> HostEvidence

    /// What a server at an address may lead to.
    func scope(ofServerAt address: String) -> FetchScope

    /// The addresses of a host that no hello is sent to; empty if it has none.
    func addresses(of endpoint: Endpoint) async -> [String]

    /// The same, but a hello that was sent once is not sent again: for several questions about one target.
    func remembering() -> any ServerProbing
}

/// What makes the one real load.
package protocol TargetLoading: Sendable {
    /// Loads a URL under a dictionary, following redirects as far as the dictionary lets.
    func load(_ url: LoadURL, dictionary: ATSDictionary, profile: OSProfile, address: String?) async -> LoadTrace
}

/// Checks one target: hellos, judgement, one load, judgement of every place that the load came to.
package struct TargetDiagnosis: Sendable {
    /// Of several systems each gets exactly the verdict that it gets alone.
    package internal(set) var configuration: CheckSession.Configuration
    package internal(set) var probing: any ServerProbing
    /// Nil for `--no-http`.
    package internal(set) var loading: (any TargetLoading)?
    package let instant: Date

    private var profile: OSProfile { configuration.profile }
    private var isManaged: Bool { configuration.isManaged }
    /// The system with the SDK that the app is linked on.
    private var appProfile: OSProfile { configuration.appSDK.map(profile.linked) ?? profile }

    package func diagnose(_ target: CheckTarget) async -> TargetReport {
        let start = ContinuousClock.now
        guard configuration.systems.isEmpty else { return await diagnoseAll(target) }
        let configurations = configurations(of: target)
        let judge = await evidence(of: target, configurations)
        let secure = await secureResult(of: target, configurations)
        return report(of: target, judge: judge, secure: secure, configurations, elapsed: .now - start)
    }

    /// The report of the first system, with the verdicts of all. What one system's plan has asked is not asked again for another; what only
    /// another one needs to know is asked then, so that its verdict and causes do not depend on the company.
    private func diagnoseAll(_ target: CheckTarget) async -> TargetReport {
        let start = ContinuousClock.now
        let shared = probing.remembering()
        var report = await alone(profile, shared).diagnose(target)
        report.systems = [SystemVerdict(profile, report)]
        for other in configuration.systems.dropFirst() {
            let next = await alone(other, shared).diagnose(target)
            report.systems.append(SystemVerdict(other, next))
            report.handshakes += next.handshakes
        }
        report.elapsed = .now - start
        return report
    }

    /// The same for one system.
    private func alone(_ profile: OSProfile, _ probing: any ServerProbing) -> TargetDiagnosis {
        var copy = self
        (copy.configuration.profile, copy.configuration.systems, copy.probing) = (profile, [], probing)
        return copy
    }

    /// How the same host would load over https by default; nil for a target that is secure already.
    private func secureResult(
        of target: CheckTarget, _ configurations: [DiagnosticConfiguration]
    ) async -> ConfigurationResult? {
        guard let secured = target.secured, let defaults = configurations.first else { return nil }
        return await evidence(of: secured, [defaults]).judge(defaults)
    }

    /// Everything that the network tells about a target.
    package func evidence(of target: CheckTarget) async -> ConfigurationJudge {
        await evidence(of: target, configurations(of: target))
    }

    private func evidence(
        of target: CheckTarget, _ configurations: [DiagnosticConfiguration]
    ) async -> ConfigurationJudge {
        let endpoint = Endpoint(target.url)
        let known: HostEvidence
        if target.url.isSecure {
            known = await probing.evidence(
                of: endpoint, offers: offers(configurations, for: target.url), address: target.address,
                within: target.scope)
        } else {
            // No hello: the load goes over TCP alone, if the policy lets it.
            let found = if let given = target.address { [given] } else { await probing.addresses(of: endpoint) }
            known = HostEvidence(address: found.first(where: target.scope.allows(address:)))
        }
        var judge = ConfigurationJudge(
            target: target.url, profile: profile, appProfile: appProfile, evidence: [endpoint: known], instant: instant,
            logs: configuration.logs)
        let isNamed = target.scope == .named
        // Without an address the load would look the name up by itself.
        guard let loading, isNamed || known.address != nil, let widest = widestPassing(configurations, judge)
        else { return judge }
        // The load goes to the address that the hellos reached. A query may be a secret, and is not for a server without trust.
        var trace = await loading.load(
            widest.needsDelegate ? target.url.withoutQuery : target.url, dictionary: widest.dictionary,
            profile: widest.profile,
            address: isNamed ? target.address ?? known.address : known.address)
        trace.isBehindCertificate = widest.needsDelegate
        let led: FetchScope =
            configuration.allowsPrivateRedirects
            ? .anyNetwork : known.address.map(probing.scope(ofServerAt:)) ?? .publicAddresses
        for place in trace.places.dropFirst() where place.isSecure && judge.evidence[Endpoint(place)] == nil {
            judge.evidence[Endpoint(place)] = await probing.evidence(
                of: Endpoint(place), offers: offers(configurations, for: place), address: nil,
                within: configuration.allowsPrivateRedirects ? led : trace.scopes[Endpoint(place)] ?? led)
        }
        judge.trace = trace
        return judge
    }

    /// Every offer that the configurations and the search for the smallest exception need, the default one's first.
    private func offers(_ configurations: [DiagnosticConfiguration], for place: LoadURL) -> [HelloOffer] {
        let rows = configurations.filter { !$0.isAppDictionary }.map { ($0.dictionary, profile) }
        let own = configurations.filter(\.isAppDictionary).map { ($0.dictionary, appProfile) }
        let edits = own.flatMap { ExceptionLadder.edits(of: $0.0, for: place, on: appProfile) }.map { ($0, appProfile) }
        let systems = appProfile.sdk == profile.sdk ? [profile] : [profile, appProfile]
        let candidates = systems.flatMap { profile in
            (ExceptionLadder.candidates(key: ExceptionLadder.key(for: place.host, on: profile)) + [.allowingEverything])
                .map { ($0, profile) }
        }
        return HelloOffer.distinct(rows + own + candidates + edits, place)
    }

    package func configurations(of target: CheckTarget) -> [DiagnosticConfiguration] {
        let all = DiagnosticConfiguration.all(host: target.url.host, supportsTLS13: profile.facts.supportsTLS13.value)
        return all + (isManaged ? [.managed] : configuration.appDictionary.map { [.app($0)] } ?? [])
    }

    private func report(
        of target: CheckTarget, judge: ConfigurationJudge, secure: ConfigurationResult?,
        _ configurations: [DiagnosticConfiguration], elapsed: Duration
    ) -> TargetReport {
        let endpoint = Endpoint(target.url)
        let known = judge.evidence[endpoint] ?? HostEvidence()
        let results = configurations.map(judge.judge)
        let defaults = HelloOffer(
            ATSPolicy(dictionary: ATSDictionary(), profile: profile).requirements(for: target.url))
        let (facts, hello) = known.answer(to: defaults, host: target.url.host)
        let exception: SmallestException =
            isManaged ? (results.decisive?.result == .pass ? .none : .noneHelps) : judge.smallestException()
        var proposal: DictionaryProposal?
        var behind: Cause?
        if !isManaged, let decisive = results.decisive, decisive.result != .pass {
            proposal = self.proposal(judge, exception, after: decisive.because)
            if proposal == nil { behind = judge.causeBehindCertificate(.allowingEverything) }
        }
        var notes = (results.first?.notes ?? []) + expiring(facts)
        if case .dictionary(let dictionary) = exception {
            notes += judge.inferences(under: dictionary).filter { note in !notes.contains { $0.code == note.code } }
        }
        if let own = results.decisive, own.configuration.isAppDictionary, own.result != .pass {
            notes += unread(own.configuration.dictionary, judge)
        }
        return TargetReport(
            target: target.url.text,
            host: target.url.host,
            port: target.url.effectivePort,
            // What nobody reached is told apart by the address that was asked.
            address: target.address ?? known.address,
            results: results,
            secure: secure,
            smallestException: exception,
            proposal: proposal,
            causeBehindCertificate: behind,
            facts: facts,
            hello: hello,
            status: judge.trace.flatMap { $0.isBehindCertificate ? nil : $0.status },
            handshakes: known.hellos,
            elapsed: elapsed,
            notes: notes,
            instant: instant
        )
    }

    /// What the app's dictionary says in vain for the first place where the load fails.
    private func unread(_ dictionary: ATSDictionary, _ judge: ConfigurationJudge) -> [Cause] {
        let policy = ATSPolicy(dictionary: dictionary, profile: appProfile)
        let failing = judge.trace?.places.first {
            judge.judge(place: $0, dictionary: dictionary, isRedirect: false, on: appProfile).result != .pass
        }
        return NearMisses(policy).explaining(policy.decide(failing ?? judge.target)).unread(isFailing: true)
    }

    /// What would let a target load that fails under the dictionary that decides, or would lift its block at least; nil if nothing does.
    private func proposal(
        _ judge: ConfigurationJudge, _ exception: SmallestException, after causes: [Cause]
    ) -> DictionaryProposal? {
        let before = configuration.appDictionary ?? ATSDictionary()
        func proposal(_ kind: DictionaryProposal.Kind, _ after: ATSDictionary?) -> DictionaryProposal? {
            after.map { after in
                let doubt = kind == .withDelegate ? judge.causeBehindCertificate(after) : nil
                // What the policy blocks says nothing of the certificate behind.
                let behind = kind == .withDelegate ? judge.judge(dictionary: after, on: appProfile).because.first : nil
                let refusal = causes.contains { $0.stage == .trust } ? nil : behind
                return DictionaryProposal(
                    before: before, after: after, kind: kind, doubt: doubt, refusal: refusal)
            }
        }
        func lifting() -> DictionaryProposal? {
            guard causes.first?.stage == .policy, let edit = judge.openEdit(of: before) else { return nil }
            return DictionaryProposal(before: before, after: edit.dictionary, kind: .edit, doubt: edit.doubt)
        }
        guard configuration.appDictionary != nil else {
            return proposal(.edit, exception.dictionary) ?? proposal(.withDelegate, judge.exceptionWithDelegate())
                ?? lifting()
        }
        return proposal(.edit, judge.smallestEdit(of: before))
            ?? proposal(.withDelegate, judge.smallestEdit(of: before, withDelegate: true))
            ?? lifting()
    }

    /// A note for each certificate of the path that will soon have expired.
    private func expiring(_ facts: ConnectionFacts?) -> [Cause] {
        guard let expiryDays = configuration.expiryDays, let facts else { return [] }
        return facts.chain.judged.compactMap { certificate in
            let days = certificate.daysLeft(at: instant)
            guard certificate.notAfter >= instant, days < expiryDays else { return nil }
            return Cause(
                .noteExpiresSoon,
                "\(certificate.subject) expires on \(CivilDate.text(of: certificate.notAfter)), in \(days) days.",
                kind: .note)
        }
    }

    /// What to load under: of the dictionaries whose handshake passes, the one that lets most redirects through, with the SDK that speaks
    /// the older versions. Where only the certificate is refused, what an app's own code would come to by accepting it.
    private func widestPassing(
        _ configurations: [DiagnosticConfiguration], _ judge: ConfigurationJudge
    ) -> (dictionary: ATSDictionary, profile: OSProfile, needsDelegate: Bool)? {
        let all = ATSDictionary.allowingEverything
        let older = configuration.appDictionary != nil && appProfile.stackMinimum.value < profile.stackMinimum.value
        // The target itself is judged at each place, so the widest dictionary is right for all but servers that dislike wide hellos.
        for profile in (older ? [appProfile] : []) + [profile]
        where judge.judge(dictionary: all, on: profile).result == .pass {
            return (all, profile, false)
        }
        if let row = configurations.last(where: { judge.judge($0).result == .pass }) {
            return (row.dictionary, row.isAppDictionary ? appProfile : profile, false)
        }
        guard !isManaged, judge.judge(dictionary: all, on: appProfile).passesWithDelegate else { return nil }
        return (all, appProfile, true)
    }
}
