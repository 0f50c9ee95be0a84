// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Testing
import Vocabulary

/// A library that reads an Info.plist has the strict readers of the commands: places, limits, and nothing that is half read.
@Suite struct InfoPlistPolicyTests {
    private static func list(_ inside: String) -> [UInt8] {
        Array("<?xml version=\"1.0\"?>\n<plist version=\"1.0\"><dict>\(inside)</dict></plist>".utf8)
    }

    @Test func theLastOfTwoEqualKeysCounts() throws {
        let ats = "<key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key>"
        let bytes = Self.list("\(ats)<true/></dict>\(ats)<false/></dict>")
        #expect(try ATSPolicy(infoPlist: bytes).decide(try LoadURL("http://example.com/")).verdict == .blocked)
    }

    @Test func theSDKOfTheListIsTheOneOfTheApp() throws {
        let old = try ATSPolicy(infoPlist: Self.list("<key>DTSDKName</key><string>iphoneos15.0</string>"))
        #expect(old.profile.sdk == LinkedSDK(number: 15))
    }

    @Test(arguments: [
        ("<plist><dict><key>a</key>\n<foo/></dict></plist>", "line 2, column 1"),
        ("<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><string>&a;</string></plist>", "line 1, column 17"),
        ("<plist><dict><key>a</key>", "line 1, column 26"), ("bplist00", ""), ("", "line 1, column 1"),
    ])
    func whatIsNoPropertyListIsRefusedWithItsPlace(_ text: String, _ place: String) {
        let error = #expect(throws: MalformedInput.self) { try ATSPolicy(infoPlist: Array(text.utf8)) }
        #expect(error?.code == "malformed.plist")
        #expect(error?.place == place)
    }
}
