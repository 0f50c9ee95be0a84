// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import Findings
package import TLSFacts

/// A change of the app's Info.plist that would change how a load ended.
public struct Remedy: Sendable, Equatable, CustomStringConvertible {
    /// The key below NSAppTransportSecurity, components joined by `.` as the linter prints them.
    public let keyPath: String
    /// The value to give it, as property-list text: `true`, `false`, `TLSv1.1`.
    public let value: String
    /// Whether App Review asks for a justification of the key with this value.
    public let asksReview: Bool
    /// Whether the app must also accept the certificate in code, because the key alone only permits that.
    public let needsDelegate: Bool

    package init(keyPath: String, value: String, asksReview: Bool, needsDelegate: Bool = false) {
        self.keyPath = keyPath
        self.value = value
        self.asksReview = asksReview
        self.needsDelegate = needsDelegate
    }

    public var description: String {
        let code = needsDelegate ? ", with code of the app that accepts the certificate," : ""
        let review = asksReview ? "App Review asks for a justification" : "App Review asks nothing"
        return "\(keyPath) = \(value)\(code) would change this (\(review))."
    }
}

extension Remedy {
    /// The keys that would let a load through which ended for these causes.
    ///
    /// Requirements that no key lifts (pins, a demanded client certificate, no common suite at all) give none, and neither does a list of
    /// causes of which one has no remedy: half an exception loads nothing.
    package static func forCauses(_ causes: [Cause], host: String, negotiated: TLSVersion?) -> [Remedy] {
        var remedies: [Remedy] = []
        for cause in causes {
            guard let remedy = Remedy(for: cause.code, host: host, negotiated: negotiated) else { return [] }
            if !remedies.contains(where: { $0.keyPath == remedy.keyPath }) { remedies.append(remedy) }
        }
        return remedies
    }

    /// The keys that would let a URL through which the policy itself blocks.
    package static func forBlocked(_ decision: URLDecision) -> [Remedy] {
        let host = decision.url.host
        guard decision.because.contains(where: { $0.code == "ats.local.blocked" }) else {
            return forCauses([Cause("ats.cleartext.blocked", "")], host: host, negotiated: nil)
        }
        // The first systems take no address as the key of an entry; a name is freed by an entry, even an empty one, over TLS.
        if decision.url.literalAddress != nil {
            return [Remedy(keyPath: "NSAllowsArbitraryLoads", value: "true", asksReview: true)]
        }
        if decision.url.isSecure {
            return [Remedy(keyPath: "NSExceptionDomains.\(host)", value: "{}", asksReview: false)]
        }
        return forCauses([Cause("ats.cleartext.blocked", "")], host: host, negotiated: nil)
    }

    private init?(for code: Code, host: String, negotiated: TLSVersion?) {
        let entry = "NSExceptionDomains.\(host)"
        switch code.rawValue {
        case "ats.cleartext.blocked", "ats.http.redirect-blocked":
            self.init(keyPath: "\(entry).NSExceptionAllowsInsecureHTTPLoads", value: "true", asksReview: true)
        case "ats.tls.version-too-low":
            let version = negotiated ?? .tls10
            self.init(
                keyPath: "\(entry).NSExceptionMinimumTLSVersion",
                value: version.description,
                asksReview: version < .tls12
            )
        case "ats.tls.no-forward-secrecy":
            self.init(keyPath: "\(entry).NSExceptionRequiresForwardSecrecy", value: "false", asksReview: false)
        case "ats.trust.unknown-root", "ats.trust.self-signed", "ats.trust.missing-intermediate", "ats.trust.expired",
            "ats.trust.not-yet-valid", "ats.trust.wrong-host", "ats.trust.no-subject-alternative-name",
            "ats.trust.weak-key", "ats.trust.weak-signature", "ats.trust.validity-too-long",
            "ats.trust.wrong-key-usage", "ats.trust.needs-delegate", "ats.ct.missing":
            self.init(
                keyPath: "\(entry).NSExceptionAllowsInsecureHTTPLoads",
                value: "true",
                asksReview: true,
                needsDelegate: true
            )
        default: return nil
        }
    }
}
