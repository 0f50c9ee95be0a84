// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PropertyLists
import Testing
import Vocabulary

@testable import ATSLint

@Suite struct ProjectFileTests {
    private func folder(_ files: [String: String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "project-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        return folder.path
    }

    private static let expo =
        #"{"expo": {"name": "x", "ios": {"infoPlist": {"NSAppTransportSecurity": {"NSAllowsArbitraryLoads": true, "other": null}}}}}"#

    @Test func theDictionaryOfAnExpoProjectIsRead() throws {
        let folder = try folder(["app.json": Self.expo])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for path in [folder, folder + "/app.json"] {
            let list = try #require(try InfoPlistSearch.search(path).lists.first)
            let dictionary = try #require(list.document.root["NSAppTransportSecurity"])
            #expect(dictionary["NSAllowsArbitraryLoads"]?.propertyListValue == .boolean(true))
            #expect(list.document.format == .json)
        }
    }

    @Test("Expo reads JSON with a comma too many")
    func aCommaTooManyIsRead() throws {
        let text =
            "{\"expo\": {\"ios\": {\"infoPlist\": {\"NSAppTransportSecurity\": {\"NSAllowsArbitraryLoads\": true,}}}}}"
        let list = try #require(try ProjectFile.document("app.json", Array(text.utf8)))
        #expect(list.root["NSAppTransportSecurity"]?["NSAllowsArbitraryLoads"] != nil)
        #expect(throws: MalformedInput.self) {
            try ProjectFile.document("app.json", Array("{\"expo\": {\"ios\": {,}}}".utf8))
        }
    }

    @Test("What plutil -p prints begins as JSON does, and is none", arguments: ["-", "list", "list.txt"])
    func aPrintIsNoJSON(_ name: String) throws {
        let text =
            "{\n  \"CFBundleName\" => \"Shop\"\n  \"NSAppTransportSecurity\" => {\n    \"NSAllowsArbitraryLoads\" => true\n  }\n}\n"
        let document = try InfoPlistSearch.document(Array(text.utf8), name: name)
        let flag = document.root["NSAppTransportSecurity"]?["NSAllowsArbitraryLoads"]
        #expect(flag?.propertyListValue == .boolean(true))
    }

    @Test(
        "A part of a list is read between the words around it, with its own lines",
        arguments: [
            "I added this:\n\n```xml\n<key>NSAppTransportSecurity</key>\n<dict>\n<key>NSAllowsArbitraryLoads</key><true/>\n</dict>\n```\nand it doesn't load.",
            "> <key>NSAppTransportSecurity</key>\n> <dict>\n>   <key>NSAllowsArbitraryLoads</key>\n>   <true/>\n> </dict>",
            "  12 | <key>NSAppTransportSecurity</key>\n  13 | <dict>\n  14 | <key>NSAllowsArbitraryLoads</key><true/>\n  15 | </dict>",
            "--- a/Info.plist\n+++ b/Info.plist\n@@ -1,2 +1,6 @@\n-<key>Old</key><true/>\n+<key>NSAppTransportSecurity</key>\n+<dict>\n+<key>NSAllowsArbitraryLoads</key>\n+<true/>\n+</dict>\n <key>UILaunchStoryboardName</key>",
            // A change without its head, and lines in code quotes.
            " <key>NSAppTransportSecurity</key>\n <dict>\n-  <key>NSAllowsArbitraryLoads</key>\n-  <false/>\n+  <key>NSAllowsArbitraryLoads</key>\n+  <true/>\n </dict>",
            "`<key>NSAppTransportSecurity</key>`\n`<dict>`\n  ` <key>NSAllowsArbitraryLoads</key>`\n  `<true/>`\n`</dict>`",
            "&lt;key&gt;NSAppTransportSecurity&lt;/key&gt;&lt;dict&gt;&lt;key&gt;NSAllowsArbitraryLoads&lt;/key&gt;&lt;true/&gt;&lt;/dict&gt;",
            "<key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key><true/></dict>\\n",
            "<dict>\n<key>NSAllowsArbitraryLoads</key>\n...\n<true/>\n</dict>",
            "\"infoPlist\": {\n  \"NSAppTransportSecurity\": {\"NSAllowsArbitraryLoads\": true}\n}",
            "\"plist\": {\n  \"NSAppTransportSecurity\": {\n    \"NSAllowsArbitraryLoads\": true\n  }\n}",
            "config.modResults.NSAppTransportSecurity = { NSAllowsArbitraryLoads: true };\nreturn config;",
            "infoPlist: .extendingDefault(with: [\n  \"NSAppTransportSecurity\": [\n    \"NSAllowsArbitraryLoads\": true,\n    \"NSExceptionDomains\": [\"a.example\": [\"NSIncludesSubdomains\": true]],\n  ],\n])",
            "block: proc do |plist|\n  plist[\"NSAppTransportSecurity\"] = { \"NSAllowsArbitraryLoads\" => true }\nend",
            "/usr/libexec/PlistBuddy -c \"Add :NSAppTransportSecurity dict\" -c \"Add :NSAppTransportSecurity:NSAllowsArbitraryLoads bool true\" \"$PLIST\"",
            "plutil -insert NSAppTransportSecurity -json '{\"NSAllowsArbitraryLoads\": true}' Info.plist",
            "NSAppTransportSecurity:\n  NSAllowsArbitraryLoads: true\n",
            "  info:\n    properties:\n      NSAppTransportSecurity: # all\n        NSAllowsArbitraryLoads: true # why\n      Other:\n        - a\n",
            "app = BUNDLE(\n    coll,\n    info_plist={\n        'NSHighResolutionCapable': True,\n        'NSAppTransportSecurity': {'NSAllowsArbitraryLoads': True},  # true\n    },\n)",
            "info_plist = {'NSAppTransportSecurity': {'NSAllowsArbitraryLoads': True, 'NSAllowsLocalNetworking': None}} # true",
            "Printing description of $0:\n{\n    NSAllowsArbitraryLoads = true;\n}\n",
            "this does nothing:\nios: { infoPlist: { NSAppTransportSecurity: { NSAllowsArbitraryLoads: true } } }",
        ])
    func pastedPartsAreRead(_ text: String) throws {
        let document = try InfoPlistSearch.document(Array(text.utf8), name: "message.txt")
        let flag = document.root["NSAppTransportSecurity"]?["NSAllowsArbitraryLoads"]
        #expect(flag?.propertyListValue == .boolean(true), "\(text)")
        // What is around it would be lost if it were written back.
        #expect(!document.isVerbatim, "\(text)")
        // In its own lines and columns, but where signs of a web page were replaced.
        if let flag, !text.contains("&lt;") {
            #expect(
                document.source.count == text.utf8.count
                    && document.source[flag.range.lowerBound...].contains("true".utf8))
        }
    }

    @Test("The rows of Xcode's editor are read, and no half of a list that is nested by its indentation")
    func indentedListsAreRead() throws {
        let rows =
            "App Transport Security Settings\tDictionary\t(1 item)\n\tException Domains\tDictionary\t(1 item)\n\t\ta.example\tDictionary\t(1 item)\n\t\t\tNSIncludesSubdomains\tBoolean\tYES\n"
        let ats = try InfoPlistSearch.document(Array(rows.utf8), name: "message.txt").root["NSAppTransportSecurity"]
        let flag = ats?["NSExceptionDomains"]?["a.example"]?["NSIncludesSubdomains"]
        #expect(flag?.propertyListValue == .boolean(true))
        let row = try InfoPlistSearch.document(Array("Allow Arbitrary Loads  Boolean  NO\n".utf8), name: "message.txt")
        let own = row.root["NSAppTransportSecurity"]?["NSAllowsArbitraryLoads"]
        #expect(own?.propertyListValue == .boolean(false))
        for text in [
            "NSAppTransportSecurity:\n"
                + (1..<1_000).map { String(repeating: " ", count: min($0, 60)) + "a:\n" }.joined(),
            "NSAppTransportSecurity:\n", "I set NSAppTransportSecurity: nothing\n",
            "NSAppTransportSecurity:\n  NSPinnedDomains:\n    a.example:\n      NSPinnedLeafIdentities:\n      - a: b\n",
            "a:\n  NSAppTransportSecurity:\n    A: true\nb:\n  NSAppTransportSecurity:\n    A: false\n",
        ] {
            #expect(throws: MalformedInput.self, "\(text)") {
                try InfoPlistSearch.document(Array(text.utf8), name: "message.txt")
            }
        }
    }

    @Test(
        "Text without a key of an Info.plist is no app with the default rules",
        arguments: [
            ("package.json", #"{"name": "shop", "scripts": {}}"#, "no key in it"),
            ("package.json", #"{"devDependencies": {"electron-builder": "26.0.0"}}"#, "npx electron-builder"),
            ("a.txt", "{ a = b; }", "no key in it"),
            ("error.json", #"{"NSErrorFailingURLKey": "http://a.example/", "code": -1022}"#, "no key in it"),
            ("a.txt", "{ NSLocalizedDescription = \"x\"; NSUnderlyingError = \"y\"; }", "no key in it"),
            ("a.txt", "{ \"NSWindow Frame main\" = \"1 2\"; NSNavLastRootDirectory = \"y\"; }", "no key in it"),
            ("Colors.plist", "<plist version=\"1.0\"><dict><key>color</key><true/></dict></plist>", "no key in it"),
            ("apple-app-site-association", #"{"applinks": {}}"#, "no key in it"),
            ("assetlinks.json", #"[{"relation": ["delegate_permission/common.handle_all_urls"]}]"#, "Android"),
            ("Podfile", "platform :ios, '13.0'\n", "neither an Info.plist nor a part of one"),
            ("network_security_config.xml", "<network-security-config/>", "Android"),
            (
                "ent.txt",
                "[Dict]\n\t[Key] com.apple.security.app-sandbox\n\t[Value]\n\t\t[Bool] true\n\t[Key] get-task-allow\n\t[Value]\n\t\t[Bool] true\n",
                "network.client is not true"
            ),
            ("a.txt", "I have\n<key>NSAppTransportSecurity</key>\n<dict>\n<key>A</key>\n<true/>", "line"),
        ])
    func whatIsNoListIsRefused(_ name: String, _ text: String, _ words: String) {
        let error = #expect(throws: MalformedInput.self) {
            try InfoPlistSearch.document(Array(text.utf8), name: name)
        }
        #expect(error.map { "\($0)" }?.contains(words) == true, "\(error.map { "\($0)" } ?? "")")
    }

    /// The build writes the rest of an Info.plist, and a key that is almost right is found by the rules.
    @Test(arguments: [("Shop-Info.plist", "GADApplicationIdentifier"), ("a.plist", " NSAppTransportSecurity")])
    func aListWithFewKeysIsRead(_ name: String, _ key: String) throws {
        let text = "<plist version=\"1.0\"><dict><key>\(key)</key><string>a</string></dict></plist>"
        #expect(try InfoPlistSearch.document(Array(text.utf8), name: name).root.members?.count == 1)
    }

    @Test func commandsThatWriteAListAreRead() throws {
        let text = """
            Delete :NSAppTransportSecurity
            Add :NSAppTransportSecurity:NSAllowsArbitraryLoads bool YES
            Add :NSAppTransportSecurity:NSExceptionDomains:a.example:NSExceptionMinimumTLSVersion string TLSv1.0
            /usr/libexec/PlistBuddy -c "Set :NSAppTransportSecurity:NSAllowsArbitraryLoads NO" "${INFOPLIST}"
            plutil -replace NSAppTransportSecurity.NSExceptionDomains.b\\.example.NSIncludesSubdomains -bool true Info.plist
            plutil -replace NSAppTransportSecurity.NSExceptionDomains.c\\.example.NSIncludesSubdomains -bool "YES" Info.plist
            plutil -insert NSAppTransportSecurity.NSExceptionDomains.c\\.example.NSExceptionMinimumTLSVersion -string "TLSv1.1" Info.plist
            """
        let ats = try #require(
            try InfoPlistSearch.document(Array(text.utf8), name: "script.sh").root["NSAppTransportSecurity"])
        #expect(ats["NSAllowsArbitraryLoads"]?.propertyListValue == .boolean(false))
        #expect(ats["NSExceptionDomains"]?["a.example"]?["NSExceptionMinimumTLSVersion"]?.string == "TLSv1.0")
        #expect(ats["NSExceptionDomains"]?["b.example"]?["NSIncludesSubdomains"]?.propertyListValue == .boolean(true))
        #expect(ats["NSExceptionDomains"]?["c.example"]?["NSIncludesSubdomains"]?.propertyListValue == .boolean(true))
        #expect(ats["NSExceptionDomains"]?["c.example"]?["NSExceptionMinimumTLSVersion"]?.string == "TLSv1.1")
        for length in 0..<text.utf8.count {
            _ = try? InfoPlistSearch.document(Array(text.utf8.prefix(length)), name: "script.sh")
        }
    }

    @Test(
        "What a script computes is not read, and a sentence is no command",
        arguments: [
            "PlistBuddy -c \"Add :NSAppTransportSecurity:NSExceptionDomains:$1 dict\" Info.plist",
            "PlistBuddy -c \"Set :NSAppTransportSecurity:NSAllowsArbitraryLoads $FLAG\" Info.plist",
            "Set NSAppTransportSecurity to allow everything.\nAdd NSAppTransportSecurity dict to Info.plist",
            "plist[\"NSAppTransportSecurity\"] = makeDictionary()",
        ])
    func whatIsComputedIsNotRead(_ text: String) {
        #expect(throws: MalformedInput.self) {
            try InfoPlistSearch.document(Array(text.utf8), name: "script.sh")
        }
    }

    @Test("The dictionary with keys of an entry directly in it is no host", arguments: [true, false])
    func theDictionaryIsNoHost(_ isJSON: Bool) throws {
        let key = "NSExceptionAllowsInsecureHTTPLoads"
        let text =
            isJSON
            ? "{\"NSAppTransportSecurity\": {\"\(key)\": true}}"
            : "<key>NSAppTransportSecurity</key><dict><key>\(key)</key><true/></dict>"
        let document = try InfoPlistSearch.document(Array(text.utf8), name: "message.txt")
        #expect(document.root["NSAppTransportSecurity"]?[key]?.propertyListValue == .boolean(true))
        // Without the name of the dictionary they are hosts.
        let host = try InfoPlistSearch.document(Array("{\"a.example\": {\"\(key)\": true}}".utf8), name: "message.txt")
        #expect(host.root["NSAppTransportSecurity"]?["NSExceptionDomains"]?["a.example"]?[key] != nil)
    }

    @Test func aMessageWithoutAListIsNone() {
        for text in ["Hello", "the key <key> is missing", "<key>a</key>", "<<<<", "&lt;key&gt;"] {
            #expect(throws: MalformedInput.self) {
                try InfoPlistSearch.document(Array(text.utf8), name: "message.txt")
            }
        }
    }

    @Test(
        "Lists that projects have beside the Info.plist are not taken for one that follows the default rules",
        arguments: ["GOOGLE_APP_ID", "PayloadType", "NSPrivacyTracking", "PreferenceSpecifiers", "signingStyle"])
    func otherListsAreNamed(_ key: String) throws {
        let list = "<plist version=\"1.0\"><dict><key>\(key)</key><string>x</string></dict></plist>"
        let error = #expect(throws: MalformedInput.self) {
            try InfoPlistSearch.document(Array(list.utf8), name: "GoogleService-Info.plist")
        }
        #expect(error.map { "\($0)" }?.contains("not an Info.plist") == true)
        let app = "<plist version=\"1.0\"><dict><key>CFBundleIdentifier</key><string>a.b</string></dict></plist>"
        let folder = try folder(["GoogleService-Info.plist": list, "Info.plist": app])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let found = try InfoPlistSearch.search(folder)
        #expect(found.lists.count == 1 && found.unreadable.isEmpty)
    }

    @Test("The configuration of electron-builder is read as it is written most, in YAML")
    func theListInYAMLIsRead() throws {
        let text =
            "appId: com.example.shop\nmac:\n  extendInfo:\n    NSAppTransportSecurity:\n      NSAllowsArbitraryLoads: true\n"
        let document = try #require(try ProjectFile.document("electron-builder.yml", Array(text.utf8)))
        let flag = document.root["NSAppTransportSecurity"]?["NSAllowsArbitraryLoads"]
        #expect(flag?.propertyListValue == .boolean(true))
        #expect(ProjectFile.note("electron-builder.yml", document)?.isEmpty == false)
        #expect(throws: MalformedInput.self) {
            try ProjectFile.document("electron-builder.yml", Array("appId: com.example.shop\n".utf8))
        }
    }

    @Test("What a Godot project adds to the Info.plist is read at its own lines, and two lists are not")
    func theListOfAGodotProjectIsRead() throws {
        let preset = { (flag: String) in
            "[preset.0]\nname=\"iOS\"\nplatform=\"iOS\"\n[preset.0.options]\napplication/additional_plist_content=\"<key>NSAppTransportSecurity</key>\n<dict>\n<key>NSAllowsArbitraryLoads</key>\n<\(flag)/>\n</dict>\"\nrich/text=\"\"\n"
        }
        let text = preset("true")
        let document = try #require(try ProjectFile.document("export_presets.cfg", Array(text.utf8)))
        let flag = document.root["NSAppTransportSecurity"]?["NSAllowsArbitraryLoads"]
        #expect(flag?.propertyListValue == .boolean(true))
        #expect(flag.map { document.source[$0.range].elementsEqual("<true/>".utf8) } == true)
        #expect(document.source.count == text.utf8.count && !document.isVerbatim)
        for other in [preset("true") + preset("false"), "[preset.0]\nname=\"iOS\"\n"] {
            let error = #expect(throws: MalformedInput.self) {
                try ProjectFile.document("export_presets.cfg", Array(other.utf8))
            }
            #expect(error?.reason.contains("Godot") == true, "\(error?.reason ?? "")")
        }
    }

    @Test("The list in the ios element of a tiapp.xml is read at its own lines, and one in a comment is not")
    func theListOfATitaniumProjectIsRead() throws {
        let list = { (key: String) in
            "<plist><dict><key>NSAppTransportSecurity</key><dict>\n<key>\(key)</key><true/></dict></dict></plist>"
        }
        let text =
            "<?xml version=\"1.0\"?>\n<ti:app xmlns:ti=\"http://ti.appcelerator.org\">\n<!-- \(list("NSOld")) -->\n<ios>\(list("NSAllowsArbitraryLoads"))</ios>\n<android/></ti:app>"
        let document = try #require(try ProjectFile.document("tiapp.xml", Array(text.utf8)))
        let members = document.root["NSAppTransportSecurity"]?.members
        #expect(members?.map(\.key) == ["NSAllowsArbitraryLoads"])
        let key = "<key>NSAllowsArbitraryLoads</key>"
        #expect(members?.first.map { document.source[$0.keyRange].elementsEqual(key.utf8) } == true)
        #expect(!document.isVerbatim && document.source.elementsEqual(text.utf8))
        for length in text.utf8.indices {
            _ = try? ProjectFile.document("tiapp.xml", Array(text.utf8[..<length]))
        }
    }

    @Test func theDictionaryOfAnElectronAppIsRead() throws {
        let text =
            #"{"name": "x", "build": {"mac": {"extendInfo": {"NSAppTransportSecurity": {"NSAllowsLocalNetworking": true}}}}}"#
        let list = try #require(try ProjectFile.document("package.json", Array(text.utf8)))
        #expect(list.root["NSAppTransportSecurity"]?["NSAllowsLocalNetworking"] != nil)
        #expect(try ProjectFile.document("package.json", Array(#"{"name": "x"}"#.utf8)) == nil)
        #expect(ProjectFile.note("package.json", list)?.contains("NSAllowsArbitraryLoads") == true)
        let forge = Array("module.exports = { packagerConfig: { extendInfo: { NSAppTransportSecurity: {} } } }".utf8)
        let packed = try #require(try ProjectFile.document("forge.config.js", forge))
        #expect(ProjectFile.note("forge.config.js", packed) == nil)
    }

    @Test(arguments: [
        ("app.config.js", "export default { expo: { ios: {} } }", "npx expo prebuild"),
        ("app.config.ts", "const config = { ios: { infoPlist: make() } }", "npx expo config --json"),
        ("project.yml", "targets:\n  A:\n", "xcodegen dump --type json"),
        ("pubspec.yaml", "flutter:\n", "ios/Runner/Info.plist"),
        ("ProjectSettings.asset", "PlayerSettings:\n  insecureHttpOption: 1\n", "development builds only"),
        ("app.json", #"{"expo": {"name": "x"}}"#, "npx expo prebuild"),
        ("config.xml", #"<?xml version='1.0'?><widget id="x"></widget>"#, "cordova prepare ios"),
        ("tiapp.xml", "<ti:app><ios><plist><dict/></plist></ios></ti:app>", "ti build"),
        ("electron-builder.yml", "mac:\n  extendInfo:\n", "npx electron-builder --mac --dir"),
    ])
    func aProjectWithoutAListSaysHowToGetOne(_ name: String, _ text: String, _ advice: String) throws {
        let folder = try folder([name: text])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let found = try InfoPlistSearch.search(folder)
        #expect(found.lists.isEmpty)
        #expect(found.unreadable.first?.fault.description.contains(advice) == true)
        #expect(throws: MalformedInput.self) { _ = try InfoPlistSearch.search(folder + "/" + name) }
    }

    /// What each kind of project writes into the dictionary, with the place in the file that people edit.
    @Test(arguments: [
        (
            "app.config.js",
            "export default ({config}) => ({ ios: { infoPlist: { NSAppTransportSecurity: { NSAllowsArbitraryLoads: true } } } })",
            1
        ),
        (
            "expo.json",
            "{\n\"ios\": {\"infoPlist\": {\n\"NSAppTransportSecurity\": {\"NSAllowsArbitraryLoads\": true}}}}", 3
        ),
        (
            "spec.json",
            #"{"targets": {"A": {"info": {"properties": {"NSAppTransportSecurity": {"NSAllowsArbitraryLoads": true}}}}}}"#,
            1
        ),
        ("config.xml", "<widget>\n<access origin=\"*\"/></widget>", 2),
        ("ProjectSettings.asset", "PlayerSettings:\n  insecureHttpOption: 2\n", 2),
        ("ProjectSettings.asset", "PlayerSettings:\n  iosAllowHTTPDownload: 1\n", 2),
    ])
    func aLiteralIsReadWhereItIs(_ name: String, _ text: String, _ line: Int) throws {
        let folder = try folder([name: text])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let list = try #require(try InfoPlistSearch.search(folder + "/" + name).lists.first)
        let ats = try #require(list.document.root["NSAppTransportSecurity"])
        #expect(ats["NSAllowsArbitraryLoads"]?.propertyListValue == .boolean(true))
        let place = try #require(ats.member("NSAllowsArbitraryLoads")?.keyRange.lowerBound)
        #expect(LineIndex(list.document.source).location(place)?.line == line)
        for length in 0..<text.utf8.count {
            _ = try? InfoPlistSearch.document(Array(text.utf8.prefix(length)), name: name)
        }
    }

    /// cordova-ios, lib/prepare.js: writeATSEntries.
    @Test func cordovaWritesItsAccessElements() throws {
        let text = """
            <widget><access origin="http://*.a.example" minimum-tls-version="TLSv1.1" requires-forward-secrecy="false"/>
            <allow-navigation href="https://b.example"/><access origin="tel:*"/><platform name="ios">
            <config-file target="*-Info.plist" parent="NSAppTransportSecurity"><dict><key>NSAllowsLocalNetworking</key><true/></dict></config-file>
            <edit-config file="*-Info.plist" target="NSAppTransportSecurity" mode="merge"><dict><key>NSAllowsArbitraryLoads</key><false/></dict></edit-config>
            </platform></widget>
            """
        let root = try #require(try ProjectFile.document("config.xml", Array(text.utf8))).root
        let ats = try #require(root["NSAppTransportSecurity"])
        let host = try #require(ats["NSExceptionDomains"]?["a.example"])
        #expect(host["NSIncludesSubdomains"] != nil && host["NSExceptionAllowsInsecureHTTPLoads"] != nil)
        #expect(host["NSExceptionMinimumTLSVersion"]?.string == "TLSv1.1")
        #expect(host["NSExceptionRequiresForwardSecrecy"]?.propertyListValue == .boolean(false))
        #expect(ats["NSExceptionDomains"]?["b.example"]?.members?.isEmpty == true)
        #expect(
            ats["NSAllowsLocalNetworking"] != nil && ats["NSAllowsArbitraryLoads"]?.propertyListValue == .boolean(false)
        )
    }

    @Test("The plugin.xml of a plugin is read as a config.xml is, and a directive of the preprocessor is named")
    func pluginsAndDirectives() throws {
        let text =
            "<plugin id=\"a\"><platform name=\"ios\"><config-file target=\"*-Info.plist\" parent=\"NSAppTransportSecurity\"><dict><key>NSAllowsArbitraryLoads</key><true/></dict></config-file></platform></plugin>"
        let document = try #require(try ProjectFile.document("plugin.xml", Array(text.utf8)))
        #expect(document.root["NSAppTransportSecurity"]?["NSAllowsArbitraryLoads"] != nil)
        #expect(ProjectFile.label("plugin.xml", Array(text.utf8)) == "cordova-project")
        // Files of other programs have the same name, and plugins too.
        #expect(try ProjectFile.document("config.xml", Array("<project><plugins/></project>".utf8)) == nil)
        let error = #expect(throws: MalformedInput.self) {
            try InfoPlistSearch.document(
                Array("<plist><dict>\n#if DEBUG\n<key>A</key><true/>\n#endif\n</dict></plist>".utf8), name: "Info.plist"
            )
        }
        #expect(error.map { "\($0)" }?.contains("INFOPLIST_PREPROCESS") == true)
        let template = #expect(throws: MalformedInput.self) {
            try InfoPlistSearch.document(
                Array("<plist><dict>\n{{if .Debug}}\n<key>A</key><true/>\n{{end}}\n</dict></plist>".utf8),
                name: "Info.plist")
        }
        #expect(template?.reason.contains("a part of a template") == true, "\(template?.reason ?? "")")
    }

    /// Several targets: one with a file, one whose list is generated, and tests, which have no dictionary.
    @Test func anXcodeProjectNamesTheListsOfItsTargets() throws {
        func target(_ id: String, _ product: String, _ settings: String) -> String {
            "\(id) = {isa = PBXNativeTarget; name = \(id); productType = \"com.apple.product-type.\(product)\"; buildConfigurationList = \(id)L;};"
                + "\(id)L = {buildConfigurations = (\(id)C);}; \(id)C = {isa = XCBuildConfiguration; name = Release; buildSettings = {\(settings)};};"
        }
        let project =
            "// !$*UTF8*$!\n{ objects = {"
            + target("App", "application", "INFOPLIST_FILE = \"$(SRCROOT)/App/App-Info.xml\";")
            + target(
                "Widget", "app-extension",
                "\nGENERATE_INFOPLIST_FILE = YES; INFOPLIST_KEY_NSAllowArbitraryLoads = YES; INFOPLIST_KEY_NSExceptionMinimumTLSVersion = x; INFOPLIST_KEY_CFBundleDisplayName = x;"
            )
            + target("Tests", "bundle.unit-test", "GENERATE_INFOPLIST_FILE = YES;")
            + target("Far", "application", "INFOPLIST_FILE = ../../etc/Info.plist;") + "}; }"
        let folder = try folder([:])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["A.xcodeproj", "App"] {
            try FileManager.default.createDirectory(atPath: folder + "/" + name, withIntermediateDirectories: true)
        }
        try Data(project.utf8).write(to: URL(fileURLWithPath: folder + "/A.xcodeproj/project.pbxproj"))
        try Data("<plist><dict><key>NSAppTransportSecurity</key><dict/></dict></plist>".utf8)
            .write(to: URL(fileURLWithPath: folder + "/App/App-Info.xml"))
        for path in [folder, folder + "/A.xcodeproj/project.pbxproj"] {
            let found = try InfoPlistSearch.search(path)
            #expect(
                found.lists.map(\.origin).contains(.generated) && found.lists.count == 2, "\(found.lists.map(\.path))")
            #expect(found.lists.contains { $0.path.hasSuffix("App/App-Info.xml") })
            let dead = found.lists.first { $0.origin == .generated }?.document.root.members?.map(\.key)
            #expect(
                dead == ["INFOPLIST_KEY_NSAllowArbitraryLoads", "INFOPLIST_KEY_NSExceptionMinimumTLSVersion"])
            #expect(found.unreadable.count == 1 && found.unreadable.first?.fault.reason.contains("../../etc") == true)
        }
        for length in stride(from: 0, to: project.utf8.count, by: 7) {
            _ = try? XcodeProject(Array(project.utf8.prefix(length)))
        }
    }

    /// `//` begins a comment, also in a URL.
    @Test func theSettingsOfAnXcconfig() {
        let settings = XcodeSettings.settings(Array("A = 1 // one\n#include \"x\"\nURL = https://a.example\nB=\n".utf8))
        #expect(settings.map(\.key) == ["A", "URL", "B"] && settings.map(\.node.string) == ["1", "https:", ""])
    }

    /// Once the project was built, its Info.plist counts and nothing else.
    @Test func aListThatIsThereCountsAlone() throws {
        let plist = #"<plist version="1.0"><dict><key>CFBundleIdentifier</key><string>a.b</string></dict></plist>"#
        let folder = try folder(["app.json": Self.expo, "app.config.js": "expo", "Info.plist": plist])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let found = try InfoPlistSearch.search(folder)
        #expect(found.lists.count == 1)
        #expect(found.lists.first?.path.hasSuffix("Info.plist") == true)
        #expect(found.unreadable.isEmpty)
    }

    @Test func entitlementsAreNoInfoPlist() throws {
        func text(_ more: String) -> [UInt8] {
            Array(
                "<plist version=\"1.0\"><dict><key>com.apple.security.app-sandbox</key><true/>\(more)</dict></plist>"
                    .utf8)
        }
        let may = "<key>com.apple.security.network.client</key><true/>"
        let misplaced = "<key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key><true/></dict>"
        for (bytes, lacks) in [(text(""), true), (text(may), false), (text(misplaced), true)] {
            do throws(MalformedInput) {
                _ = try InfoPlistSearch.document(bytes, name: "Release.entitlements")
                Issue.record("it was taken for an Info.plist")
            } catch {
                #expect(error.reason.contains("not an Info.plist"))
                #expect(error.reason.contains("network.client is not true") == lacks)
            }
        }
    }

    @Test func truncatedProjectFilesAreRefusedOrNone() throws {
        let bytes = Array(Self.expo.utf8)
        let whole = try #require(try ProjectFile.document("app.json", bytes)?.root.propertyListValue)
        for length in bytes.indices {
            // Flattened: a refusal, no file of a project, or a list that ends before the cut.
            let cut = (try? ProjectFile.document("app.json", Array(bytes.prefix(length)))).flatMap(\.self)
            #expect(cut == nil || cut?.root.propertyListValue == whole, "\(length)")
        }
        let deep = String(repeating: "[", count: 5_000)
        #expect((try? ProjectFile.document("package.json", Array(deep.utf8))).flatMap(\.self) == nil)
    }
}
