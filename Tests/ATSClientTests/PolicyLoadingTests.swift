// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TLSModel
import Testing
import Vocabulary

@testable import ATSClient

struct PolicyLoadingTests {
    private static let plist = """
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSExceptionDomains</key><dict>
        <key>old.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.1</string></dict>
        </dict></dict></dict></plist>
        """

    @Test("A policy reads the same from an Info.plist, from JSON, and built in code")
    func sameFromAll() throws {
        var dictionary = ATSDictionary()
        dictionary.exceptions["old.example.com"] = ExceptionEntry(minimumTLSVersion: .tls11)
        let json = "{\"NSExceptionDomains\":{\"old.example.com\":{\"NSExceptionMinimumTLSVersion\":\"TLSv1.1\"}}}"
        let policies = [
            try ATSPolicy(infoPlist: Array(Self.plist.utf8)), try ATSPolicy(json: Array(json.utf8)),
            ATSPolicy(dictionary: dictionary, profile: .standard),
            ATSPolicy(dictionary: ATSDictionary(dictionary.propertyListValue), profile: .standard),
        ]
        for policy in policies {
            #expect(policy.decide(try LoadURL("https://old.example.com/")).requirements.minimumTLS == .tls11)
            #expect(policy.decide(try LoadURL("http://old.example.com/")).verdict == .blocked)
            #expect(policy.decide(try LoadURL("https://other.example.com/")).requirements.minimumTLS == .tls12)
        }
    }

    @Test("An empty list of pins stays a pin, and an entry without arguments restores the defaults")
    func emptyEntries() throws {
        var dictionary = ATSDictionary()
        dictionary.arbitraryLoads = true
        dictionary.exceptions["strict.example.com"] = ExceptionEntry()
        dictionary.pinnedDomains = [PinnedDomain(domain: "pinned.example.com", leaves: [])]
        let policy = ATSPolicy(dictionary: dictionary, profile: .standard)
        #expect(policy.decide(try LoadURL("http://strict.example.com/")).verdict == .blocked)
        #expect(policy.decide(try LoadURL("http://other.example.com/")).verdict != .blocked)
        #expect(policy.decide(try LoadURL("https://pinned.example.com/")).requirements.pins?.leaves?.isEmpty == true)
    }
}
