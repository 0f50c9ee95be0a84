// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppTransportSecurity
import Foundation
import PropertyLists
import TestSupport
import Testing
import Vocabulary

/// What a list says does not depend on the order of its keys, nor on whether it is XML or binary.
@Suite struct ShuffledListTests {

    private static let switches = [
        "NSAllowsArbitraryLoads", "NSAllowsArbitraryLoadsForMedia", "NSAllowsArbitraryLoadsInWebContent",
        "NSAllowsLocalNetworking", "NSAllowArbitraryLoads", "NSAllowsArbitraryLoadsInMedia", "Unheard",
        "NSExceptionRequiresForwardSecrecy", "NSRequiresNIAPTLSPackageVersion",
    ]
    private static let subKeys = [
        "NSIncludesSubdomains", "NSExceptionAllowsInsecureHTTPLoads", "NSExceptionMinimumTLSVersion",
        "NSExceptionRequiresForwardSecrecy", "NSRequiresCertificateTransparency",
        "NSTemporaryExceptionAllowsInsecureHTTPLoads", "NSThirdPartyExceptionMinimumTLSVersion",
        "NSTemporaryExceptionAllowsInsecureHTTPSLoads", "NSExceptionAllowInsecureHTTPLoads",
    ]
    private static let hosts = [
        "api.example.com", "Example.com", "localhost", "localhost:8080", "*.example.org", "https://example.net/x",
        "example.com.", "10.0.0.0/8", "10.0.0.1/8", "100.64.0.1", "2001:db8::/32", "com", "co.uk", "a.b.c.d",
    ]

    private static func scalar(_ random: inout SplitMix) -> Any {
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1, 2: return true
        case 3, 4: return false
        case 5: return ["YES", "TLSv1.0", "TLSv1.2", "1.3", "TLSv1.3"].randomElement(using: &random) ?? ""
        case 6: return Int.random(in: 0...2, using: &random)
        default: return 1.5
        }
    }

    private static func dictionary(_ random: inout SplitMix) -> [String: Any] {
        var ats: [String: Any] = [:]
        for key in switches where Int.random(in: 0..<4, using: &random) == 0 { ats[key] = scalar(&random) }
        var entries: [String: Any] = [:]
        for host in hosts where Int.random(in: 0..<4, using: &random) == 0 {
            var entry: [String: Any] = [:]
            for key in subKeys where Int.random(in: 0..<3, using: &random) == 0 { entry[key] = scalar(&random) }
            entries[host] = Int.random(in: 0..<12, using: &random) == 0 ? scalar(&random) : entry
        }
        ats["NSExceptionDomains"] = entries
        if Bool.random(using: &random) {
            let pin = Bool.random(using: &random) ? "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=" : "not base64"
            ats["NSPinnedDomains"] = ["pin.example.com": ["NSPinnedLeafIdentities": [["SPKI-SHA256-BASE64": pin]]]]
        }
        return [
            "CFBundleIdentifier": "com.example.app", "MinimumOSVersion": Bool.random(using: &random) ? "9.0" : "17.0",
            "NSAppTransportSecurity": ats,
        ]
    }

    /// XML of our own, with the keys of each dictionary in a random order.
    private static func xml(_ value: Any, _ random: inout SplitMix) -> String {
        switch value {
        case let members as [String: Any]:
            var body = ""
            for key in members.keys.sorted().shuffled(using: &random) {
                guard let member = members[key] else { continue }
                body += "\n<key>\(key)</key> " + xml(member, &random)
            }
            return "<dict>\(body)</dict>"
        case let elements as [Any]: return "<array>" + elements.map { xml($0, &random) }.joined() + "</array>"
        case let text as String: return "<string>\(text)</string>"
        case let flag as Bool: return flag ? "<true/>" : "<false/>"
        case let number as Int: return "<integer>\(number)</integer>"
        case let number as Double: return "<real>\(number)</real>"
        default: return "<string/>"
        }
    }

    private static func findings(_ bytes: [UInt8]) throws -> [String] {
        let result = Linter.lint(LintSubject(path: "Info.plist", document: try PlistReader.read(bytes)))
        return result.findings.map {
            "\($0.finding.rule) \($0.finding.severity.rawValue) \($0.finding.keyPath) \($0.finding.message)"
        }.sorted() + result.reviewTriggers.sorted()
    }

    @Test func saysTheSameOfEachForm() throws {
        var random = SplitMix(state: 20_261_121)
        var total = 0
        for _ in 0..<300 {
            let list = Self.dictionary(&random)
            let first = try Self.findings(Array("<plist>\(Self.xml(list, &random))</plist>".utf8))
            total += first.count
            for _ in 0..<2 {
                let text = "<plist>\(Self.xml(list, &random))</plist>"
                #expect(try Self.findings(Array(text.utf8)) == first, "\(text)")
                let object = try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil)
                for format: PropertyListSerialization.PropertyListFormat in [.binary, .xml] {
                    let data = try PropertyListSerialization.data(fromPropertyList: object, format: format, options: 0)
                    #expect(try Self.findings(Array(data)) == first, "\(format.rawValue) of \(text)")
                }
            }
        }
        // Lists without findings would prove nothing.
        #expect(total > 1_500)
    }
}
