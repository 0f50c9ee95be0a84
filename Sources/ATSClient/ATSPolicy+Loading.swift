// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import AppTransportSecurity
public import Findings
public import TLSFacts

extension ATSPolicy {
    /// The policy of an app's Info.plist, XML or binary, as Foundation reads it.
    ///
    /// Foundation takes the last of two equal keys and ignores what follows the document. The `sealward` commands read with `PlistReader` of
    /// AppBundles instead, which reports both; that target stands beside this one and not below it, so that a client needs no reader of archives
    /// (`docs/arrows.json`). Whoever wants its strictness passes `ATSDictionary` what it read: `init(dictionary:profile:)`.
    ///
    /// - Throws: `MalformedInput` with code `malformed.plist`.
    public init(infoPlist bytes: [UInt8], profile: OSProfile = .standard) throws(MalformedInput) {
        let document = try PropertyListValue(propertyList: bytes)
        self.init(dictionary: ATSDictionary(document.members?["NSAppTransportSecurity"]), profile: profile)
    }

    /// The policy of an NSAppTransportSecurity dictionary written as JSON.
    ///
    /// - Throws: `MalformedInput` with code `malformed.json`.
    public init(json bytes: [UInt8], profile: OSProfile = .standard) throws(MalformedInput) {
        self.init(dictionary: ATSDictionary(try PropertyListValue(json: bytes)), profile: profile)
    }
}

/// An NSAppTransportSecurity dictionary built in code, where names and types cannot be wrong.
///
///     var rules = TransportSecurityRules()
///     rules.except("legacy.example.com", minimumTLS: .tls11)
///     rules.pin("api.example.com", leaves: [digest])
///     let policy = ATSPolicy(dictionary: rules.dictionary, profile: .standard)
public struct TransportSecurityRules: Sendable, Equatable {
    private var globals: [String: PropertyListValue] = [:]
    private var exceptions: [String: PropertyListValue] = [:]
    private var pins: [String: PropertyListValue] = [:]

    /// The default dictionary, `{}`.
    public init() {}

    /// NSAllowsArbitraryLoads; nil leaves the key out.
    public mutating func allowArbitraryLoads(_ allowed: Bool?) {
        globals["NSAllowsArbitraryLoads"] = allowed.map { .boolean($0) }
    }

    /// NSAllowsLocalNetworking; nil leaves the key out. Its mere presence cancels NSAllowsArbitraryLoads.
    public mutating func allowLocalNetworking(_ allowed: Bool?) {
        globals["NSAllowsLocalNetworking"] = allowed.map { .boolean($0) }
    }

    /// An entry of NSExceptionDomains; without arguments it puts the host back under the defaults.
    ///
    /// - Parameter host: as keys are matched: in lower case, without a port.
    public mutating func except(
        _ host: String,
        includingSubdomains: Bool = false,
        allowingInsecureHTTPLoads: Bool = false,
        minimumTLS: TLSVersion? = nil,
        requiringForwardSecrecy: Bool = true
    ) {
        var members: [String: PropertyListValue] = [:]
        if includingSubdomains { members["NSIncludesSubdomains"] = .boolean(true) }
        if allowingInsecureHTTPLoads { members["NSExceptionAllowsInsecureHTTPLoads"] = .boolean(true) }
        if let minimumTLS { members["NSExceptionMinimumTLSVersion"] = .string(minimumTLS.description) }
        if !requiringForwardSecrecy { members["NSExceptionRequiresForwardSecrecy"] = .boolean(false) }
        exceptions[host.lowercased()] = .dictionary(members)
    }

    /// An entry of NSPinnedDomains. An empty list is a pin that nothing matches; nil leaves the list out.
    ///
    /// - Parameters:
    ///   - leaves: SHA-256 digests of SubjectPublicKeyInfo as base64, 44 characters each.
    ///   - authorities: the same, for any certificate above the leaf.
    public mutating func pin(
        _ host: String,
        includingSubdomains: Bool = false,
        leaves: [String]? = nil,
        authorities: [String]? = nil
    ) {
        func identities(_ digests: [String]) -> PropertyListValue {
            .array(digests.map { .dictionary(["SPKI-SHA256-BASE64": .string($0)]) })
        }
        var members: [String: PropertyListValue] = [:]
        if includingSubdomains { members["NSIncludesSubdomains"] = .boolean(true) }
        if let leaves { members["NSPinnedLeafIdentities"] = identities(leaves) }
        if let authorities { members["NSPinnedCAIdentities"] = identities(authorities) }
        pins[host] = .dictionary(members)
    }

    /// The value of NSAppTransportSecurity.
    public var value: PropertyListValue {
        var members = globals
        if !exceptions.isEmpty { members["NSExceptionDomains"] = .dictionary(exceptions) }
        if !pins.isEmpty { members["NSPinnedDomains"] = .dictionary(pins) }
        return .dictionary(members)
    }

    /// The rules as a policy reads them.
    public var dictionary: ATSDictionary { ATSDictionary(value) }
}
