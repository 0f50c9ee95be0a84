// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import FoundationEssentials
import TLSModel
import TLSProbe
import Vocabulary

/// Turns what went wrong into the error that an app would see.
enum LoadFaults {
    /// The policy itself says no.
    static func blocked(_ decision: URLDecision, error: URLLoadError, isRedirect: Bool) -> ATSLoadError {
        var causes = decision.failures
        if causes.isEmpty { causes = decision.because }
        if causes.isEmpty { causes = [Cause(.cleartextBlocked, "\(decision.url.host) must be loaded over TLS.")] }
        if isRedirect {
            let sentence = "The redirect leads to \(decision.url.text), which the policy blocks."
            causes.insert(Cause(.httpRedirectBlocked, sentence), at: 0)
        }
        if !decision.legacyDoubts.isEmpty {
            return ATSLoadError(
                outcome: .noAnswer, error: error, causes: disputed(causes, decision), url: decision.url.text)
        }
        return ATSLoadError(
            outcome: .refused, error: error, causes: causes, remedies: Remedy.forBlocked(decision),
            url: decision.url.text)
    }

    /// The causes after the reason why nobody knows how the load ends: sources contradict each other about keys of the dictionary.
    private static func disputed(_ causes: [Cause], _ decision: URLDecision) -> [Cause] {
        [
            Cause(
                causes.first?.code ?? .tlsHandshakeFailed, decision.requirements.profile.legacyKeyDispute,
                situation: Remediation.Situation.disputed.rawValue)
        ] + causes
    }

    /// A server that fails, but where only one reading of those keys refuses it.
    static func failed(
        _ causes: [Cause], _ error: URLLoadError, _ url: LoadURL, _ decision: URLDecision, _ facts: ConnectionFacts?,
        _ instant: Date, _ logs: CTLogList?
    ) -> ATSLoadError {
        // Where both readings ask the same of this URL, no key is the reason.
        let isDisputed =
            !decision.legacyDoubts.isEmpty
            && facts.map { decision.policy.passesByTheOtherReading(url, $0, at: instant, logs: logs) } ?? false
        let causes = isDisputed ? disputed(causes, decision) : causes
        let remedies =
            causes.first?.code == .tlsClientCertificateRequired
            ? [] : facts.map { Remedy.forRefused(decision, $0, at: instant, logs: logs) } ?? []
        return ATSLoadError(
            outcome: causes.first?.isDisputed == true ? .noAnswer : .refused, error: error, causes: causes,
            remedies: remedies, url: url.text)
    }

    static func badURL(_ malformed: MalformedInput, url: String) -> ATSLoadError {
        refusal(url, -1000, malformed.code, malformed.reason)
    }

    /// The policy's versions and the suites that this TLS library has leave nothing.
    static func nothingToOffer(url: LoadURL) -> ATSLoadError {
        ATSLoadError(
            outcome: .refused,
            error: .secureConnectionFailed(-9801),
            causes: [
                Cause(.tlsNoCommonSuite, "The policy allows no version and suite that this client can offer.")
            ],
            url: url.text
        )
    }

    /// Errors of connecting and of exchanging.
    ///
    /// - Parameters:
    ///   - widest: what the server negotiates when everything is offered, where that was asked.
    ///   - chain: the path of its certificates; nil tries no remedies.
    ///   - smaller: how a hello without post-quantum groups ended, where it was sent.
    static func translate(
        _ error: any Error, url: LoadURL, decision: URLDecision, widest: HandshakeObservation? = nil,
        chain: ChainFacts? = nil, smaller: HandshakeOutcome? = nil, at instant: Date = SystemClock.now(),
        logs: CTLogList? = nil
    ) -> ATSLoadError {
        switch error {
        case let error as ATSLoadError: error
        case let refused as RefusedHandshake: translate(refused.judgement, url: url, decision, instant, logs)
        // Not for the policy's sake, so no key would change it.
        case let forbidden as ForbiddenAddress:
            refusal(url.text, -1004, .proxyForbiddenAddress, forbidden.reason)
        case let failure as ConnectFailure:
            translate(
                failure, url: url, decision: decision, widest: widest,
                facts: widest.flatMap { widest in
                    chain.map { ConnectionFacts(handshake: widest, chain: $0, at: instant) }
                }, smaller: smaller, instant, logs)
        case let failure as ExchangeFailure: translate(failure, url: url, decision: decision)
        default:
            noAnswer(url.text, -1, .httpNoAnswer, "The load failed: \(error.nameWithoutPlace).")
        }
    }

    private static func translate(
        _ judgement: HandshakeJudge.Judgement, url: LoadURL, _ decision: URLDecision, _ instant: Date,
        _ logs: CTLogList?
    ) -> ATSLoadError {
        failed(
            judgement.verdict.causes, judgement.verdict.error ?? .secureConnectionFailed(-9802), url, decision,
            judgement.facts, instant, logs)
    }

    private static func translate(
        _ failure: ConnectFailure, url: LoadURL, decision: URLDecision, widest: HandshakeObservation? = nil,
        facts: ConnectionFacts? = nil, smaller: HandshakeOutcome? = nil, _ instant: Date, _ logs: CTLogList?
    ) -> ATSLoadError {
        let requirements = decision.requirements
        if failure.isClientCertificateDemand { return clientCertificate(url) }
        let verdict = evaluate(
            requirements, failed: failure.outcome, host: url.host, widest: widest, leaf: widest?.leaf, smaller: smaller)
        guard verdict.isDetermined else {
            return ATSLoadError(outcome: .noAnswer, error: verdict.error, causes: verdict.causes, url: url.text)
        }
        return failed(verdict.causes, verdict.error, url, decision, facts, instant, logs)
    }

    /// The handshake of the system complies, and the TLS library of this program cannot make it.
    static func notLoadable(_ missing: String, _ decision: URLDecision) -> ATSLoadError {
        let url = decision.url
        return ATSLoadError(
            outcome: .noAnswer, error: URLLoadError(code: -1, message: "unknown error"),
            causes: [
                Cause(
                    .noteLoadNotMade,
                    "\(url.host) chooses \(missing), which \(decision.requirements.profile.name) offers and the TLS library of this program does not "
                        + "have. Its handshake complies, as sealward ats check says too; what it answers is not known.")
            ], url: url.text)
    }

    static func clientCertificate(_ url: LoadURL) -> ATSLoadError {
        ATSLoadError(
            outcome: .refused, error: .clientCertificateRequired(host: url.host),
            causes: [Cause(.tlsClientCertificateRequired, "The server demands a client certificate.")], url: url.text)
    }

    private static func translate(
        _ failure: ExchangeFailure, url: LoadURL, decision: URLDecision
    ) -> ATSLoadError {
        func ended(_ number: Int, _ code: Code, _ sentence: String) -> ATSLoadError {
            noAnswer(url.text, number, code, sentence)
        }
        let host = url.host
        switch failure.reason {
        case .closedBeforeAnswer:
            return ended(-1005, .httpNoAnswer, "\(host) closed the connection without an HTTP answer.")
        case .reset: return ended(-1005, .httpNoAnswer, "\(host) reset the connection.")
        case .timeout: return ended(-1001, .httpNoAnswer, "\(host) did not answer the request in time.")
        case .stalled:
            return ended(-1001, .httpIncompleteAnswer, "\(host) stopped sending in the middle of its answer.")
        case .incompleteBody:
            return ended(-1005, .httpIncompleteAnswer, "\(host) closed the connection before its answer was complete.")
        case .malformed(let what):
            return ended(-1017, .httpNoAnswer, "\(host) answers with something that is not HTTP (\(what)).")
        case .headerTooLarge:
            return ended(-1103, .httpAnswerTooLarge, "\(host) sends more header fields than the limit allows.")
        case .bodyTooLarge(let limit):
            return ended(-1103, .httpAnswerTooLarge, "\(host) sends a body of more than \(limit) bytes.")
        case .alert(116): return clientCertificate(url)
        case .alert(let description):
            let outcome = HandshakeOutcome.alert(level: 2, description: description)
            return translate(ConnectFailure(outcome: outcome), url: url, decision: decision)
        case .requestBody(let what):
            return ended(-1021, .httpRequestBody, "The body of the request could not be sent: \(what).")
        case .shutDown: return ended(-999, .httpNoAnswer, "The client is shut down.")
        }
    }

    // MARK: Redirects

    /// A redirect that cannot be followed.
    ///
    /// - Parameter number: that of the NSURLError.
    static func redirect(_ url: String, _ number: Int, _ sentence: String) -> ATSLoadError {
        refusal(url, number, .httpRedirectBlocked, sentence)
    }

    /// Redirects without an end. A load keeps no cookies, and URLSession does: if one was set on the way, nobody knows how the redirects end with it.
    static func endless(_ url: String, _ sentence: String, afterCookie: Bool) -> ATSLoadError {
        guard afterCookie else { return refusal(url, -1007, .httpRedirectLoop, sentence + ".") }
        return noAnswer(
            url, -1007, .httpRedirectNeedsCookie,
            sentence + ", but a cookie was set on the way: URLSession sends it back, this load sends none.")
    }

    static func refusal(_ url: String, _ number: Int, _ code: Code, _ sentence: String) -> ATSLoadError {
        ATSLoadError(outcome: .refused, error: URLLoadError(number), causes: [Cause(code, sentence)], url: url)
    }

    /// The same where nothing refused the load.
    static func noAnswer(_ url: String, _ number: Int, _ code: Code, _ sentence: String) -> ATSLoadError {
        ATSLoadError(outcome: .noAnswer, error: URLLoadError(number), causes: [Cause(code, sentence)], url: url)
    }
}

extension ConnectFailure {
    /// A server that asked for a client certificate and gave up when none came: by alert 116, or up to TLS 1.2 by any alert or by closing.
    fileprivate var isClientCertificateDemand: Bool {
        switch outcome {
        case .alert(_, 116): true
        case .alert: askedForClientCertificate
        case .connection(.closed), .connection(.reset): askedForClientCertificate
        case .connection, .negotiated, .protocolError: false
        }
    }
}
