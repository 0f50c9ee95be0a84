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

    @Test func theDictionaryOfAnElectronAppIsRead() throws {
        let text =
            #"{"name": "x", "build": {"mac": {"extendInfo": {"NSAppTransportSecurity": {"NSAllowsLocalNetworking": true}}}}}"#
        let list = try #require(try ProjectFile.document("package.json", Array(text.utf8)))
        #expect(list.root["NSAppTransportSecurity"]?["NSAllowsLocalNetworking"] != nil)
        #expect(try ProjectFile.document("package.json", Array(#"{"name": "x"}"#.utf8)) == nil)
    }

    @Test(arguments: [
        ("app.config.js", "export default { expo: { ios: {} } }", "npx expo prebuild"),
        ("app.config.ts", "const config = { ios: { infoPlist: {} } }", "npx expo prebuild"),
        ("app.json", #"{"expo": {"name": "x"}}"#, "npx expo prebuild"),
        ("config.xml", #"<?xml version='1.0'?><widget id="x"></widget>"#, "cordova prepare ios"),
    ])
    func aProjectWithoutAListSaysHowToGetOne(_ name: String, _ text: String, _ advice: String) throws {
        let folder = try folder([name: text])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let found = try InfoPlistSearch.search(folder)
        #expect(found.lists.isEmpty)
        #expect(found.unreadable.first?.fault.description.contains(advice) == true)
        #expect(throws: MalformedInput.self) { _ = try InfoPlistSearch.search(folder + "/" + name) }
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
        for (bytes, lacks) in [(text(""), true), (text(may), false)] {
            do throws(MalformedInput) {
                _ = try InfoPlistSearch.document(bytes, name: "Release.entitlements")
                Issue.record("it was taken for an Info.plist")
            } catch {
                #expect(error.reason.contains("not an Info.plist"))
                #expect(error.reason.contains("network.client is not true") == lacks)
            }
        }
    }

    @Test func truncatedProjectFilesAreRefusedOrNone() {
        let bytes = Array(Self.expo.utf8)
        for length in bytes.indices {
            // Flattened: a refusal, or no file of a project.
            #expect(
                (try? ProjectFile.document("app.json", Array(bytes.prefix(length)))).flatMap(\.self) == nil, "\(length)"
            )
        }
        let deep = String(repeating: "[", count: 5_000)
        #expect((try? ProjectFile.document("package.json", Array(deep.utf8))).flatMap(\.self) == nil)
    }
}
