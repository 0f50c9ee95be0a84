// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Findings
import TLSFacts
import TLSProbe
import TestSupport

/// A client under a dictionary, for the loopback servers.
enum Fixture {
    static func policy(_ json: String, os: String = "macos26") throws -> ATSPolicy {
        let dictionary = ATSDictionary(try PropertyListValue(json: Array(json.utf8)))
        return ATSPolicy(dictionary: dictionary, profile: OSProfile.named(os) ?? .standard)
    }

    static func trust(_ servers: LoopbackServers) throws -> TrustAnchors {
        var store = TrustAnchors()
        try store.add(file: servers.authority, kind: .installed)
        return store
    }

    static func client(
        _ servers: LoopbackServers,
        _ json: String = "{}",
        os: String = "macos26",
        _ change: (inout ATSClient.Configuration) -> Void = { _ in }
    ) throws -> ATSClient {
        var configuration = ATSClient.Configuration()
        configuration.addressOverrides = try servers.resolveEntries.map { try AddressOverride($0) }
        configuration.connectTimeout = .seconds(5)
        configuration.totalTimeout = .seconds(15)
        configuration.toleratesUncleanClose = true
        change(&configuration)
        return ATSClient(policy: try policy(json, os: os), trust: try trust(servers), configuration: configuration)
    }

    /// One entry for the test host.
    static func exception(_ members: String, host: String = LoopbackServers.host) -> String {
        "{\"NSExceptionDomains\":{\"\(host)\":{\(members)}}}"
    }
}
