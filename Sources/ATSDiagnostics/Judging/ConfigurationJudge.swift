// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
package import AppTransportSecurity
package import FoundationEssentials
import TLSModel
import TLSProbe
package import Vocabulary

/// Judges configurations from evidence alone: the same evidence always gives the same report. It remembers judgements of chains.
package struct ConfigurationJudge: Sendable {
    package let target: LoadURL
    package let profile: OSProfile
    /// The system with the SDK that the app itself is linked on, for the row of the app's dictionary.
    package let appProfile: OSProfile
    /// For the target and for every TLS host that redirects led to.
    package var evidence: [Endpoint: HostEvidence]
    /// Nil if no load was made.
    package var trace: LoadTrace?
    package let instant: Date
    package private(set) var logs: CTLogList?
    private let trust = TrustMemory()

    /// How one place of a load ends under one policy.
    package struct Judgement: Sendable {
        package var result: ConfigurationResult.Result
        package var error: URLLoadError?
        package var because: [Cause]
        package var notes: [Cause]

        package static let passed = Judgement(result: .pass, error: nil, because: [], notes: [])

        /// Whether it passes, at least if the app's own code accepts the certificate, as it should not accept every one.
        package var passesWithDelegate: Bool {
            result == .pass || because.contains { $0.code == .trustNeedsDelegate } && AppTrust.isAdvised(because)
        }
    }

    /// The verdict for one configuration: the handshake with the target, then every place that the load came to.
    package func judge(_ configuration: DiagnosticConfiguration) -> ConfigurationResult {
        let profile = configuration.isAppDictionary ? appProfile : profile
        let judgement = judge(dictionary: configuration.dictionary, on: profile)
        return ConfigurationResult(
            configuration: configuration,
            sdk: profile.sdk,
            result: judgement.result,
            error: judgement.error,
            console: judgement.error.map {
                ConsoleLine.lines(for: $0, causes: judgement.because, host: target.host, on: profile)
            } ?? [],
            because: judgement.because,
            notes: judgement.notes
        )
    }

    /// - Parameter other: the system and SDK, if not those of nscurl's rows.
    package func judge(dictionary: ATSDictionary, on other: OSProfile? = nil) -> Judgement {
        let profile = other ?? profile
        let readings = dictionary.readings(on: profile).map { judge(reading: $0, on: profile) }
        guard let last = readings.last, readings.count == 2, let first = readings.first, first.result != last.result
        else { return readings.first ?? .passed }
        return Judgement(
            result: .undetermined, error: nil,
            because: [
                Cause(
                    (first.because + last.because).first?.code ?? .cleartextBlocked, profile.legacyKeyDispute,
                    citation: profile.facts.readsLegacyKeys.citation,
                    situation: Remediation.Situation.disputed.rawValue)
            ] + first.because, notes: first.notes)
    }

    /// The verdict if a dictionary is read in one way.
    private func judge(reading dictionary: ATSDictionary, on profile: OSProfile) -> Judgement {
        let first = judge(place: target, dictionary: dictionary, isRedirect: false, on: profile)
        guard first.result == .pass, let trace else { return first }
        var notes = first.notes + trace.notes
        for place in trace.places.dropFirst() {
            var judgement = judge(place: place, dictionary: dictionary, isRedirect: true, on: profile)
            notes += judgement.notes
            judgement.notes = notes
            if judgement.result != .pass { return judgement }
        }
        var end = judge(endOf: trace, dictionary: dictionary, on: profile)
        end.notes = notes + end.notes
        return end
    }

    /// What a load came to behind its last place.
    func judge(endOf trace: LoadTrace, dictionary: ATSDictionary, on profile: OSProfile) -> Judgement {
        let last = trace.places.last ?? target
        switch trace.end {
        case .loaded where trace.status == 403 && requestsCertificate(last, dictionary, profile):
            return Judgement(
                result: .fail, error: .clientCertificateRequired(host: last.host),
                because: [.refusedWithoutCertificate], notes: [])
        case .loaded: return .passed
        case .refused(let error, let causes):
            return Judgement(result: .fail, error: error, because: causes, notes: [])
        case .noAnswer(let error, let causes):
            return Judgement(result: .undetermined, error: error, because: causes, notes: [])
        case .handshakeRefused(let error, let causes):
            guard let seen = handshake(at: last, dictionary: dictionary, profile), ATSClient.missing(seen) == nil,
                causes.first?.stage == .handshake
            else {
                let note = Cause(
                    .noteLoadNotMade,
                    "The load itself did not run, so the verdict is that of the handshake: \(causes.first?.message ?? "")",
                    kind: .note)
                return Judgement(result: .pass, error: nil, because: [], notes: [note])
            }
            return Judgement(result: .fail, error: error, because: causes, notes: [])
        }
    }

    /// Whether a server asked for a client certificate in the handshake of a policy.
    private func requestsCertificate(_ place: LoadURL, _ dictionary: ATSDictionary, _ profile: OSProfile) -> Bool {
        place.isSecure && handshake(at: place, dictionary: dictionary, profile)?.requestsClientCertificate == true
    }

    /// What the hello of a policy negotiated at one place.
    private func handshake(at place: LoadURL, dictionary: ATSDictionary, _ profile: OSProfile) -> HandshakeObservation?
    {
        let offer = HelloOffer(ATSPolicy(dictionary: dictionary, profile: profile).requirements(for: place))
        guard case .negotiated(let observation)? = evidence[Endpoint(place)]?.outcomes[offer] else { return nil }
        return observation
    }

    /// One place of the load under one dictionary.
    package func judge(
        place: LoadURL, dictionary: ATSDictionary, isRedirect: Bool, on other: OSProfile? = nil
    ) -> Judgement {
        let profile = other ?? profile
        let decision = ATSPolicy(dictionary: dictionary, profile: profile).decide(place)
        if decision.verdict == .blocked {
            var because = decision.failures
            if isRedirect {
                because.insert(
                    Cause(
                        .httpRedirectBlocked,
                        "The server redirects to \(place.text), which the policy does not allow: TLS is required for \(place.host)."
                    ), at: 0)
            }
            return Judgement(result: .fail, error: decision.error, because: because, notes: [])
        }
        guard place.isSecure else { return .passed }
        var judgement = judge(decision)
        if isRedirect, let first = judgement.because.first {
            let named = first.saying("The server redirects to \(place.text). \(first.message)")
            judgement.because = [named] + judgement.because.dropFirst()
        }
        return judgement
    }

    /// What a host that speaks TLS comes to.
    private func judge(_ decision: URLDecision) -> Judgement {
        let (place, requirements) = (decision.url, decision.requirements)
        guard let known = evidence[Endpoint(place)], let outcome = known.outcomes[HelloOffer(requirements)] else {
            return Judgement(
                result: .undetermined, error: nil,
                because: [Cause(.netTimeout, "\(place.host) was not checked: the time for this target ran out.")],
                notes: [])
        }
        guard case .negotiated(let observation) = outcome, let facts = known.facts(of: observation) else {
            var judgement = judge(failed: outcome, requirements: requirements, host: place.host, known: known)
            judgement.notes = decision.notes
            return judgement
        }
        let verdict = evaluate(
            requirements, facts.handshake,
            trust: trust.findings(requirements, facts, at: Endpoint(place), instant, logs))
        return Judgement(
            result: verdict.passed ? .pass : verdict.isDisputed ? .undetermined : .fail,
            error: verdict.isDisputed ? nil : verdict.error, because: verdict.passed ? [] : verdict.causes,
            notes: decision.notes + verdict.notes)
    }

    /// A hello without a server flight. Where a wider hello got one, that shows what the server lacks.
    private func judge(
        failed outcome: HandshakeOutcome, requirements: TransportRequirements, host: String, known: HostEvidence
    ) -> Judgement {
        let widest = known.widest?.facts ?? known.explanation.flatMap(known.facts)
        let verdict = evaluate(
            requirements, failed: outcome, host: host, widest: widest?.handshake ?? known.explanation,
            leaf: widest?.chain.presented.first, smaller: known.smaller?.outcome)
        return Judgement(
            result: verdict.isDetermined ? .fail : .undetermined, error: verdict.error, because: verdict.causes,
            notes: [])
    }
}
