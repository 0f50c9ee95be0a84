// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import PropertyLists
import TestSupport
import Testing
import Vocabulary

@testable import ATSLint

@Suite struct BundleReadingTests {
    private static let python = "/usr/bin/env"

    static func list(_ bundle: String, _ ats: String = "") -> String {
        "<plist><dict><key>CFBundleIdentifier</key><string>\(bundle)</string><key>MinimumOSVersion</key><string>15.0</string>\(ats)</dict></plist>"
    }

    /// Runs Python, whose zipfile is an independent writer of archives.
    private static func python(_ script: String, in folder: String) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["python3", "-c", script]
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    private static let hasPython: Bool = (try? python("import zipfile", in: "/")) == 0

    @Test(arguments: [
        ("Payload/A.app/Info.plist", LintSubject.Role.app), ("Payload/A.app/PlugIns/B.appex/Info.plist", .appExtension),
        ("Payload/A.app/AppClips/C.app/Info.plist", .appClip), ("Payload/A.app/Watch/D.app/Info.plist", .watchApp),
        ("Payload/A.app/Watch/D.app/PlugIns/E.appex/Info.plist", .appExtension),
        ("x/Products/Applications/A.app/Contents/Info.plist", .app),
        ("A.app/Contents/XPCServices/X.xpc/Contents/Info.plist", .appExtension),
        ("Payload/A.app/Frameworks/F.framework/Info.plist", .framework),
        ("A.app/Contents/Frameworks/F.framework/Versions/A/Resources/Info.plist", .framework),
        ("Payload/A.app/R.bundle/Info.plist", .framework), ("A.app/Contents/R.bundle/Contents/Info.plist", .framework),
    ]) func tellsPartsOfAnApp(_ path: String, _ part: LintSubject.Role) {
        #expect(BundlePath(path)?.part == part)
    }

    @Test(arguments: [
        "Payload/A.app/Base.lproj/Info.plist", "F.framework/Info.plist", "Payload/A.app/R.bundle/en.lproj/Info.plist",
        "Payload/A.app/Frameworks/F.framework/XPCServices/X.xpc/Contents/Info.plist",
        "Payload/A.app/Other.plist", "A.xcarchive/Info.plist",
    ]) func leavesOtherListsAlone(_ path: String) {
        #expect(BundlePath(path) == nil)
    }

    @Test(.enabled(if: hasPython, "python3 is not installed")) func readsAnArchiveWithItsProfile() throws {
        let folder = try TemporaryDirectory()
        let profile =
            "junk<?xml version=\"1.0\"?><plist><dict><key>Entitlements</key><dict><key>application-identifier</key><string>TEAM123456.com.example.app</string><key>com.apple.developer.devicecheck.appattest-environment</key><string>production</string></dict></dict></plist>junk"
        let script = """
            import zipfile
            with zipfile.ZipFile("a.ipa", "w", zipfile.ZIP_DEFLATED) as z:
                z.writestr("Payload/A.app/Info.plist", '''\(Self.list("com.example.app"))''')
                z.writestr("Payload/A.app/PlugIns/B.appex/Info.plist", '''\(Self.list("com.example.app.b"))''', zipfile.ZIP_STORED)
                z.writestr("Payload/A.app/Frameworks/F.framework/Info.plist", "not a list")
                z.writestr("Payload/A.app/Frameworks/G.framework/Info.plist", '''\(Self.list("com.example.g"))''')
                z.writestr("Payload/A.app/embedded.mobileprovision", '''\(profile)''')
            """
        #expect(try Self.python(script, in: folder.url.path) == 0)
        let found = try InfoPlistSearch.search(folder.path("a.ipa"))
        #expect(
            found.lists.map { $0.document.root["CFBundleIdentifier"]?.string } == [
                "com.example.app", "com.example.app.b",
            ]
        )
        #expect(found.lists.map(\.place?.part) == [.app, .appExtension])
        #expect(found.lists.first?.attest?.environment == "production")
        #expect(found.lists.first?.attest?.applicationIdentifier == "TEAM123456.com.example.app")
        // The same bytes without a file.
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: folder.path("a.ipa"))))
        #expect(try InfoPlistSearch.read(bytes, name: "standard input").lists.count == 2)
        // Every prefix is refused and nothing ends the process.
        for count in stride(from: 0, to: bytes.count, by: 7) {
            #expect(throws: MalformedInput.self) { try ZipArchive(Array(bytes[..<count])) }
        }
    }

    @Test(
        .enabled(if: hasPython, "python3 is not installed"),
        arguments: [
            ("z.writestr('Payload/../../etc/passwd', 'x')", "points outside the archive"),
            ("z.writestr('/etc/passwd', 'x')", "points outside the archive"),
            ("z.writestr('Payload/A.app/Info.plist', b'\\0' * (300 << 20))", "more than the limit"),
            ("z.writestr('readme', 'x')", "contains no app"),
            ("z.writestr('Payload/A.app/Info.plist', 'x'); z.writestr('Payload/A.app/Info.plist', 'y')", "twice"),
        ]
    ) func refusesTricks(_ statement: String, _ words: String) throws {
        let folder = try TemporaryDirectory()
        let script = "import zipfile\nwith zipfile.ZipFile('a.ipa', 'w', zipfile.ZIP_DEFLATED) as z:\n    \(statement)"
        #expect(try Self.python(script, in: folder.url.path) == 0)
        #expect {
            try InfoPlistSearch.search(folder.path("a.ipa"))
        } throws: { ($0 as? MalformedInput)?.description.contains(words) == true }
    }

    /// An entry whose directory understates what it unfolds to.
    @Test(.enabled(if: hasPython, "python3 is not installed")) func aLyingSizeIsRefused() throws {
        let folder = try TemporaryDirectory()
        let script = """
            import zipfile, struct
            with zipfile.ZipFile("a.ipa", "w", zipfile.ZIP_DEFLATED) as z:
                z.writestr("Payload/A.app/Info.plist", b"\\0" * (50 << 20))
            b = bytearray(open("a.ipa", "rb").read())
            i = b.index(b"PK\\x01\\x02")
            b[i+24:i+28] = struct.pack("<I", 1000)
            open("a.ipa", "wb").write(b)
            """
        #expect(try Self.python(script, in: folder.url.path) == 0)
        #expect {
            try InfoPlistSearch.search(folder.path("a.ipa"))
        } throws: { ($0 as? MalformedInput)?.description.contains("damaged, or expands to more") == true }
    }

    @Test func searchesAProjectAndSkipsBuildFolders() throws {
        let folder = try TemporaryDirectory()
        let files = [
            "App/Info.plist": Self.list("com.example.app"), "Ext/Ext-Info.plist": Self.list("com.example.app.ext"),
            "build/Info.plist": Self.list("com.example.built"), "Pods/X/Info.plist": Self.list("com.example.pod"),
            "App/Settings.plist": "<plist><dict><key>a</key><true/></dict></plist>", "Bad/Info.plist": "<plist><dict>",
            "Old.xcarchive/Info.plist": "<plist><dict/></plist>",
            "Old.xcarchive/Products/Applications/A.app/Info.plist": Self.list("com.example.archived"),
        ]
        for (name, text) in files {
            let url = folder.url.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: url, atomically: true, encoding: .utf8)
        }
        let found = try InfoPlistSearch.search(folder.url.path)
        #expect(
            Set(found.lists.compactMap { $0.document.root["CFBundleIdentifier"]?.string })
                == ["com.example.app", "com.example.app.ext", "com.example.archived"])
        #expect(found.unreadable.map(\.path) == [folder.path("Bad/Info.plist")])
    }

    /// A search that ends before the last folder says so, and finds what is elsewhere.
    @Test func aFolderThatIsTooDeepIsNamed() throws {
        let folder = try TemporaryDirectory()
        let deep = folder.path(Array(repeating: "d", count: ReadingLimits.folderDepth + 3).joined(separator: "/"))
        for (path, id) in [(deep, "com.example.deep"), (folder.path("d/d"), "com.example.near")] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try Self.list(id).write(toFile: path + "/Info.plist", atomically: true, encoding: .utf8)
        }
        let found = try InfoPlistSearch.search(folder.url.path)
        #expect(found.lists.compactMap { $0.document.root["CFBundleIdentifier"]?.string } == ["com.example.near"])
        let limit = folder.path(Array(repeating: "d", count: ReadingLimits.folderDepth).joined(separator: "/"))
        #expect(found.unreadable.map(\.path) == [limit])
        #expect(found.unreadable.first?.fault.description.contains("folders deep") == true)
    }

    @Test(.enabled(if: getuid() != 0, "root may search every folder")) func aFolderThatMayNotBeSearchedIsNamed() throws
    {
        let folder = try TemporaryDirectory()
        let closed = folder.path("closed")
        try FileManager.default.createDirectory(
            atPath: closed, withIntermediateDirectories: false, attributes: [.posixPermissions: 0])
        let found = try InfoPlistSearch.search(folder.url.path)
        #expect(found.unreadable.map(\.path) == [closed])
    }

    @Test func saysWhereItLooked() throws {
        let folder = try TemporaryDirectory()
        let found = try InfoPlistSearch.search(folder.url.path)
        #expect(found.lists.map(\.origin) == [.nothing(files: 0)])
        let project = folder.url.appendingPathComponent("A.xcodeproj")
        try FileManager.default.createDirectory(at: project, withIntermediateDirectories: true)
        try
            "{ objects = { A = { isa = XCBuildConfiguration; buildSettings = {\n\tGENERATE_INFOPLIST_FILE = YES;\n}; }; }; }"
            .write(
                to: project.appendingPathComponent("project.pbxproj"), atomically: true, encoding: .utf8)
        let generated = try InfoPlistSearch.search(folder.url.path)
        #expect(generated.lists.map(\.origin) == [.generated])
        #expect(
            LineIndex(generated.lists.first?.document.source ?? []).location(
                generated.lists.first?.document.root.range.lowerBound ?? 0)?.line == 2)
    }

    @Test(arguments: [
        ("<TargetFramework>net9.0-ios</TargetFramework>", DotNetStack.Handler.nsurlsession, 2),
        ("<TargetFramework>net9.0-macos</TargetFramework>", .managed, 2),
        ("<TargetFrameworks>net9.0-android;net9.0-maccatalyst</TargetFrameworks>", .nsurlsession, 2),
        (
            "<TargetFramework>net9.0-ios</TargetFramework>\n<UseNativeHttpHandler>false</UseNativeHttpHandler>",
            .managed, 3
        ),
        (
            "<TargetFramework>net9.0-ios</TargetFramework>\n<MtouchHttpClientHandler>CFNetworkHandler</MtouchHttpClientHandler>",
            .cfnetwork, 3
        ),
        ("<MtouchHttpClientHandler>HttpClientHandler</MtouchHttpClientHandler>", .managed, 2),
        ("<HttpClientHandlerType>NSUrlSessionHandler</HttpClientHandlerType>", .nsurlsession, 2),
        ("<Reference Include=\"Xamarin.iOS\" />", .managed, 2),
    ]) func namesTheHandlerOfADotNetProject(_ text: String, _ handler: DotNetStack.Handler, _ line: Int) throws {
        let folder = try TemporaryDirectory()
        try "<Project>\n\(text)\n</Project>".write(toFile: folder.path("App.csproj"), atomically: true, encoding: .utf8)
        let platform = folder.url.appendingPathComponent("Platforms/iOS")
        try FileManager.default.createDirectory(at: platform, withIntermediateDirectories: true)
        try Self.list("com.example.app").write(
            to: platform.appendingPathComponent("Info.plist"), atomically: true, encoding: .utf8)
        for path in [folder.url.path, platform.appendingPathComponent("Info.plist").path] {
            let stack = try #require(try InfoPlistSearch.search(path).lists.first?.stack)
            #expect(stack.handler == handler)
            #expect(stack.source == folder.path("App.csproj") + ":\(line)")
        }
    }

    @Test func otherDotNetProjectsSayNothing() throws {
        let text = "<Project><TargetFramework>net9.0-android</TargetFramework></Project>"
        #expect(try DotNetProject.read(Array(text.utf8), name: "a") == nil)
    }
}
