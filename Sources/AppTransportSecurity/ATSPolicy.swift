// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import PropertyLists
package import TLSModel
public import Vocabulary

/// The policy of one app on one system: a dictionary and an OS profile.
///
///     let policy = ATSPolicy(dictionary: ATSDictionary(nil), profile: .standard)
///     let decision = policy.decide(try LoadURL("http://example.com/"))
///     decision.verdict        // .blocked
///     decision.error?.code    // -1022
///
/// The order of the rules is that of Apple's published evaluator: Security 61901, SecProtocolConfiguration.m (`tls_required`,
/// `transformed_options`).
public struct ATSPolicy: Sendable {
    /// What the app declares.
    public let dictionary: ATSDictionary
    /// The system that reads it.
    public let profile: OSProfile
    private let lookup: ExceptionLookup
    private let pinIndex: PinIndex
    /// The policy if the other of two sources that contradict each other is right; none where none do.
    private let otherReading: [ATSPolicy]

    /// The policy of an app with this dictionary on this system.
    public init(dictionary: ATSDictionary, profile: OSProfile) {
        self.dictionary = dictionary
        self.profile = profile
        let readings = dictionary.readings(on: profile)
        lookup = ExceptionLookup(readings.first ?? dictionary, profile)
        pinIndex = PinIndex(dictionary.pinnedDomains)
        otherReading = readings.dropFirst().map { ATSPolicy(dictionary: $0, profile: profile) }
    }

    /// Decides about one URL. No network, no clock: whether a server is good enough is for ``evaluate(_:_:host:at:logs:)``.
    public func decide(_ url: LoadURL, loader: Loader = .urlsession) -> URLDecision {
        var decision = decideByOneReading(url, loader: loader)
        if let other = otherReading.first, LoadEffect(other.decide(url, loader: loader)) != LoadEffect(decision) {
            decision.legacyDoubts = profile.legacyKeySources
        }
        return decision
    }

    /// Whether a load that fails by one reading of the keys of 2015 passes by the other, on a system whose sources contradict each other.
    ///
    /// - Parameter facts: what the server negotiates, with the policy or if everything is offered.
    package func passesByTheOtherReading(
        _ url: LoadURL, _ facts: ConnectionFacts, at instant: Date, logs: CTLogList?
    ) -> Bool {
        guard let requirements = otherReading.first?.decide(url).requirements else { return false }
        return HandshakeEvaluation.unofferedCause(requirements, facts.handshake, facts.chain.presented.first) == nil
            && evaluate(requirements, facts, host: url.host, at: instant, logs: logs).passed
    }

    private func decideByOneReading(_ url: LoadURL, loader: Loader) -> URLDecision {
        let isLocal = LocalHosts.contains(url, profile.localRule.value)
        let local = isLocal || LocalHosts.contains(url, .namesAndDirectAddresses)
        guard loader.isCovered, profile.hasTransportSecurity else { return uncovered(url, loader, isLocal: local) }
        let match = lookup.match(url)
        let ruling = ruling(match, isLocal: isLocal, loader: loader)
        let requirements = requirements(for: url, entry: match?.entry, tlsRequired: ruling.tlsRequired)
        var failures: [Cause] = []
        // iOS 9 and OS X 10.11 let nothing reach addresses and local names, over TLS neither, but by an entry or the global key.
        let isOutOfReach =
            profile.facts.obeysOnlyArbitraryLoads.value && match == nil && ruling.tlsRequired
            && LocalHosts.contains(url, .namesAndAddresses)
        let isCleartext = !url.isSecure && ruling.tlsRequired
        let unusable = requirements.pins?.unusable(for: url.host) ?? []
        let pinFailures = url.isSecure ? unusable : []
        let isPolicy = isCleartext || isOutOfReach
        let blocked = isPolicy || !pinFailures.isEmpty
        let outOfReach: Remediation.Situation = url.isWebSocket ? .localWebSocket : .localHost
        if isCleartext {
            // Where an entry or NSAllowsLocalNetworking decides, that is the reason.
            let isNoException = match == nil && !isLocal && !isOutOfReach
            failures.append(
                Cause(
                    .cleartextBlocked,
                    "\(url.scheme)://\(url.bracketedHost) is cleartext, and the policy requires TLS for this host"
                        + (isNoException && url.literalAddress.map(LocalHosts.isShared) == true
                            ? ": \(LocalHosts.sharedRange) (carrier NAT, VPNs) does not count as local."
                            : "."),
                    citation: .apple("Preventing Insecure Network Connections", read: "2026-11-21"),
                    situation: (isOutOfReach
                        ? outOfReach
                        : !unusable.isEmpty
                            ? url.isWebSocket ? .webSocketPins : .unusablePins
                            : url.isWebSocket ? .webSocket : nil)?.rawValue))
        }
        if isOutOfReach {
            failures.append(
                Cause(
                    .localBlocked,
                    url.literalAddress == nil
                        ? "\(profile.name) blocks loads to local names that no exception names, over \(url.secureScheme) too, unless "
                            + "NSAllowsArbitraryLoads is YES."
                        : "\(profile.name) blocks loads to addresses, over \(url.secureScheme) too, and exceptions cannot name them: only "
                            + "NSAllowsArbitraryLoads allows \(url.host).",
                    citation: .apple(ATSKey.localNetworking, read: "2026-11-21"),
                    situation: outOfReach.rawValue))
        }
        return URLDecision(
            url: url, isLocal: local, applies: true, tlsRequired: ruling.tlsRequired, requirements: requirements,
            verdict: blocked ? .blocked : (url.isSecure ? .dependsOnServer : .allowed),
            error: isPolicy
                ? .requiresSecureConnection
                : blocked ? .secureConnectionFailed(RefusalNumbers.transportSecurity) : nil, ruling: ruling,
            policy: self, loader: loader, failures: failures + pinFailures)
    }

    /// What a connection to the host of a URL must meet, without the reasons.
    package func requirements(for url: LoadURL) -> TransportRequirements {
        guard profile.hasTransportSecurity else { return uncoveredRequirements }
        let match = lookup.match(url)
        let isLocal = LocalHosts.contains(url, profile.localRule.value)
        let ruling = ruling(match, isLocal: isLocal, loader: .urlsession)
        return requirements(for: url, entry: match?.entry, tlsRequired: ruling.tlsRequired)
    }

    /// The entry of NSExceptionDomains that decides about a URL, its legacy keys as they stand in the dictionary.
    func deciding(_ url: LoadURL) -> (key: String, entry: ExceptionEntry)? {
        guard let match = lookup.match(url) else { return nil }
        return (match.key, match.isBuiltIn ? match.entry : dictionary.exceptions[match.key] ?? match.entry)
    }

    // MARK: - Whether TLS is required

    /// The rules in the evaluator's order. Step 1: an entry decides alone; global keys do not count.
    private func ruling(_ match: ExceptionLookup.Match?, isLocal: Bool, loader: Loader) -> Ruling {
        if let match { return .entry(match) }
        let arbitrary = dictionary.arbitraryLoads == true
        if profile.facts.obeysOnlyArbitraryLoads.value { return arbitrary ? .arbitraryLoads : .nothingSaid }
        // Step 2: local hosts, unless NSAllowsLocalNetworking is NO.
        if isLocal, dictionary.localNetworking != false { return .local(isStated: dictionary.localNetworking != nil) }
        // Step 3 and 4: the keys for one loader.
        if dictionary.arbitraryLoadsForMedia == true, loader == .media { return .media }
        if dictionary.arbitraryLoadsInWebContent == true, loader == .web { return .webContent }
        // Steps 5 and 6: NSAllowsArbitraryLoads counts only where none of its three siblings is present.
        if let sibling = dictionary.overridingKey {
            return arbitrary ? .arbitraryLoadsIgnored(because: sibling) : .nothingPermits
        }
        return arbitrary ? .arbitraryLoads : .nothingSaid
    }

    // MARK: - What TLS must be like

    /// Source: `transformed_options`. Without an entry and without a need for TLS, nothing is set.
    private func requirements(for url: LoadURL, entry: ExceptionEntry?, tlsRequired: Bool) -> TransportRequirements {
        let pins = profile.facts.readsPins.value ? pinIndex.pins(for: url.host) : nil
        let hardening = entry?.hardening ?? dictionary.hardening
        let isHardened = profile.facts.readsHardening.value && (hardening?.hardens ?? false)
        guard tlsRequired || entry != nil else {
            return TransportRequirements(
                minimumTLS: isHardened ? .tls12 : nil, suitePolicy: .system, serverTrust: .default,
                delegateMayAccept: true, pins: pins, isHardened: isHardened, isToAddress: url.literalAddress != nil,
                profile: profile)
        }
        let insecure = entry?.allowsInsecureHTTPLoads ?? false
        let forwardSecrecy = entry?.requiresForwardSecrecy ?? true
        let suitePolicy: TransportRequirements.SuitePolicy = forwardSecrecy ? .ats : (insecure ? .system : .atsPlusRSA)
        let minimum = min(entry?.minimumTLSVersion?.version ?? .tls12, profile.maximumVersion)
        return TransportRequirements(
            minimumTLS: isHardened ? max(minimum, .tls12) : minimum, suitePolicy: suitePolicy,
            serverTrust: insecure ? .default : .ats, delegateMayAccept: insecure,
            judgesKeySize: forwardSecrecy || !profile.facts.forwardSecrecyOffDropsKeySize.value, pins: pins,
            isHardened: isHardened,
            entryRequiresTransparency: (entry?.requiresCertificateTransparency ?? false)
                && profile.facts.readsTransparencyKey.value, isToAddress: url.literalAddress != nil, profile: profile)
    }

    // MARK: - Notes

    /// What the system asks of every connection.
    private var uncoveredRequirements: TransportRequirements {
        TransportRequirements(
            minimumTLS: nil, suitePolicy: .system, serverTrust: .default, delegateMayAccept: true, profile: profile)
    }

    private func uncovered(_ url: LoadURL, _ loader: Loader, isLocal: Bool) -> URLDecision {
        URLDecision(
            url: url, isLocal: isLocal, applies: false, tlsRequired: false, requirements: uncoveredRequirements,
            verdict: .allowed, error: nil,
            ruling: profile.hasTransportSecurity ? .notCovered(loader) : .noTransportSecurity(profile), policy: self,
            loader: loader, failures: [])
    }

    /// What is worth knowing about a decision of this policy. Most decisions are compared and not shown, so it is asked for apart.
    func notes(on decision: URLDecision) -> [Cause] {
        guard decision.applies else { return [] }
        let url = decision.url
        let match = lookup.match(url)
        var notes: [Cause] = []
        if let match, match.depth > 1 {
            notes.append(
                Cause(
                    .noteSubdomainDepth,
                    "\(url.host) is \(match.depth) labels below \(match.key): Apple's documentation covers subdomains one label "
                        + "deep; its published evaluator covers any depth, and so does this decision.",
                    citation: .apple(ATSKey.includesSubdomains, read: "2026-11-21"), kind: .note))
        }
        if decision.isLocal, let address = url.literalAddress, LocalHosts.isUnverified(address),
            profile.localRule.value == .namesAndDirectAddresses
        {
            notes.append(
                Cause(
                    .noteLocalRangeUnverified,
                    "Only field reports say that addresses in this private range count as local since iOS 17 and macOS 14.",
                    citation: .security("SecProtocolConfigurationTest.m"), kind: .note))
        }
        notes += linkedNotes(url, decision.requirements)
        if match?.entry.minimumTLSVersion == .tls13 {
            let works = profile.facts.supportsTLS13Minimum
            if !profile.facts.supportsTLS13.value {
                notes.append(
                    Cause(
                        .noteTLS13Unknown, "\(profile.name) does not support TLSv1.3; the minimum stays TLSv1.2.",
                        citation: nil, kind: .note))
            } else if !works.value, url.isSecure {
                notes.append(Cause(.noteTLS13Minimum, profile.disputedMinimum, citation: works.citation, kind: .note))
            }
        }
        let obeysLegacyKeys = profile.facts.readsLegacyKeys
        let maySayUnread = !obeysLegacyKeys.value && obeysLegacyKeys.basis != .unknown
        let remarks = dictionary.remarks.filter {
            isRelevant($0.subject, to: url, match) && (maySayUnread || !$0.isAboutLegacyKey)
        }
        // What is about the host itself is closer than the keys of the whole app.
        notes += (remarks.filter { $0.subject != .dictionary } + remarks.filter { $0.subject == .dictionary }).map(
            \.cause)
        if !decision.legacyDoubts.isEmpty {
            notes.append(
                Cause(
                    .dictionaryUnknownKey, profile.legacyKeyDispute, citation: obeysLegacyKeys.citation, kind: .note))
        }
        return notes
    }

    /// What depends on the SDK that the app is linked on.
    private func linkedNotes(_ url: LoadURL, _ requirements: TransportRequirements) -> [Cause] {
        var notes: [Cause] = []
        if requirements.policyMinimum < profile.stackMinimum.value, url.isSecure {
            notes.append(
                Cause(
                    .noteStackMinimum,
                    "ATS accepts \(requirements.policyMinimum) here, but the network stack does not: apps linked on 26 or later speak "
                        + "\(profile.stackMinimum.value) or later on \(profile.name) unless their code sets "
                        + "tlsMinimumSupportedProtocolVersion.", citation: profile.stackMinimum.citation, kind: .note))
        }
        guard let sdk = profile.sdk else { return notes }
        if profile.stackMinimum.basis == .inferred, requirements.effectiveMinimum < profile.facts.releaseMinimum.value,
            url.isSecure
        {
            notes.append(
                Cause(
                    .noteSDKInferred,
                    "That apps linked on \(sdk) still speak \(requirements.effectiveMinimum) on \(profile.name) follows from Apple's words, "
                        + "\"apps linked on or after iOS 26 and macOS 26\"; it was not measured.",
                    citation: profile.stackMinimum.citation, kind: .note))
        }
        if profile.localRule.basis == .inferred, url.literalAddress != nil {
            notes.append(
                Cause(
                    .noteSDKInferred,
                    "That apps linked on \(sdk) still load from addresses as before iOS 17 on \(profile.name) follows from Apple's words, \"apps "
                        + "linked on or after iOS 17\"; it was not measured.", citation: profile.localRule.citation,
                    kind: .note))
        }
        return notes
    }

    /// Whether a remark concerns a URL: about the dictionary itself always, about an exception if it decided or was dropped and would have.
    private func isRelevant(_ subject: Remark.Subject, to url: LoadURL, _ match: ExceptionLookup.Match?) -> Bool {
        switch subject {
        case .dictionary: true
        case .pins(let domain): profile.facts.readsPins.value && url.host.isSameOrBelow(PinnedDomain.normalized(domain))
        case .exception(let key): match.map { $0.key.hasSameBytes(as: key) } ?? url.host.isSameOrBelow(key)
        }
    }
}

extension String {
    /// The host and every domain above it: those that it ``isSameOrBelow(_:)``.
    package var selfAndParents: [String] {
        var names = [self]
        var rest = utf8[...]
        while let dot = rest.firstIndex(of: 0x2E) {
            rest = rest[rest.index(after: dot)...]
            names.append(String(Substring(rest)))
        }
        return names
    }

    /// Whether a host is the domain or one below it.
    package func isSameOrBelow(_ domain: String) -> Bool {
        guard utf8.count >= domain.utf8.count, utf8.suffix(domain.utf8.count).elementsEqual(domain.utf8) else {
            return false
        }
        return utf8.count == domain.utf8.count || utf8.dropLast(domain.utf8.count).last == 0x2E
    }
}

extension ATSPolicy {
    /// The policy of an app's Info.plist, XML or binary.
    ///
    /// As in Apple's parser, of two equal keys the last one counts and what follows the document is ignored; `PlistReader` reports both. The
    /// SDK that the list names (`DTSDKName`, `DTPlatformVersion`) is the one that the app is linked on, whatever the profile has.
    ///
    /// - Throws: `MalformedInput` with code `malformed.plist`, the place and the fix.
    public init(infoPlist bytes: [UInt8], profile: OSProfile = .standard) throws(MalformedInput) {
        let root = try PlistReader.read(bytes).root
        self.init(
            dictionary: ATSDictionary(root[ATSKey.dictionary]?.propertyListValue),
            profile: LinkedSDK(infoPlist: root).map(profile.linked) ?? profile)
    }

    /// The policy of an NSAppTransportSecurity dictionary written as JSON.
    ///
    /// - Throws: `MalformedInput` with code `malformed.json`.
    public init(json bytes: [UInt8], profile: OSProfile = .standard) throws(MalformedInput) {
        self.init(dictionary: ATSDictionary(try PropertyListValue(json: bytes)), profile: profile)
    }
}
