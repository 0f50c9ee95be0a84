// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Formats
import Foundation
import PropertyLists
import Testing
import Vocabulary

@testable import ATSLint

@Suite struct LintBehaviourTests {
    @Test func pointsAtLineAndColumn() throws {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0">
            <dict>
              <key>NSAppTransportSecurity</key>
              <dict>
                <key>NSAllowArbitraryLoads</key>
                <true/>
              </dict>
            </dict>
            </plist>
            """
        let finding = try #require(Linter.lint(try LintFixtures.subject(text)).findings.first?.finding)
        #expect(finding.rule == "ATS001")
        #expect(finding.location == SourceLocation(line: 6, column: 5))
        #expect(finding.keyPath == ["NSAppTransportSecurity", "NSAllowArbitraryLoads"])
        #expect(finding.message.contains("NSAllowsArbitraryLoads"))
    }

    @Test(
        "A key with a piece missing or in quotation marks is an error with the right name",
        arguments: [
            ("<key>NSAllowsLocalNetwork</key><true/>", "NSAllowsLocalNetworking"),
            ("<key>“NSAllowsArbitraryLoads”</key><true/>", "NSAllowsArbitraryLoads"),
            (
                "<key>NSExceptionDomains</key><dict><key>a.example</key><dict><key>NSRequiresForwardSecrecy</key><false/></dict></dict>",
                "NSExceptionRequiresForwardSecrecy"
            ),
            (
                "<key>NSExceptionDomains</key><dict><key>a.example</key><dict><key>NSAllowsInsecureHTTPLoads</key><true/></dict></dict>",
                "NSExceptionAllowsInsecureHTTPLoads"
            ),
        ])
    func incompleteKeys(_ ats: String, _ right: String) throws {
        let finding = try #require(
            try LintFixtures.lint(ats: ats).findings.map(\.finding).first { $0.rule == "ATS001" })
        #expect(finding.message.contains("'\(right)'") && finding.fix?.contains(right) == true, "\(finding.message)")
    }

    @Test(
        "A dictionary that is never read is an error: the author wants its effect",
        arguments: [
            (
                "<key>b.example</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>",
                "Move it into NSExceptionDomains"
            ),
            (
                "<key>localhost</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>",
                "Move it into NSExceptionDomains"
            ),
            (
                "<key>NSExceptionDomains</key><dict><key>example</key><dict><key>b.example</key><dict/></dict></dict>",
                "Move it up, directly into NSExceptionDomains"
            ),
            (
                "<key>NSExceptionDomains</key><dict><key>com</key><dict><key>example</key><dict><key>NSIncludesSubdomains</key><true/></dict></dict></dict>",
                "Move it up, directly into NSExceptionDomains"
            ),
            (
                "<key>NSPinnedDomains</key><dict><key>a.example</key><dict><key>b.a.example</key><dict/></dict></dict>",
                "Move it up, directly into NSPinnedDomains"
            ),
            (
                "<key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key><true/></dict>",
                "into the outer dictionary"
            ),
        ])
    func dictionariesInTheWrongPlace(_ ats: String, _ fix: String) throws {
        let finding = try #require(
            try LintFixtures.lint(ats: ats).findings.map(\.finding).first { $0.rule == "ATS037" })
        #expect(finding.severity == .error && finding.fix?.contains(fix) == true, "\(finding.message)")
    }

    @Test("A key that is no host of the local network is not said to be one")
    func localNetworkIsNotGuessed() throws {
        for key in ["*", "$(API_HOST)", "com"] {
            let entry =
                "<key>NSIncludesSubdomains</key><true/><key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"
            let result = try LintFixtures.lint(
                ats: "<key>NSExceptionDomains</key><dict><key>\(key)</key><dict>\(entry)</dict></dict>",
                root: "<key>CFBundleIdentifier</key><string>com.example.app</string>")
            #expect(!result.findings.contains { $0.finding.message.contains("on the local network") }, "\(key)")
        }
    }

    @Test(
        "A part of an address is no range, and permits nothing",
        arguments: [
            "192.168.1", "192.168.*.*", "10.*", "192.168.1.300", "192.168.1.1-192.168.1.20", "192.168.1.x", "127.1",
            "0x7f.1", "2130706433",
        ])
    func partsOfAddresses(_ key: String) throws {
        let findings = try Self.openTo(key)
        #expect(findings.map(\.rule) == ["ATS009"], "\(findings)")
        #expect(findings.first?.severity == .error && findings.first?.fix?.contains("/24") == true, "\(findings)")
    }

    @Test(
        "A key with a colon is no host, and the fix is the key to write",
        arguments: [
            ("[2001:db8::1]", "Write '2001:db8::1'."), ("[2001:DB8::1]:8080", "Write '2001:db8::1'."),
            ("[::1]", "Remove the entry: '::1' is local and needs none."), ("a.example.com:", "Write 'a.example.com'."),
            ("fe80::1%en0", "Remove the entry: 'fe80::1' is local and needs none."),
            ("https:a.example.com", "Write the host as it appears in the URL, without scheme, port and path."),
        ])
    func keysWithColons(_ key: String, _ fix: String) throws {
        let findings = try Self.openTo(key)
        #expect(findings.map(\.severity) == [.error] && findings.map(\.fix) == [fix], "\(findings)")
    }

    @Test("A private domain is no suffix in which anyone registers names", arguments: [("lan", false), ("com", true)])
    func privateDomains(_ key: String, _ isShared: Bool) throws {
        let entry = "<key>NSIncludesSubdomains</key><true/><key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"
        let result = try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict><key>\(key)</key><dict>\(entry)</dict></dict>")
        #expect(result.findings.contains { $0.finding.rule == "ATS028" } == isShared, "\(key)")
    }

    @Test("An address that needs no exception is to be removed, also where the app runs on systems that read none")
    func localAddresses() throws {
        for key in ["::1", "127.0.0.1", "127.0.0.0/8"] {
            let findings = try Self.openTo(key, root: "<key>MinimumOSVersion</key><string>15.0</string>")
            #expect(findings.map(\.fix) == ["Remove the entry."], "\(findings)")
        }
    }

    private static func openTo(_ key: String, root: String = "") throws -> [Finding] {
        let entry = "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"
        return try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict><key>\(key)</key><dict>\(entry)</dict></dict>", root: root
        ).findings.map(\.finding)
    }

    @Test("A hardening that is not switched on, because its value is none, is an error")
    func unknownHardening() throws {
        for value in ["fcp_v2.1", "FCP_v2.0", "true"] {
            let findings = try LintFixtures.lint(
                ats: "<key>NSRequiresNIAPTLSPackageVersion</key><string>\(value)</string>"
            ).findings.map(\.finding)
            #expect(findings.map(\.rule) == ["ATS029"] && findings.first?.severity == .error, "\(findings)")
        }
    }

    @Test(
        "What a fix says to check can be checked: a host, an address, and no range",
        arguments: [
            ("a.example.com", "'sealward ats check a.example.com'"),
            ("203.0.113.9", "'sealward ats check 203.0.113.9'"),
            ("203.0.113.0/24", "'sealward ats check ADDRESS'"), ("2001:db8::/32", "'sealward ats check ADDRESS'"),
        ]
    )
    func fixesNameTargets(_ key: String, _ command: String) throws {
        for member in [
            "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>",
            "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>",
        ] {
            let ats = "<key>NSExceptionDomains</key><dict><key>\(key)</key><dict>\(member)</dict></dict>"
            let findings = try LintFixtures.lint(ats: ats).findings
            let fixes = findings.compactMap(\.finding.fix).filter { $0.contains("ats check ") }
            #expect(!fixes.isEmpty && fixes.allSatisfy { $0.contains(command) }, "\(fixes)")
        }
    }

    @Test(arguments: [
        ("<key>NSAllowsArbitraryLoads</key><true/>", ["NSAllowsArbitraryLoads"]),
        ("<key>NSAllowsArbitraryLoadsForMedia</key><true/>", ["NSAllowsArbitraryLoadsForMedia"]),
        ("<key>NSAllowsArbitraryLoadsInWebContent</key><true/>", ["NSAllowsArbitraryLoadsInWebContent"]),
        ("<key>NSAllowsLocalNetworking</key><true/>", []),
        (
            "<key>NSExceptionDomains</key><dict><key>a.example.com</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict>",
            ["NSExceptionAllowsInsecureHTTPLoads"]
        ),
        (
            "<key>NSExceptionDomains</key><dict><key>a.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.1</string></dict></dict>",
            ["NSExceptionMinimumTLSVersion"]
        ),
        (
            "<key>NSExceptionDomains</key><dict><key>a.example.com</key><dict><key>NSExceptionRequiresForwardSecrecy</key><false/></dict></dict>",
            []
        ),
    ]) func namesWhatAppReviewAsksAbout(_ ats: String, _ triggers: [String]) throws {
        #expect(try LintFixtures.lint(ats: ats).reviewTriggers == triggers)
    }

    /// Linked on 26, an exception for TLS 1.0 is dead on 26 and later; with an older SDK, or none that is known, that is still to come.
    @Test(
        arguments: [
            ("iphoneos26.0", Severity.warning, "linked on SDK 26"), ("macosx26.4", .warning, "linked on SDK 26"),
            ("iphoneos18.5", .note, "(today it is 18)"), (nil, .note, "As soon as"),
        ] as [(String?, Severity?, String)]
    )
    func exceptionsForOldVersionsAreDeadByTheSDK(_ sdk: String?, _ severity: Severity?, _ words: String) throws {
        for (version, isOld) in [("TLSv1.0", true), ("TLSv1.1", true), ("TLSv1.2", false), ("1.0", false)] {
            let result = try LintFixtures.lint(
                ats:
                    "<key>NSExceptionDomains</key><dict><key>a.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>\(version)</string></dict></dict>",
                root: (sdk.map { "<key>DTSDKName</key><string>\($0)</string>" } ?? "")
                    + "<key>MinimumOSVersion</key><string>15.0</string>")
            let found = result.findings.first { !Set($0.rules).isDisjoint(with: ["ATS041", "ATS046"]) }
            #expect((found != nil) == isOld, "\(version)")
            guard let found else { continue }
            let finding = found.finding
            #expect(finding.rule == "ATS016" && finding.message.contains(words), "\(finding.message)")
            let works = finding.message.contains("It still works before iOS 26")
            #expect(works == found.rules.contains("ATS046") && found.rules.contains("ATS041") == (severity == .note))
            #expect(finding.keyPath.last == "NSExceptionMinimumTLSVersion")
        }
    }

    /// A key that is an address is compared as text: the linter says so of each that the policy does not find by another spelling.
    @Test(
        arguments: [
            ("2001:db8::5", [], true), ("2001:DB8::5", ["ATS007"], false), ("2001:db8:0:0::5", ["ATS009"], false),
            ("2001:DB8:0::5", ["ATS007"], false), ("198.51.100.5", [], true), ("198.051.100.5", ["ATS009"], false),
            ("2001:DB8::/32", [], true),
        ] as [(String, [String], Bool)]
    )
    func addressesAreComparedAsText(_ key: String, _ rules: [String], _ matches: Bool) throws {
        let result = try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict><key>\(key)</key><dict>"
                + "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict>")
        let findings = result.findings.map(\.finding)
        let found = findings.filter { ["ATS007", "ATS009"].contains($0.rule) }
        #expect(found.map(\.rule) == rules)
        let usual = key.contains(":") ? "2001:db8::5" : "198.51.100.5"
        #expect(found.allSatisfy { $0.fix == "Write '\(usual)'." }, "\(found)")
        let url = try LoadURL("http://\(key.contains(":") ? "[\(usual)]" : usual)/")
        let ats = result.subject.document.root[ATSKey.dictionary]?.propertyListValue
        let decision = ATSPolicy(dictionary: ATSDictionary(ats), profile: .standard).decide(url)
        #expect((decision.verdict == .allowed) == matches)
        // What no URL reaches is not called allowed; App Review sees the key all the same.
        let isDead = rules == ["ATS007"] || key == "198.051.100.5"
        #expect(result.findings.contains { $0.rules == ["ATS015", "ATS017"] } == !isDead)
        #expect(result.reviewTriggers == ["NSExceptionAllowsInsecureHTTPLoads"])
    }

    /// The linter says of each value for a minimum what the policy makes of it.
    @Test(arguments: [
        ("TLSv1.0", "ATS016", true), ("DTLSv1.0", "ATS003", false), ("DTLSv1.2", "ATS003", false),
        ("DTLSv1.1", "ATS003", false),
    ])
    func minimaAreThePolicys(_ value: String, _ rule: String, _ counts: Bool) throws {
        let result = try LintFixtures.lint(
            ats:
                "<key>NSExceptionDomains</key><dict><key>e.example</key><dict><key>NSExceptionMinimumTLSVersion</key><string>\(value)</string></dict></dict>"
        )
        let found = result.findings.map(\.finding).filter { ["ATS003", "ATS016"].contains($0.rule) }
        #expect(found.map(\.rule) == [rule])
        #expect(result.reviewTriggers.isEmpty != counts)
        let ats = ATSDictionary(result.subject.document.root[ATSKey.dictionary]?.propertyListValue)
        #expect((ats.exceptions["e.example"]?.minimumTLSVersion != nil) == counts)
        let isParsed = value == "DTLSv1.0" || value == "DTLSv1.2"
        for message in found.map(\.message) + ats.remarks.map(\.cause.message) {
            #expect(message.contains("which Apple's parser reads") == isParsed, "\(message)")
        }
        #expect(found.first?.severity == (rule == "ATS003" && !isParsed ? .error : .warning))
    }

    /// A minimum of TLS 1.3 does not work on every system that speaks it.
    @Test(arguments: [("12.2", true), ("13.0", true), ("14.0", false)])
    func aMinimumOfTLS13IsDisputedOnOldSystems(_ minimum: String, _ isOld: Bool) throws {
        let result = try LintFixtures.lint(
            ats:
                "<key>NSExceptionDomains</key><dict><key>e.example</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string></dict></dict>",
            root: "<key>MinimumOSVersion</key><string>\(minimum)</string>")
        let message = try #require(result.findings.first { $0.finding.rule == "ATS033" }).finding.message
        #expect(message.contains("On systems before iOS 14 and macOS 11") == isOld, "\(message)")
    }

    /// The old name of a key is told with its date, and with no key but that one.
    @Test(arguments: [("NSAllowsArbitraryLoadsInMedia", true), ("NSAllowsArbitraryLoadsInWebView", false)])
    func theOldNameHasItsDate(_ key: String, _ isOld: Bool) throws {
        let result = try LintFixtures.lint(ats: "<key>\(key)</key><true/>")
        let message = try #require(result.findings.first { $0.finding.rule == "ATS001" }).finding.message
        #expect(message.contains("(it was one until 2016-11-14)") == isOld, "\(message)")
    }

    /// A key that nobody reads leaves the app without what its author wants: an error that names the right one, not a warning.
    @Test(arguments: [
        ("AllowArbitraryLoads", "NSAllowsArbitraryLoads"), ("allowsArbitraryLoads", "NSAllowsArbitraryLoads"),
        ("NSAllowsArbitraryLoadsInWebview", "NSAllowsArbitraryLoadsInWebContent"),
        ("NSAllowsLocalNetworks", "NSAllowsLocalNetworking"),
        ("NSTemporaryThirdPartyExceptionAllowsInsecureHTTPLoads", "NSExceptionAllowsInsecureHTTPLoads"),
        ("NSAllowInsecureHTTPLoads", "NSExceptionAllowsInsecureHTTPLoads"),
    ])
    func slipsAreErrors(_ key: String, _ meant: String) throws {
        let entry = meant.hasPrefix("NSException")
        let list = "<key>\(key)</key><true/>"
        let hosts = "<key>NSExceptionDomains</key><dict><key>a.example</key><dict>\(list)</dict></dict>"
        let found = try LintFixtures.lint(ats: entry ? hosts : list).findings.map(\.finding)
        let finding = try #require(found.first { $0.rule == "ATS001" }, "\(found)")
        #expect(finding.severity == .error && finding.fix?.contains("Rename it to \(meant)") == true, "\(finding)")
    }

    /// Linked on an SDK before 9, an app has no App Transport Security, with a dictionary and without.
    @Test(arguments: ["", "<key>NSAppTransportSecurity</key><dict><key>NSAllowsLocalNetworking</key><true/></dict>"])
    func oldSDKsHaveNoTransportSecurity(_ ats: String) throws {
        for (sdk, isOff) in [("iphoneos8.4", true), ("iphoneos9.0", false)] {
            let list = "<plist><dict><key>DTSDKName</key><string>\(sdk)</string>\(ats)</dict></plist>"
            let findings = Linter.lint(try LintFixtures.subject(list)).findings.map(\.finding)
            #expect(findings.contains { $0.rule == "ATS048" && $0.message.contains("linked on SDK 8") } == isOff)
            #expect(!findings.contains { $0.message.contains("default rules") } || !isOff && ats.isEmpty)
        }
    }

    @Test(
        "All faults of one key are one finding, with the one key to write",
        arguments: [
            ("Foo.com:8080", "Write 'foo.com'."), ("B.COM.", "Write 'b.com'."),
            ("https://API.Example.com:8443/v1", "Write 'api.example.com'."), (" example.com", "Write 'example.com'."),
            ("*.Example.com", "Write 'example.com' with NSIncludesSubdomains = true."),
        ]
    )
    func adviceAgrees(_ key: String, _ fix: String) throws {
        let entry = "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string>"
        let ats = "<key>NSExceptionDomains</key><dict><key>\(key)</key><dict>\(entry)</dict></dict>"
        let found = try LintFixtures.lint(ats: ats).findings.map(\.finding)
        let ofKey = found.filter { $0.keyPath.last == key }
        #expect(ofKey.map(\.fix) == [fix] && ofKey.allSatisfy { $0.severity == .error }, "\(ofKey)")
    }

    @Test(
        "A value of the wrong type is told with what then is read: the current key, or nothing where the key is obsolete",
        arguments: [
            (
                "a.example", "<key>NSTemporaryExceptionAllowsInsecureHTTPLoads</key><string>YES</string>",
                "Write NSExceptionAllowsInsecureHTTPLoads with <true/>, or remove it."
            ),
            (
                "a.example",
                "<key>NSExceptionAllowsInsecureHTTPLoads</key><false/><key>NSThirdPartyExceptionAllowsInsecureHTTPLoads</key><string>NO</string>",
                "Remove it."
            ),
            (
                "a.example", "<key>NSTemporaryExceptionMinimumTLSVersion</key><real>1.1</real>",
                "Write NSExceptionMinimumTLSVersion with <string>TLSv1.1</string>, or remove it."
            ),
            ("a.example", "<key>NSRequiresCertificateTransparency</key><string>YES</string>", "Remove it."),
            (
                "nas.local.", "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>",
                "Remove the entry."
            ),
        ])
    func oneThingToWrite(_ host: String, _ entry: String, _ fix: String) throws {
        let found = try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict><key>\(host)</key><dict>\(entry)</dict></dict>"
        ).findings.map(\.finding).filter { $0.severity > .note }
        #expect(found.map(\.fix).contains(fix) && !found.contains { $0.fix == "Write <true/>." }, "\(found)")
        #expect(found.count == 1 || entry.contains("NSExceptionAllowsInsecureHTTPLoads</key><false/>"), "\(found)")
    }

    @Test("Of keys that mean one host the first is to be written, the others removed")
    func oneKeyIsWrittenOnce() throws {
        let entry = "<dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string></dict>"
        let keys = ["foo.com:80", "https://foo.com/", "*.foo.com", "bar.com"]
        let ats = keys.map { "<key>\($0)</key>\(entry)" }.joined()
        let found = try LintFixtures.lint(ats: "<key>NSExceptionDomains</key><dict>\(ats)</dict>").findings
            .map(\.finding).filter { $0.severity == .error }
        let remove = "Remove it: another entry is for 'foo.com', and one key can be there only once."
        #expect(
            found.map(\.fix) == [remove, remove, "Write 'foo.com' with NSIncludesSubdomains = true."], "\(found)")
    }

    /// The nearest entry decides alone: of a name above, or of the smallest range around.
    @Test(arguments: [
        ("10.1.0.0/16", "10.0.0.0/8", true), ("10.1.2.3", "10.0.0.0/8", true), ("11.1.2.3", "10.0.0.0/8", false),
        ("10.0.0.1/8", "10.0.0.0/8", false), ("a.b.example.com", "example.com", true),
    ])
    func nothingIsInherited(_ key: String, _ around: String, _ isAround: Bool) throws {
        let parent =
            "<key>NSIncludesSubdomains</key><true/><key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"
        func messages(_ entry: String) throws -> [String] {
            try LintFixtures.lint(
                ats: "<key>NSExceptionDomains</key><dict><key>\(key)</key><dict>\(entry)</dict><key>\(around)</key>"
                    + "<dict>\(parent)</dict></dict>"
            ).findings.map(\.finding.message)
        }
        let sentence = "\(key) does not inherit NSExceptionAllowsInsecureHTTPLoads from \(around)"
        #expect(try messages("").contains { $0.contains(sentence) } == isAround)
        // What an entry says itself is meant so.
        let own = "<key>NSExceptionAllowsInsecureHTTPLoads</key><false/>"
        #expect(try !messages(own).contains { $0.contains(sentence) })
    }

    /// The rule about addresses of iOS 17 holds for apps that are linked on 17 or later.
    @Test(arguments: [("iphoneos16.4", true), ("iphoneos17.0", false)]) func addressKeysNeedTheSDKOf17(
        _ sdk: String, _ fires: Bool
    ) throws {
        let result = try LintFixtures.lint(
            ats:
                "<key>NSExceptionDomains</key><dict><key>198.51.100.0/24</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string></dict></dict>",
            root: "<key>DTSDKName</key><string>\(sdk)</string><key>MinimumOSVersion</key><string>17.0</string>")
        let findings = result.findings.filter { $0.finding.rule == "ATS009" }
        #expect(findings.isEmpty != fires)
        #expect(findings.allSatisfy { $0.finding.message.contains("linked on SDK 16") })
    }

    /// The linter calls a pin unreadable exactly if the policy skips it, and gives its length exactly if it matches nothing.
    @Test(arguments: [
        "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=", "AA=A", "AAF=", "AAAA", "AAAA\n", "=", "not base64",
    ])
    func pinsAreThePolicys(_ pin: String) throws {
        let pinned =
            "<key>NSPinnedDomains</key><dict><key>example.com</key><dict><key>NSPinnedCAIdentities</key><array>"
            + "<dict><key>SPKI-SHA256-BASE64</key><string>\(pin)</string></dict></array></dict></dict>"
        let subject = try LintFixtures.subject(
            "<plist><dict><key>NSAppTransportSecurity</key><dict>\(pinned)</dict></dict></plist>")
        let messages = Linter.lint(subject).findings.filter { $0.finding.rule == "ATS026" }.map(\.finding.message)
        let remarks = ATSDictionary(subject.document.root[ATSKey.dictionary]?.propertyListValue).remarks
            .map(\.cause.message)
        #expect(
            messages.contains { $0.contains("is not base64") } == remarks.contains { $0.contains("contains no base64") }
        )
        #expect(messages.contains { $0.contains("matches it") } == remarks.contains { $0.contains("matches nothing") })
    }

    /// One pin without a second is an error that names the command which writes both, in either list.
    @Test(arguments: ["NSPinnedCAIdentities", "NSPinnedLeafIdentities"]) func oneLonePinIsAnError(_ list: String) throws
    {
        func lint(_ pins: [String]) throws -> [Finding] {
            let identities = pins.map { "<dict><key>SPKI-SHA256-BASE64</key><string>\($0)</string></dict>" }.joined()
            return try LintFixtures.lint(
                ats:
                    "<key>NSPinnedDomains</key><dict><key>example.com</key><dict><key>\(list)</key><array>\(identities)</array></dict></dict>"
            ).findings.map(\.finding).filter { $0.rule == "ATS026" }
        }
        let (one, two) = (
            "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=", "++MBgDH5WGvL9Bcn5Be30cRcL0f5O+NyoXuWtQdX1aI="
        )
        let lone = try #require(try lint([one]).first)
        #expect(lone.severity == .error && lone.fix?.contains("sealward ats pins example.com --spare FILE") == true)
        #expect(try lint([one, two]).isEmpty)
        #expect(try lint([one, one]).map(\.severity) == [.error])
    }

    /// Apple's recipe for apps that also run on iOS 9 stands beside what App Review asks about the same key.
    @Test func olderSystemsGetApplesRecipe() throws {
        let result = try LintFixtures.lint(
            ats: "<key>NSAllowsArbitraryLoadsInWebContent</key><true/>",
            root: "<key>MinimumOSVersion</key><string>9.0</string>")
        #expect(
            result.findings.contains { $0.finding.message.contains("NSAllowsArbitraryLoads = true beside the key") })
        #expect(RuleCatalog.rule("ATS016")?.reason.contains("any value") == true)
    }

    /// The linter calls a host local exactly if the policy does.
    @Test(arguments: [
        "localhost", "intranet", "com", "printer.local", "app.localhost", "example.com", "127.0.0.1", "::1", "fe80::1",
    ])
    func localHostsAreThePolicys(_ host: String) throws {
        let url = try LoadURL("http://\(host.contains(":") ? "[\(host)]" : host)/")
        let decision = ATSPolicy(dictionary: ATSDictionary(), profile: .standard).decide(url, loader: .urlsession)
        let result = try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict><key>\(host)</key><dict>"
                + "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict>")
        #expect(result.findings.contains { $0.finding.rule == "ATS023" } == decision.isLocal)
        #expect(result.findings.contains { $0.rules.contains("ATS017") } == !decision.isLocal)
    }

    /// An entry replaces that hosts are local also where its key is a range, or an address that only field reports call local.
    @Test(arguments: [
        ("127.0.0.0/8", "http://127.0.0.1/"), ("fe80::/10", "http://[fe80::1]/"),
        ("192.168.0.0/16", "http://192.168.1.5/"), ("192.168.1.5", "http://192.168.1.5/"),
        ("198.51.100.0/24", "http://198.51.100.7/"),
    ])
    func anEmptyEntryBlocksWhatIsLocal(_ key: String, _ text: String) throws {
        let url = try LoadURL(text)
        let dictionary = ATSDictionary(exceptions: [key: ExceptionEntry()])
        func isPermitted(_ dictionary: ATSDictionary) -> Bool {
            ATSPolicy(dictionary: dictionary, profile: .standard).decide(url).verdict != .blocked
        }
        let blocks = isPermitted(ATSDictionary()) && !isPermitted(dictionary)
        let result = try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict><key>\(key)</key><dict/></dict>")
        let messages = result.findings.filter { $0.finding.rule == "ATS023" }.map(\.finding.message)
        #expect(messages.count == (blocks ? 1 : 0), "\(result.findings.map(\.finding.message))")
        #expect(messages.allSatisfy { $0.contains("This entry blocks plain HTTP to it since iOS 17 and macOS 14") })
        let isReported = key.hasPrefix("192")
        #expect(messages.allSatisfy { $0.contains("as field reports say") == isReported }, "\(messages)")
    }

    /// A range that covers local networks blocks plain HTTP to them, whatever its first addresses are.
    @Test(arguments: ["0.0.0.0/0", "::/0", "192.0.0.0/8"]) func aRangeAroundLocalAddressesIsTold(_ key: String) throws {
        func lint(_ entries: String) throws -> [Finding] {
            try LintFixtures.lint(ats: "<key>NSExceptionDomains</key><dict>\(entries)</dict>").findings.map(\.finding)
        }
        let found = try lint("<key>\(key)</key><dict/>")
        #expect(
            found.map(\.rule) == ["ATS027"] && found.allSatisfy { $0.message.contains("plain HTTP to them is blocked") }
        )
        let entry = "<dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>"
        #expect(try !lint("<key>\(key)</key>\(entry)").contains { $0.message.contains("is blocked") })
        #expect(try lint("<key>198.51.100.0/24</key><dict/>").contains { $0.message.contains("changes nothing") })
    }

    @Test(
        "An entry that is to be removed is one finding with the errors of its keys, and with one thing to do",
        arguments: [
            ("localhost", "<key>NSExceptionAllowsInsecureHTTPLoads</key><string>YES</string>", "Remove the entry."),
            (
                "nas.local",
                "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/><key>NSIncludesSubdomains</key><string>YES</string>",
                "Remove the entry."
            ),
            (
                "localhost", "<key>NSExceptionMinimumTLSVersion</key><real>1.2</real>",
                "Remove the entry, unless you mean to block the host."
            ),
        ])
    func anEntryToRemoveIsOneFinding(_ host: String, _ entry: String, _ fix: String) throws {
        let result = try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict><key>\(host)</key><dict>\(entry)</dict></dict>")
        #expect(result.findings.map(\.finding.fix) == [fix], "\(result.findings.map(\.finding.message))")
        let finding = try #require(result.findings.first)
        #expect(finding.rules.contains("ATS002") && finding.finding.rule == "ATS023")
        #expect(finding.finding.severity == .error && finding.finding.message.contains("counts as absent"))
        // What the author wants is still to be read there, so no edit takes it away.
        #expect(finding.edits.isEmpty)
    }

    /// With its subdomains a name without a dot is no local host but a top-level domain.
    @Test(arguments: [
        ("com", true), ("COM", false), ("cloud", true), ("intranet", false), ("local", false), ("localhost", false),
    ])
    func aTopLevelDomainIsNotLocal(_ key: String, _ isBroad: Bool) throws {
        let rules = try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict><key>\(key)</key><dict><key>NSIncludesSubdomains</key><true/>"
                + "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict>"
        ).findings.map(\.finding.rule)
        #expect(rules.contains("ATS028") == isBroad)
        #expect(!(rules.contains("ATS023") && isBroad))
    }

    @Test(arguments: [("9.0", "ATS011", Severity.warning), ("10.0", "ATS011", .error), ("15.0", "ATS011", .error)])
    func theOldestSystemDecides(_ minimum: String, _ rule: String, _ severity: Severity) throws {
        let result = try LintFixtures.lint(
            ats: "<key>NSAllowsArbitraryLoads</key><true/><key>NSAllowsArbitraryLoadsInWebContent</key><true/>",
            root: "<key>MinimumOSVersion</key><string>\(minimum)</string>")
        #expect(result.findings.first { $0.rules.contains(rule) }?.finding.severity == severity)
        #expect(result.subject.minimumOS?.text == minimum)
    }

    @Test(arguments: [("16.0", 1), ("17.0", 0)]) func addressKeysNeedNewSystems(_ minimum: String, _ count: Int) throws
    {
        let result = try LintFixtures.lint(
            ats:
                "<key>NSExceptionDomains</key><dict><key>198.51.100.0/24</key><dict><key>NSExceptionRequiresForwardSecrecy</key><false/></dict></dict>",
            root: "<key>MinimumOSVersion</key><string>\(minimum)</string>")
        #expect(result.findings.count { $0.finding.rule == "ATS009" } == count)
    }

    /// The order of keys and the encoding of the file do not matter.
    @Test(arguments: RealDictionaryTests.all) func findingsDoNotDependOnOrderOrEncoding(
        _ expected: RealDictionaryTests.Expected
    ) throws {
        let bytes = Array(try Data(contentsOf: LintFixtures.vectors.appendingPathComponent(expected.file)))
        let document = try PlistReader.read(bytes)
        let reference = Self.essence(Linter.lint(LintSubject(path: "x", document: document)))
        let reordered = PlistDocument(root: Self.reversed(document.root), format: .xml)
        #expect(Self.essence(Linter.lint(LintSubject(path: "x", document: reordered))) == reference)
        let object = try PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: nil)
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let data = try PropertyListSerialization.data(fromPropertyList: object, format: format, options: 0)
            let again = try PlistReader.read(Array(data))
            #expect(Self.essence(Linter.lint(LintSubject(path: "x", document: again))) == reference)
        }
    }

    private static func essence(_ result: LintResult) -> [String] {
        result.findings.map(\.finding).map { "\($0.rule) \($0.severity) \($0.keyPath.keyPathText) \($0.message)" }
            .sorted()
    }

    private static func reversed(_ node: PlistNode) -> PlistNode {
        switch node.value {
        case .dictionary(let members):
            PlistNode(.dictionary(members.reversed().map { PlistMember($0.key, reversed($0.node)) }))
        case .array(let elements): PlistNode(.array(elements.map(reversed)))
        default: PlistNode(node.value)
        }
    }

    @Test func theBaselineIsARatchet() throws {
        let old = try LintFixtures.lint(ats: "<key>NSAllowsArbitraryLoads</key><true/>")
        let new = try LintFixtures.lint(
            ats: "<key>NSAllowsArbitraryLoads</key><true/><key>NSAllowArbitraryLoads</key><true/>")
        let clean = try LintFixtures.lint(ats: "")
        let baseline = Baseline([old])
        #expect(try Baseline(json: Array(baseline.json().rendered().utf8)) == baseline)
        #expect(baseline.compare([old]).new.flatMap(\.findings).isEmpty)
        #expect(baseline.compare([new]).new.flatMap(\.findings).map(\.finding.rule) == ["ATS001"])
        #expect(baseline.compare([new]).tightened == baseline)
        #expect(baseline.compare([clean]).healed == 1)
        #expect(baseline.compare([clean]).tightened.compare([old]).new.flatMap(\.findings).count == 1)
    }

    @Test func aFixNeverLoosens() throws {
        let text =
            "<plist><dict><key>NSAppTransportSecurity</key><dict>\n<key>NSAllowArbitraryLoads</key>\n<true/>\n<key>NSExceptionDomains</key><dict>\n<key>API.example.com</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>\n</dict></dict></dict></plist>"
        let subject = try LintFixtures.subject(text)
        let fixer = PlistFixer(subject) { try? PlistReader.read($0) }
        let fixed = String(decoding: fixer.text, as: UTF8.self)
        // The right spelling would switch ATS off, and without the key nobody would see that the app wants it; the host in capitals stays too.
        #expect(fixed == text)
        #expect(fixer.declined.map(\.rule) == ["ATS001", "ATS007"])
    }

    @Test func aLocalHostIsNotToBeServedOverHTTPS() throws {
        let entry = "<key>NSIncludesSubdomains</key><true/><key>NSExceptionAllowsInsecureHTTPLoads</key><true/>"
        let result = try LintFixtures.lint(
            ats: "<key>NSExceptionDomains</key><dict><key>localhost</key><dict>\(entry)</dict></dict>")
        let fix = result.findings.first { $0.rules.contains("ATS015") }?.finding.fix
        #expect(fix?.hasPrefix("Remove the entry, unless the app loads hosts below localhost") == true, "\(fix ?? "")")
    }

    /// A key that is read at last turns ATS on for its host, and what was to permit plain HTTP there is not read.
    @Test(arguments: [
        "<key>NSExceptionDomains</key><dict><key>münchen.example</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><string>YES</string></dict></dict>",
        "<key>NSPinnedDomains</key><dict><key>münchen.example</key><dict><key>NSPinnedLeafIdentities</key><array></array></dict></dict>",
    ])
    func aFixBlocksNothing(_ entry: String) throws {
        let text =
            "<plist><dict><key>NSAppTransportSecurity</key><dict>\n<key>NSAllowsArbitraryLoads</key><true/>\n\(entry)\n</dict></dict></plist>"
        let subject = try LintFixtures.subject(text)
        let fixer = PlistFixer(subject) { try? PlistReader.read($0) }
        let fixed = try LintFixtures.subject(String(decoding: fixer.text, as: UTF8.self))
        #expect(!PolicyDifference(old: subject, new: fixed).blocksMore, "\(fixer.steps)")
        // What is right only after another fix is made in the same run.
        #expect(PlistFixer(fixed) { try? PlistReader.read($0) }.steps.isEmpty)
    }

    /// Systems that may obey NSRequiresCertificateTransparency count as long as the app runs on them.
    @Test(
        arguments: [
            ("12.0", "<true/>", true), ("14.5", "<true/>", true), ("9.0", "<true/>", true), ("15.0", "<true/>", false),
            ("12.0", "<false/>", false), (nil, "<true/>", true), (nil, "<false/>", false),
        ] as [(String?, String, Bool)]
    )
    func aFixKeepsTheTransparencyKey(_ minimum: String?, _ value: String, _ stays: Bool) throws {
        func text(_ key: String) -> String {
            "<plist><dict>\(minimum.map { "<key>MinimumOSVersion</key><string>\($0)</string>" } ?? "")"
                + "<key>NSAppTransportSecurity</key><dict><key>NSExceptionDomains</key><dict><key>api.example.com</key><dict>\n"
                + "\(key)<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string></dict></dict></dict></dict></plist>"
        }
        let key = "<key>NSRequiresCertificateTransparency</key>\(value)\n"
        let (old, new) = (try LintFixtures.subject(text(key)), try LintFixtures.subject(text("")))
        let fixer = PlistFixer(old) { try? PlistReader.read($0) }
        #expect(String(decoding: fixer.text, as: UTF8.self).contains("NSRequiresCertificateTransparency") == stays)
        let message = Linter.lint(old).findings.map(\.finding).first { $0.rule == "ATS020" }?.message ?? ""
        #expect(message.contains("may still require") == stays && message.contains("no longer read") != stays)
        let weakenings = Linter.weakenings(from: old, to: new).findings.map(\.finding.rule)
        // Where no minimum is known, a change is judged on systems of today.
        #expect(weakenings == (stays && minimum != nil ? ["ATS053"] : []))
    }

    @Test func justificationStatesFactsAndLeavesTheReasonOpen() throws {
        let result = try LintFixtures.lint(
            ats:
                "<key>NSExceptionDomains</key><dict><key>old.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string></dict></dict>"
        )
        let report = """
            {"schema":"sealward.ats-check/1","os":"macos26","checked":"2026-11-20T09:00:00Z","targets":[{"target":"https://old.example.com:443/","host":"old.example.com","port":443,
            "address":"192.0.2.1","tests":[{"section":"s","name":"ATS Default Connection","ats":{},"result":"FAIL","error":null,
            "because":[{"code":"ats.tls.version-too-low","message":"The server ends at TLS 1.0."}]},
            {"section":"s","name":"TLSv1.0","ats":{},"result":"PASS","because":[]}],"smallestException":{},"facts":{},"handshakes":1,"elapsedMilliseconds":1}]}
            """
        let draft = JustificationDraft([result], evidence: try CheckEvidence(json: Array(report.utf8))).text()
        #expect(draft.contains("old.example.com"))
        #expect(draft.contains("The server ends at TLS 1.0."))
        #expect(draft.contains("loads with: TLSv1.0"))
        #expect(draft.contains(JustificationDraft.blank))
        #expect(draft.contains("  - the app depends on a third-party server"))
        #expect(draft.contains("measurements of the servers (of 2026-11-20, profile macos26)"))
        #expect(JustificationDraft([try LintFixtures.lint(ats: "")], evidence: nil).text().contains("No key"))
    }

    @Test("Nothing in a list or a report steers the terminal or is markup in the draft for App Review")
    func justificationOfHostileNames() throws {
        let entry = "<key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0\u{202E}&lt;b&gt;</string>"
        let plist = """
            <plist><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key><true/><key>NSExceptionDomains</key><dict>
            <key>a\u{9B}2J
            ::error::b&lt;script&gt;*</key><dict>\(entry)<key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>
            </dict></dict></dict></plist>
            """
        let report = #"""
            {"schema":"sealward.ats-check/1","os":"<i>os","targets":[{"target":"https://<script>\n::error::x/","host":"x","port":443,"tests":[
            {"name":"<b>","result":"FAIL","because":[{"code":"<c>","message":"\u001b[31m<img>\n# heading"}]},{"name":"<d>","result":"PASS","because":[]}]}]}
            """#
        let path = "\u{1B}]0;x\u{7}/<script>\n::error::/Info.plist"
        let result = Linter.lint(try LintFixtures.subject(plist, path: path))
        let draft = JustificationDraft([result], evidence: try CheckEvidence(json: Array(report.utf8))).text()
        #expect(draft.contains("error::b&lt;script&gt;") && draft.contains("&lt;img&gt;"), "\(draft)")
        #expect(!draft.contains("<"), "\(draft)")
        #expect(!draft.unicodeScalars.contains { $0 != "\n" && $0.steersTerminal }, "\(draft)")
        for line in draft.split(separator: "\n") {
            #expect(!line.drop { $0 == " " }.hasPrefix("::"), "\(line)")
            #expect(!line.hasPrefix("#") || line.hasPrefix("# App") || line.hasPrefix("##"), "\(line)")
        }
    }

    /// Two rules ask about the key that two generations of systems read; the draft has it once, with what it does on which.
    @Test func justificationHasEachKeyOnce() throws {
        let ats = "<key>NSAllowsArbitraryLoads</key><true/><key>NSAllowsArbitraryLoadsForMedia</key><true/>"
        let draft = JustificationDraft(
            [try LintFixtures.lint(ats: ats, root: "<key>MinimumOSVersion</key><string>9.0</string>")], evidence: nil
        ).text()
        #expect(draft.components(separatedBy: "### NSAllowsArbitraryLoads\n").count == 2, "\(draft)")
        #expect(draft.contains("only before iOS 10 and macOS 10.12: since then NSAllowsArbitraryLoadsForMedia"))
        #expect(draft.contains("  - the app loads media that is itself encrypted and contains nothing personal"))
    }

    @Test("the justification claims no effect for a version that the network stack of the app does not speak")
    func justificationOfOldVersions() throws {
        for (sdk, isDead) in [("iphoneos26.0", true), ("iphoneos18.5", false)] {
            let result = try LintFixtures.lint(
                ats:
                    "<key>NSExceptionDomains</key><dict><key>old.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string></dict></dict>",
                root: "<key>DTSDKName</key><string>\(sdk)</string>")
            let draft = JustificationDraft([result], evidence: nil).text()
            #expect(draft.contains("- Effect: none on iOS 26") == isDead, "\(draft)")
        }
    }

    @Test("what lint says of a key of 2015 is true of each system that obeyed it")
    func keysOf2015() throws {
        let result = try LintFixtures.lint(
            ats:
                "<key>NSExceptionDomains</key><dict><key>a.example</key><dict><key>NSThirdPartyExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict>",
            root: "<key>MinimumOSVersion</key><string>9.0</string>")
        let message = result.findings.first { $0.finding.rule == "ATS018" }?.finding.message
        #expect(message?.contains("iOS 9 and OS X 10.11 obey it") == true, "\(message ?? "")")
    }

    @Test("of two keys of 2015 for one thing, the one that systems obeyed is to be renamed, and the other removed")
    func twoKeysOf2015() throws {
        func fixes(_ temporary: String, _ third: String, _ suffix: String) throws -> [String] {
            let ats =
                "<key>NSExceptionDomains</key><dict><key>a.example</key><dict><key>NSTemporaryException\(suffix)</key>\(temporary)<key>NSThirdPartyException\(suffix)</key>\(third)</dict></dict>"
            return try LintFixtures.lint(ats: ats).findings.filter { $0.finding.rule == "ATS018" }
                .compactMap { $0.finding.fix?.split(separator: " ").first.map(String.init) }
        }
        let switches = try fixes("<true/>", "<true/>", "AllowsInsecureHTTPLoads")
        #expect(switches == ["Remove", "Rename"])
        let loosening = try fixes("<false/>", "<true/>", "RequiresForwardSecrecy")
        #expect(loosening == ["Rename", "Remove"])
        let versions = ["TLSv1.0", "TLSv1.2", "TLSv1.3"].map { "<string>\($0)</string>" }
        #expect(try fixes(versions[0], versions[1], "MinimumTLSVersion") == ["Remove", "Rename"])
        #expect(try fixes(versions[0], versions[2], "MinimumTLSVersion") == ["Rename", "Remove"])
    }

    @Test("App Review's question about any minimum version stands in the draft, with its date")
    func justificationOfAnyMinimum() throws {
        func draft(_ ats: String) throws -> String {
            JustificationDraft([try LintFixtures.lint(ats: ats)], evidence: nil).text()
        }
        for version in ["TLSv1.1", "TLSv1.2"] {
            let text = try draft(
                "<key>NSExceptionDomains</key><dict><key>a.example</key><dict><key>NSExceptionMinimumTLSVersion</key><string>\(version)</string></dict></dict>"
            )
            #expect(text.contains("documents of 2016 name NSExceptionMinimumTLSVersion with any value"), "\(text)")
        }
        #expect(try !draft("<key>NSAllowsArbitraryLoads</key><true/>").contains("with any value"))
    }

    @Test("the justification claims no effect for keys that are never read")
    func justificationOfDeadKeys() throws {
        let ats = """
            <key>NSExceptionDomains</key>
            <dict>
                <key>*.example.com</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>
                <key>old.example.com</key><dict><key>NSTemporaryExceptionAllowsInsecureHTTPLoads</key><true/></dict>
                <key>new.example.com</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict>
            </dict>
            """
        let draft = JustificationDraft([try LintFixtures.lint(ats: ats)], evidence: nil).text()
        #expect(draft.components(separatedBy: "- Effect: none").count == 3, "\(draft)")
        #expect(draft.contains("plain HTTP to new.example.com is allowed"))
        #expect(!draft.contains("plain HTTP to old.example.com") && !draft.contains("plain HTTP to *"))
    }
}
