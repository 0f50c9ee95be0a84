// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import TestSupport
import Testing
import Vocabulary

@testable import ATSLint

/// Archives byte by byte: what no packer writes.
enum TinyZip {
    static func little(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// Stored entries; one with `at` has no bytes of its own and names those of an earlier one.
    static func archive(_ entries: [(name: [UInt8], bytes: [UInt8], at: Int?)], directoryPadding: Int = 0) -> [UInt8] {
        var body: [UInt8] = []
        var directory: [UInt8] = []
        var places: [Int] = []
        for entry in entries {
            let place = entry.at.map { places[$0] } ?? body.count
            places.append(place)
            let sizes = little(0, 4) + little(entry.bytes.count, 4) + little(entry.bytes.count, 4)
            let name = little(entry.name.count, 2)
            if entry.at == nil {
                body += little(0x0403_4B50, 4) + little(20, 2) + [UInt8](repeating: 0, count: 8) + sizes + name
                body += little(0, 2) + entry.name + entry.bytes
            }
            directory +=
                little(0x0201_4B50, 4) + little(20, 2) + little(20, 2) + [UInt8](repeating: 0, count: 8) + sizes
            directory += name + little(0, 2) + little(directoryPadding, 2) + [UInt8](repeating: 0, count: 8)
            directory += little(place, 4) + entry.name + [UInt8](repeating: 0, count: directoryPadding)
        }
        return body + directory + little(0x0605_4B50, 4) + little(0, 4) + little(entries.count, 2)
            + little(entries.count, 2) + little(directory.count, 4) + little(body.count, 4) + little(0, 2)
    }
}

@Suite struct HostileArchiveTests {
    private static let list = Array(
        "<plist><dict><key>CFBundleIdentifier</key><string>com.example.a</string></dict></plist>".utf8)
    private static let app = Array("Payload/A.app/Info.plist".utf8)
    private static let marks = String(repeating: "\u{301}\u{316}", count: 100)

    private func refusal(_ bytes: [UInt8], budget: ReadingBudget = ReadingBudget()) -> String? {
        do {
            let found = try InfoPlistSearch.read(bytes, name: "a.ipa", budget: budget)
            return found.unreadable.first.map { "\($0.path): \($0.fault.reason)" }
        } catch {
            return "\(error)"
        }
    }

    @Test func readsWhatItWrites() {
        #expect(refusal(TinyZip.archive([(Self.app, Self.list, nil)])) == nil)
    }

    @Test func overlappingEntriesAreRefusedByName() {
        let twice = TinyZip.archive([
            (Self.app, Self.list, nil), (Array("Payload/B.app/Info.plist".utf8), Self.list, 0),
        ])
        #expect(refusal(twice)?.contains("overlaps 'Payload/A.app/Info.plist'") == true)
        var into = TinyZip.archive([(Self.app, Self.list, nil)])
        // The packed and the whole size of the only entry, in its directory.
        let directory = into.count - 22 - 46 - Self.app.count
        into.replaceSubrange((directory + 20)..<(directory + 28), with: TinyZip.little(200, 4) + TinyZip.little(200, 4))
        #expect(refusal(into)?.contains("reaches into the directory") == true)
    }

    @Test func namesAreBytesWithinLimits() {
        let composed = Array("Payload/\u{E9}.app/Info.plist".utf8)
        let decomposed = Array("Payload/e\u{301}.app/Info.plist".utf8)
        #expect(refusal(TinyZip.archive([(composed, Self.list, nil), (decomposed, Self.list, nil)])) == nil)
        #expect(
            refusal(TinyZip.archive([(composed, Self.list, nil), (composed, Self.list, nil)]))?.contains("occurs twice")
                == true)
        for name in [Array(Self.marks.utf8), [UInt8](repeating: 0x61, count: 4_097)] {
            let archive = TinyZip.archive([(Self.app, Self.list, nil), (name, [], nil)])
            #expect(refusal(archive)?.contains("is a name that no file system accepts") == true)
        }
        for name in ["../x", "a/../b", "/x", "a\\b", "a\u{0}", "..\u{301}/.."] {
            let archive = TinyZip.archive([(Self.app, Self.list, nil), (Array(name.utf8), [], nil)])
            #expect(refusal(archive)?.contains("points outside the archive") == true, "\(name)")
        }
    }

    @Test func theDirectoryHasALimit() {
        let entries = (0..<700).map { (Array("n\($0)".utf8), [UInt8](), Int?.none) }
        #expect(refusal(TinyZip.archive(entries, directoryPadding: 65_000))?.contains("has a directory of") == true)
    }

    @Test func oneBudgetIsForTheWholeRun() throws {
        let archive = TinyZip.archive((0..<20).map { (Array("Payload/A\($0).app/Info.plist".utf8), Self.list, nil) })
        #expect(
            refusal(archive, budget: ReadingBudget(\.kept, 50_000))?.contains("is not linted: with it the lists")
                == true)
        #expect(
            refusal(archive, budget: ReadingBudget(\.unfolded, 50_000))?.contains("of this run expand to more") == true)
        // What one path leaves is what the next one has.
        let budget = ReadingBudget(\.kept, 150_000)
        #expect(refusal(archive, budget: budget) == nil)
        #expect(refusal(archive, budget: budget)?.contains("is not linted") == true)
    }

    @Test func profilesHaveABudget() {
        let profile = Array("x<?xml?><plist><dict><key>Entitlements</key><dict/></dict></plist>".utf8)
        let archive = TinyZip.archive(
            (0..<20).flatMap {
                [
                    (Array("Payload/A\($0).app/Info.plist".utf8), Self.list, Int?.none),
                    (Array("Payload/A\($0).app/embedded.mobileprovision".utf8), profile, nil),
                ]
            }
        )
        #expect(refusal(archive) == nil)
        #expect(refusal(archive, budget: ReadingBudget(\.claims, 300))?.contains("the profiles of this run") == true)
    }

    @Test func truncatedAtEveryByte() {
        let profile = Array("x<?xml?><plist><dict><key>Entitlements</key><dict/></dict></plist>".utf8)
        let bytes = TinyZip.archive([
            (Self.app, Self.list, nil), (Array("Payload/A.app/embedded.mobileprovision".utf8), profile, nil),
        ])
        for count in 0..<bytes.count { #expect(refusal(Array(bytes[..<count])) != nil) }
        for count in 0..<profile.count {
            _ = ProvisioningProfile.entitlement(Array(profile[..<count]), source: "a")
        }
        let executable = TinyMachO.signature(encoded: TinyMachO.encoded)
        for count in 0..<executable.count {
            _ = CodeSignature.entitlement(Array(executable[..<count]), name: "a")
            _ = EncodedEntitlements.read(Array(TinyMachO.encoded.prefix(count)))
        }
        let project = Array(
            "<Project>\n<MtouchHttpClientHandler Condition=\"'$(Configuration)' != ''\">HttpClientHandler</MtouchHttpClientHandler>\n</Project>"
                .utf8)
        let xcode = Array("{ GENERATE_INFOPLIST_FILE = YES; }".utf8)
        for count in 0..<project.count {
            #expect(throws: MalformedInput.self) { try DotNetProject.read(Array(project[..<count]), name: "a.csproj") }
        }
        for count in 0...xcode.count { _ = try? XcodeProject(Array(xcode[..<count])) }
        #expect((try? DotNetProject.read(project, name: "a.csproj"))??.stack.source == "a.csproj:2")
    }
}

/// Folders with what is no file, and with links: refused by name, and nothing waits.
@Suite(.timeLimit(.minutes(1))) struct OddFolderTests {
    private static let list = Data(
        "<plist><dict><key>CFBundleIdentifier</key><string>com.example.a</string></dict></plist>".utf8)

    private func search(_ make: (String) throws -> Void) throws -> FoundPlists {
        let folder = try TemporaryDirectory()
        let root = folder.path("root")
        try FileManager.default.createDirectory(atPath: root + "/A.app", withIntermediateDirectories: true)
        try Self.list.write(to: URL(fileURLWithPath: root + "/A.app/Info.plist"))
        try make(root)
        return try InfoPlistSearch.search(root)
    }

    @Test(arguments: ["Info.plist", "A.app/embedded.mobileprovision", "x.csproj", "project.pbxproj", "x.ipa"])
    func aNamedPipeIsRefusedByName(_ name: String) throws {
        let found = try search { #expect(mkfifo($0 + "/" + name, 0o600) == 0) }
        #expect(found.lists.count == 1)
        #expect(found.unreadable.count == 1)
        #expect(found.unreadable.first?.path.hasSuffix("root/" + name) == true)
        #expect(found.unreadable.first?.fault.reason == "is a named pipe, not a file")
    }

    @Test(arguments: ["Info.plist", "A.app/embedded.mobileprovision", "x.csproj", "project.pbxproj", "x.ipa"])
    func aLinkThatLeadsOutIsRefusedByName(_ name: String) throws {
        let faults = [
            ("/etc/passwd", "is a link that leads out"), ("/dev/zero", "is a link that leads out"),
            ("../../../pipe", "is a broken link"),
        ]
        for (target, fault) in faults {
            let found = try search { #expect(symlink(target, $0 + "/" + name) == 0) }
            #expect(found.unreadable.count == 1)
            #expect(found.unreadable.first?.fault.reason.hasPrefix(fault) == true)
        }
    }

    @Test func aLinkInsideIsRead() throws {
        let found = try search { #expect(symlink("A.app/Info.plist", $0 + "/Info.plist") == 0) }
        #expect(found.lists.count == 2 && found.unreadable.isEmpty)
    }

    @Test func otherPipesAreNoConcern() throws {
        let found = try search { root in
            for name in ["pipe", "A.app/A", "Localizable.plist"] { #expect(mkfifo(root + "/" + name, 0o600) == 0) }
        }
        #expect(found.lists.count == 1 && found.unreadable.isEmpty)
    }

    @Test func aPathThatIsNoFileIsRefused() throws {
        let folder = try TemporaryDirectory()
        for name in ["Info.plist", "a.csproj"] {
            #expect(mkfifo(folder.path(name), 0o600) == 0)
            #expect(throws: MalformedInput.self) { try InfoPlistSearch.search(folder.path(name)) }
        }
        #expect(throws: MalformedInput.self) { try InfoPlistSearch.search("/dev/zero") }
    }
}
