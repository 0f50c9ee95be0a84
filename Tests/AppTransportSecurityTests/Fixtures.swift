// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PropertyLists
import Testing

@testable import AppTransportSecurity

/// Short ways to say a dictionary and to ask about a URL.
func dictionary(_ json: String) throws -> ATSDictionary {
    ATSDictionary(try PropertyListValue(json: Array(json.utf8)))
}

func decide(
    _ url: String, _ json: String = "{}", os: String = "macos26", sdk: Int? = nil, loader: Loader = .urlsession
)
    throws -> URLDecision
{
    let system = try #require(OSProfile.named(os))
    let profile = sdk.flatMap { LinkedSDK(number: $0) }.map(system.linked) ?? system
    return ATSPolicy(dictionary: try dictionary(json), profile: profile).decide(try LoadURL(url), loader: loader)
}

/// One row of a decision table: URL, dictionary, system, whether TLS is required, and the rule that decided.
struct Row: CustomTestStringConvertible, Sendable {
    let url: String
    let json: String
    let os: String
    let required: Bool
    let source: DecidingRule.Source
    let key: String?
    let loader: Loader

    init(
        _ url: String, _ json: String, _ os: String = "macos26", required: Bool, _ source: DecidingRule.Source,
        _ key: String? = nil, loader: Loader = .urlsession
    ) {
        self.url = url
        self.json = json
        self.os = os
        self.required = required
        self.source = source
        self.key = key
        self.loader = loader
    }

    var testDescription: String { "\(url) \(os) \(loader.rawValue) \(json)" }
}
