// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings
package import TLSFacts

/// A change of the app's Info.plist that would change how a load ended.
public struct Remedy: Sendable, Equatable, CustomStringConvertible {
    /// The key below NSAppTransportSecurity, components joined by `.` as the linter prints them.
    public let keyPath: String
    /// The value to give it, as property-list text: `true`, `false`, `TLSv1.1`.
    public let value: String
    /// Whether App Review asks for a justification of the key with this value.
    public let requiresJustification: Bool
    /// Whether the app must also accept the certificate in code, because the key alone only permits that.
    public let needsDelegate: Bool

    package init(keyPath: String, value: String, requiresJustification: Bool, needsDelegate: Bool = false) {
        self.keyPath = keyPath
        self.value = value
        self.requiresJustification = requiresJustification
        self.needsDelegate = needsDelegate
    }

    public var description: String {
        let code = needsDelegate ? ", with app code that accepts the certificate," : ""
        let review =
            requiresJustification ? "App Review asks for a justification" : "no App Review justification required"
        return "\(keyPath) = \(value)\(code) would allow this load (\(review))."
    }
}

extension Remedy {
    /// The keys that would let a load through which ended for these causes.
    ///
    /// Requirements that no key lifts (pins, a demanded client certificate, no common suite at all) give none, and neither does a list of
    /// causes of which one has no remedy: half an exception loads nothing.
    ///
    /// - Parameter requirements: what the load had to meet; nil if no connection was judged. A version that the network stack does not speak
    ///   is beyond every key.
    package static func forCauses(
        _ causes: [Cause], host: String, negotiated: TLSVersion?, _ requirements: TransportRequirements?
    ) -> [Remedy] {
        let oldest = requirements?.profile.stackMinimum.value ?? .tls10
        if let negotiated, negotiated < oldest { return [] }
        // Of a server that names no version only so much is known: it speaks none that was offered.
        let version = negotiated ?? oldest
        if let requirements, negotiated == nil, version >= requirements.effectiveMinimum,
            causes.contains(where: { Remediation(for: $0)?.exceptionKey == .minimumTLSVersion })
        {
            return []
        }
        var remedies: [Remedy] = []
        for cause in causes {
            guard let remedy = Remedy(for: cause, host: host, version: version) else { return [] }
            if !remedies.contains(where: { $0.keyPath == remedy.keyPath }) { remedies.append(remedy) }
        }
        return remedies
    }

    /// The keys that would let a URL through which the policy itself blocks.
    package static func forBlocked(_ decision: URLDecision) -> [Remedy] {
        let host = decision.url.host
        guard decision.because.contains(where: { $0.code == .localBlocked }) else {
            return forCauses([Cause(.cleartextBlocked, "")], host: host, negotiated: nil, nil)
        }
        // The first systems take no address as the key of an entry; a name is freed by an entry, even an empty one, over TLS.
        if decision.url.literalAddress != nil {
            return [Remedy(keyPath: ATSKey.arbitraryLoads, value: "true", requiresJustification: true)]
        }
        if decision.url.isSecure {
            return [Remedy(keyPath: "\(ATSKey.exceptionDomains).\(host)", value: "{}", requiresJustification: false)]
        }
        return forCauses([Cause(.cleartextBlocked, "")], host: host, negotiated: nil, nil)
    }

    private init?(for cause: Cause, host: String, version: TLSVersion) {
        let entry = "\(ATSKey.exceptionDomains).\(host)"
        switch Remediation(for: cause)?.exceptionKey {
        case .insecureHTTPLoads:
            self.init(keyPath: "\(entry).\(ATSKey.insecureHTTPLoads)", value: "true", requiresJustification: true)
        case .insecureHTTPLoadsWithDelegate:
            self.init(
                keyPath: "\(entry).\(ATSKey.insecureHTTPLoads)", value: "true", requiresJustification: true,
                needsDelegate: true)
        case .minimumTLSVersion:
            self.init(
                keyPath: "\(entry).\(ATSKey.minimumTLSVersion)", value: version.description,
                requiresJustification: version < .tls12)
        case .forwardSecrecy:
            self.init(keyPath: "\(entry).\(ATSKey.forwardSecrecy)", value: "false", requiresJustification: false)
        case nil: return nil
        }
    }
}
