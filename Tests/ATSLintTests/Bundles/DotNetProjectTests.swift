// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Vocabulary

@testable import ATSLint

/// Project files of .NET, as Visual Studio, Rider and people write them: the handler of the configuration that is built.
struct DotNetProjectTests {
    /// What a project of one file says, for a configuration.
    private func stack(_ body: String, _ configuration: String = "Release") throws -> DotNetStack? {
        try DotNetProject.read(
            Array("<Project Sdk=\"Microsoft.NET.Sdk\">\n\(body)\n</Project>".utf8), name: "App.csproj",
            configuration: configuration)?.stack
    }

    private let ios = "<PropertyGroup><TargetFramework>net9.0-ios</TargetFramework></PropertyGroup>"

    @Test(arguments: [
        ("Release", DotNetStack.Handler.managed, "App.csproj:4"), ("Debug", .nsurlsession, "App.csproj:7"),
        ("AppStore", .nsurlsession, "App.csproj:2"),
    ])
    func theConfigurationDecides(_ configuration: String, _ handler: DotNetStack.Handler, _ source: String) throws {
        let body = """
            \(ios)
            <PropertyGroup Condition="'$(Configuration)|$(Platform)'=='Release|AnyCPU'">
            <MtouchHttpClientHandler>Xamarin.iOS.HttpClientHandler</MtouchHttpClientHandler>
            </PropertyGroup>
            <PropertyGroup Condition=" '$(Configuration)' == 'debug' ">
            <MtouchHttpClientHandler>NSUrlSessionHandler</MtouchHttpClientHandler>
            </PropertyGroup>
            """
        let found = try #require(try stack(body, configuration))
        #expect(found.handler == handler)
        #expect(found.source == source)
        #expect(found.notFollowed.isEmpty)
    }

    /// As Visual Studio writes them for Xamarin.iOS: no target framework, platforms of their own.
    @Test(arguments: [("Release", DotNetStack.Handler.managed), ("Debug", .nsurlsession), ("Ad-Hoc", .cfnetwork)])
    func xamarin(_ configuration: String, _ handler: DotNetStack.Handler) throws {
        func group(_ name: String, _ platform: String, _ handler: String) -> String {
            """
            <PropertyGroup Condition=" '$(Configuration)|$(Platform)' == '\(name)|\(platform)' ">
              <MtouchHttpClientHandler>\(handler)</MtouchHttpClientHandler>
            </PropertyGroup>
            """
        }
        let text = """
            <?xml version="1.0" encoding="utf-8"?>
            <Project DefaultTargets="Build" xmlns="http://schemas.microsoft.com/developer/msbuild/2003">
            <PropertyGroup>
              <Configuration Condition=" '$(Configuration)' == '' ">Debug</Configuration>
              <Platform Condition=" '$(Platform)' == '' ">iPhoneSimulator</Platform>
            </PropertyGroup>
            \(group("Release", "iPhone", "HttpClientHandler"))
            \(group("Debug", "iPhone", "NSUrlSessionHandler"))
            \(group("Ad-Hoc", "iPhone", "CFNetworkHandler"))
            \(group("Release", "iPhoneSimulator", "NSUrlSessionHandler"))
            <ItemGroup><Reference Include="System" /><Reference Include="Xamarin.iOS" /></ItemGroup>
            <Import Project="$(MSBuildExtensionsPath)\\Xamarin\\iOS\\Xamarin.iOS.CSharp.targets" />
            </Project>
            """
        let found = try DotNetProject.read(Array(text.utf8), name: "App.csproj", configuration: configuration)
        #expect(found?.stack.handler == handler)
        #expect(found?.stack.notFollowed == [])
    }

    /// What a project says whose switch for the managed handler has a condition.
    private func switched(_ condition: String, on element: String) throws -> DotNetStack {
        let escaped = condition.replacing("\"", with: "&quot;").replacing("<", with: "&lt;")
        let own = element == "property" ? " Condition=\"\(escaped)\"" : ""
        let group = element == "group" ? " Condition=\"\(escaped)\"" : ""
        let property = "<UseNativeHttpHandler\(own)>false</UseNativeHttpHandler>"
        return try #require(try stack("\(ios)<PropertyGroup\(group)>\(property)</PropertyGroup>"))
    }

    @Test(arguments: [
        ("'$(Configuration)' == 'release'", true), ("'$(Configuration)' != 'Release'", false),
        ("$(Configuration) == Release", true), ("'AnyCPU'=='$(platform)'", true), ("", true), (" ", true),
        ("'$(Configuration)' == 'Release' And '$(Platform)' == 'iPhone'", false),
        ("'$(Configuration)' == 'AppStore' or '$(Configuration)' == 'Release'", true),
        ("'$(Configuration)|$(Platform)'=='Debug|AnyCPU'", false), ("'$(Configuration)' == ''", false),
    ])
    func conditionsAreDecided(_ condition: String, _ holds: Bool) throws {
        for element in ["group", "property"] {
            let found = try switched(condition, on: element)
            #expect((found.handler == .managed) == holds, "\(condition)")
            #expect(found.notFollowed.isEmpty, "\(found.notFollowed)")
        }
    }

    @Test(arguments: [
        "$([System.DateTime]::Now.Year) == 2026", "'a' ~ 'b'", "('a' == 'a'", "'%(Compile.Link)' == ''", "'' == ''",
        "'$(Configuration)' == 'Release' and", "unknown", "$(", "'$(Configuration)", "=", "'$(Configuration)' ==",
        "!('$(Configuration)' == 'Release')", "'$(UseNativeHttpHandler)' == ''", "Exists('nothing.props')",
        "$(Configuration.Contains('Rel'))", "'$(Configuration)' == 'Release%20'", "'$(Configuration)' < 'S'",
        "$([MSBuild]::GetTargetPlatformIdentifier('$(TargetFramework)')) == 'ios'",
        "$(TargetFramework.EndsWith(\"-ios\"))",
        "'$(Configuration)' == 'a' or '$(Platform)' == 'b' and '$(Platform)' == 'c'",
        String(repeating: "(", count: 400), String(repeating: "!", count: 400) + "true",
        "'$(Configuration)' == '" + String(repeating: "a", count: 5_000) + "'",
    ])
    func whatCannotBeDecidedIsNoted(_ condition: String) throws {
        for element in ["group", "property"] {
            let found = try switched(condition, on: element)
            #expect(found.handler == .nsurlsession)
            #expect(
                found.notFollowed.count == 1
                    && found.notFollowed[0].hasPrefix("App.csproj:2: the condition "), "\(found.notFollowed)")
        }
    }

    /// What may choose the handler and needs a build is named with its line, and does not count.
    @Test(arguments: [
        (
            "<PropertyGroup><UseNativeHttpHandler>$(Native)</UseNativeHttpHandler></PropertyGroup>",
            "the value $(Native)"
        ),
        (
            "<Choose><When Condition=\"'$(A)' == 'b'\"><PropertyGroup><UseNativeHttpHandler>false</UseNativeHttpHandler>"
                + "</PropertyGroup></When></Choose>", "what Choose sets"
        ),
        (
            "<Target Name=\"A\"><PropertyGroup><HttpClientHandler>Managed</HttpClientHandler></PropertyGroup></Target>",
            "what Target sets"
        ), ("<Import Project=\"..\\Http.props\" />", "the import ..\\Http.props"),
        (
            "<Import Project=\"$(MSBuildThisFileDirectory)Http.props\" />",
            "the import $(MSBuildThisFileDirectory)Http.props"
        ), ("<ImportGroup><Import Project=\"a.props\" /></ImportGroup>", "the import a.props"),
    ])
    func whatIsNotFollowedIsNoted(_ more: String, _ what: String) throws {
        let found = try #require(try stack("\(ios)\n\(more)"))
        #expect(found.handler == .nsurlsession)
        #expect(found.notFollowed == ["App.csproj:3: \(what) is not followed"])
    }

    /// Names of properties are the same in any case, an empty value takes back an earlier one, and groups for other configurations and
    /// what an SDK imports are not worth a note.
    @Test func propertiesAreSetInOrder() throws {
        let handler = "<MtouchHttpClientHandler>HttpClientHandler</MtouchHttpClientHandler>"
        let rows: [(String, DotNetStack.Handler)] = [
            ("<usenativehttphandler> False </usenativehttphandler>", .managed),
            (handler + "<mtouchHttpClientHandler/>", .nsurlsession),
            (handler + "<HttpClientHandlerType>CFNetworkHandler</HttpClientHandlerType>", .cfnetwork),
            (handler + "<UseNativeHttpHandler>true</UseNativeHttpHandler>", .managed),
        ]
        let quiet = """
            <Import Sdk="A" Project="Sdk.props" /><Import Project="x.props" Condition="'$(Configuration)' == 'Debug'" />
            <PropertyGroup Condition="'$(Configuration)' == 'Debug'">
            <UseNativeHttpHandler Condition="$(A)">$(B)</UseNativeHttpHandler></PropertyGroup>
            """
        for (properties, expected) in rows {
            let found = try #require(try stack("\(ios)<PropertyGroup>\(properties)</PropertyGroup>\(quiet)"))
            #expect(found.handler == expected, "\(properties)")
            #expect(found.notFollowed.isEmpty, "\(found.notFollowed)")
        }
    }

    /// One project for several systems: the list of each has the default of its own platform, whatever condition adds it.
    @Test func eachPlatformHasItsOwn() throws {
        let folder = try TemporaryDirectory()
        let text = """
            <Project Sdk="Microsoft.NET.Sdk"><PropertyGroup>
            <TargetFrameworks>net9.0-android;net9.0-ios</TargetFrameworks>
            <TargetFrameworks Condition="$([MSBuild]::IsOSPlatform('osx'))">$(TargetFrameworks);net9.0-macos</TargetFrameworks>
            </PropertyGroup></Project>
            """
        try Self.write(folder, "App.csproj", text)
        for platform in ["iOS", "macOS"] {
            try Self.write(folder, "Platforms/\(platform)/Info.plist", BundleReadingTests.list("com.example.app"))
        }
        let lists = try InfoPlistSearch.search(folder.url.path).lists
        #expect(lists.map { $0.stack?.handler } == [.nsurlsession, .managed])
        #expect(lists.compactMap { $0.stack?.source.suffix(12) } == ["App.csproj:2", "App.csproj:3"])
        // The languages of .NET are read alike.
        for language in ["fsproj", "vbproj"] {
            try FileManager.default.moveItem(
                atPath: folder.path(language == "fsproj" ? "App.csproj" : "App.fsproj"),
                toPath: folder.path("App.\(language)"))
            let lists = try InfoPlistSearch.search(folder.url.path).lists
            #expect(lists.map { $0.stack?.handler } == [.nsurlsession, .managed], "\(language)")
        }
    }

    /// `Directory.Build.props` and `.targets` above a project count in a build: here they are named, the nearest of each.
    @Test func sharedFilesAreNamed() throws {
        let folder = try TemporaryDirectory()
        let shared =
            "<Project><PropertyGroup><UseNativeHttpHandler>false</UseNativeHttpHandler></PropertyGroup></Project>"
        for path in ["Directory.Build.props", "src/Directory.Build.props", "Directory.Build.targets"] {
            try Self.write(folder, path, shared)
        }
        try Self.write(folder, "src/App/Info.plist", BundleReadingTests.list("com.example.app"))
        try Self.write(folder, "src/App/App.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\">\(ios)</Project>")
        // The whole tree, and the app's folder alone.
        for path in [folder.url.path, folder.path("src/App")] {
            let stack = try #require(try InfoPlistSearch.search(path).lists.first?.stack)
            #expect(stack.handler == .nsurlsession)
            #expect(stack.notFollowed.count == 2)
            #expect(stack.notFollowed.first?.hasSuffix("/src/Directory.Build.props is not followed") == true)
            #expect(stack.notFollowed.last?.hasSuffix("/Directory.Build.targets is not followed") == true)
        }
    }

    @Test func filesOutsideOfTheTreeAreNotRead() throws {
        let (tree, other) = (try TemporaryDirectory(), try TemporaryDirectory())
        try Self.write(
            other, "x.props",
            "<Project><PropertyGroup><UseNativeHttpHandler>false</UseNativeHttpHandler></PropertyGroup></Project>")
        try Self.write(tree, "Info.plist", BundleReadingTests.list("com.example.app"))
        try FileManager.default.createSymbolicLink(
            atPath: tree.path("link.props"), withDestinationPath: other.path("x.props"))
        for target in [other.path("x.props"), "link.props"] {
            try Self.write(
                tree, "App.csproj",
                "<Project Sdk=\"Microsoft.NET.Sdk\">\(ios)<Import Project=\"\(target)\" /></Project>")
            let stack = try #require(try InfoPlistSearch.search(tree.url.path).lists.first?.stack)
            #expect(stack.handler == .nsurlsession)
            #expect(stack.notFollowed.count == 1, "\(stack.notFollowed)")
        }
    }

    /// Very many imports, conditions and values that name each other: nothing is put together, and few are named.
    @Test func hostileProjectsEnd() throws {
        let imports = (0..<2_000).map { "<Import Project=\"\($0).props\" />" }.joined()
        let doubling = (0..<5_000).map { "<a>$(a)$(a)x</a><b\($0) Condition=\"'$(a)' == ''\">$(a)</b\($0)>" }.joined()
        let found = try #require(try stack("\(ios)\(imports)<PropertyGroup>\(doubling)</PropertyGroup>"))
        #expect(found.handler == .nsurlsession)
        #expect(found.notFollowed.count == 16)
    }

    @Test(arguments: [
        ("<Project>\n<PropertyGroup></Project>", "line 2, column 16"),
        ("<Project>\n<a b=c/></Project>", "line 2, column 6"),
        ("<!DOCTYPE Project [<!ENTITY a \"b\">]><Project/>", "line 1, column 1"), ("{}", "line 1, column 1"),
        ("", "line 1, column 1"), ("<Project>&a;</Project>", "line 1, column 10"),
        ("<Project/><Project/>", "line 1, column 11"), ("<Project/><!-- é --> x", "line 1, column 22"),
        (String(repeating: "<a>", count: 100), "line 1, column 193"), ("<a\n><b>", "line 2, column 5"),
        ("<Project>&#xFFFFFFFFF;</Project>", "line 1, column 10"), ("<Project a=\"<\"/>", "line 1, column 13"),
        ("<Project a=\"b></Project>", "line 1, column 13"), ("< a/>", "line 1, column 1"),
        ("<a /b=\"c\">", "line 1, column 4"),
    ])
    func brokenProjectsAreReported(_ text: String, _ place: String) throws {
        let folder = try TemporaryDirectory()
        try Self.write(folder, "Info.plist", BundleReadingTests.list("com.example.app"))
        try Self.write(folder, "App.csproj", text)
        let found = try InfoPlistSearch.search(folder.url.path)
        #expect(found.lists.map(\.stack) == [nil])
        let fault = try #require(found.unreadable.first)
        #expect(fault.path == folder.path("App.csproj"))
        #expect(fault.fault.place == place)
    }

    private static func write(_ folder: TemporaryDirectory, _ name: String, _ text: String) throws {
        let path = folder.path(name)
        try FileManager.default.createDirectory(atPath: path.parentFolder, withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    /// A folder with a project of an app, and what a project there finds.
    private func search(_ files: [String: String], budget: ReadingBudget = ReadingBudget()) throws -> FoundPlists {
        let folder = try TemporaryDirectory()
        for (name, text) in files { try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8) }
        let list = "<plist><dict><key>CFBundleIdentifier</key><string>a.b</string></dict></plist>"
        try list.write(toFile: folder.path("Info.plist"), atomically: true, encoding: .utf8)
        return try InfoPlistSearch.search(folder.url.path, budget: budget)
    }

    @Test(
        "Whether a path outside the tree exists is nobody's business",
        arguments: ["/etc/passwd", "/etc/no-such-file", "/", "/no-such-folder/a", "../../../../../../../../etc/passwd"])
    func pathsOutside(_ path: String) throws {
        let handler =
            "<MtouchHttpClientHandler Condition=\"Exists('\(path)')\">HttpClientHandler</MtouchHttpClientHandler>"
        let other = "<UseNativeHttpHandler Condition=\"!Exists('\(path)')\">false</UseNativeHttpHandler>"
        let inside = "<A Condition=\"Exists('Info.plist') and !Exists('b/c.props')\">true</A>"
        let text = "<Project Sdk=\"S\">\(ios)<PropertyGroup>\(handler)\(other)\(inside)</PropertyGroup></Project>"
        let stack = try #require(try search(["A.csproj": text]).lists.first?.stack)
        #expect(stack.handler == .nsurlsession)
        #expect(stack.notFollowed.count == 2 && stack.notFollowed.allSatisfy { $0.contains("cannot be decided") })
    }

    @Test("The projects of a run share what they may read, and each that is left out is named")
    func oneBudget() throws {
        var files: [String: String] = [:]
        for number in 10..<20 { files["a\(number).csproj"] = "<Project Sdk=\"S\"/>" }
        // Each has 18 bytes.
        let found = try search(files, budget: ReadingBudget(\.projects, 100))
        #expect(found.unreadable.map(\.path.lastName) == (15..<20).map { "a\($0).csproj" })
        #expect(found.unreadable.allSatisfy { $0.fault.reason.contains("is not evaluated") })
        #expect(try search(files).unreadable.isEmpty)
        for number in 100..<200 { files["b\(number).csproj"] = "<Project Sdk=\"S\"/>" }
        let many = try search(files).unreadable
        #expect(many.count == 1 && many.first?.fault.reason.contains("later projects") == true)
    }
}
