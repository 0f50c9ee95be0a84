// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import PropertyLists
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

/// A client under a dictionary, for the loopback servers.
enum Fixture {
    static func policy(_ json: String, os: String = "macos26", sdk: Int? = nil) throws -> ATSPolicy {
        let dictionary = ATSDictionary(try PropertyListValue(json: Array(json.utf8)))
        let system = OSProfile.named(os) ?? .standard
        let profile = sdk.flatMap { LinkedSDK(number: $0) }.map(system.linked) ?? system
        return ATSPolicy(dictionary: dictionary, profile: profile)
    }

    static var servers: LoopbackServers { get throws { try #require(LoopbackServers.shared) } }

    static func server(_ kind: String) throws -> LoopbackServers.Server { try servers.server(kind) }

    static func trust() throws -> TrustAnchors {
        var store = TrustAnchors()
        try store.add(file: servers.authority, kind: .installed)
        return store
    }

    static func client(
        _ json: String = "{}", os: String = "macos26", _ change: (inout ATSClient.Configuration) -> Void = { _ in }
    ) throws -> ATSClient {
        var configuration = ATSClient.Configuration()
        configuration.addressOverrides = try servers.resolveEntries.map { try AddressOverride($0) }
        configuration.connectTimeout = .seconds(5)
        configuration.totalTimeout = .seconds(15)
        configuration.toleratesUncleanClose = true
        change(&configuration)
        return ATSClient(policy: try policy(json, os: os), trust: try trust(), configuration: configuration)
    }

    /// One entry for the test host.
    static func exception(_ members: String, host: String = LoopbackServers.host) -> String {
        "{\"NSExceptionDomains\":{\"\(host)\":{\(members)}}}"
    }
}
