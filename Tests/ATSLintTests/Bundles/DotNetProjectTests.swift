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

    @Test(arguments: [
        ("'$(UseNativeHttpHandler)' == ''", true), ("'$(A)' != 'x' and ('$(B)' == 'y' or true)", true),
        ("!('$(Configuration)' == 'Release')", false), ("$(TargetFramework.Contains('-ios'))", true),
        ("$([MSBuild]::GetTargetPlatformIdentifier('$(TargetFramework)')) == 'ios'", true),
        ("$(TargetFramework.EndsWith(\"-android\"))", false), ("'9' > 10.5", false), ("10 >= '9.5'", true),
        ("$([MSBuild]::IsOSPlatform('OSX')) And '$(OS)' != 'Windows_NT'", true), ("Exists('nothing.props')", false),
        ("'' == '' or $([System.DateTime]::Now.Year) == 2026", true), ("", true),
    ])
    func conditionsAreDecided(_ condition: String, _ holds: Bool) throws {
        let escaped = condition.replacing("\"", with: "&quot;").replacing("<", with: "&lt;")
        let body =
            "\(ios)<PropertyGroup><UseNativeHttpHandler Condition=\"\(escaped)\">false</UseNativeHttpHandler></PropertyGroup>"
        let found = try #require(try stack(body))
        #expect((found.handler == .managed) == holds, "\(condition)")
        #expect(found.notFollowed.isEmpty, "\(found.notFollowed)")
    }

    @Test(arguments: [
        "$([System.DateTime]::Now.Year) == 2026", "'a' ~ 'b'", "('a' == 'a'", "'%(Compile.Link)' == ''",
        "'a' == 'a' and",
        "unknown", "$(", String(repeating: "(", count: 400), String(repeating: "!", count: 400) + "true",
    ])
    func whatCannotBeDecidedIsNoted(_ condition: String) throws {
        let body =
            "\(ios)<PropertyGroup Condition=\"\(condition)\"><UseNativeHttpHandler>false</UseNativeHttpHandler></PropertyGroup>"
        let found = try #require(try stack(body))
        #expect(found.handler == .nsurlsession)
        #expect(
            found.notFollowed.count == 1 && found.notFollowed[0].hasPrefix("App.csproj:2: "), "\(found.notFollowed)")
    }

    /// One project for several systems: the list of each has the handler of its own build.
    @Test func eachPlatformHasItsOwn() throws {
        let folder = try TemporaryDirectory()
        let text = """
            <Project Sdk="Microsoft.NET.Sdk"><PropertyGroup>
            <TargetFrameworks>net9.0-android;net9.0-ios;net9.0-maccatalyst</TargetFrameworks>
            <UseNativeHttpHandler Condition="$(TargetFramework.Contains('-maccatalyst'))">false</UseNativeHttpHandler>
            </PropertyGroup></Project>
            """
        try Self.write(folder, "App.csproj", text)
        for platform in ["iOS", "MacCatalyst"] {
            try Self.write(folder, "Platforms/\(platform)/Info.plist", BundleReadingTests.list("com.example.app"))
        }
        let lists = try InfoPlistSearch.search(folder.url.path).lists
        #expect(lists.map { $0.stack?.handler } == [.managed, .nsurlsession])
        #expect(lists.compactMap { $0.stack?.source.suffix(12) } == ["App.csproj:3", "App.csproj:2"])
    }

    /// `Directory.Build.props` above, an import beside, `Choose`, and a property that the project overrides.
    @Test func importsAreFollowed() throws {
        let folder = try TemporaryDirectory()
        try Self.write(
            folder, "Directory.Build.props",
            "<Project><PropertyGroup>\n<UseNativeHttpHandler>false</UseNativeHttpHandler></PropertyGroup></Project>")
        try Self.write(
            folder,
            "build/Http.props",
            """
            <Project><Choose><When Condition="'$(Flavor)' == 'beta'"><PropertyGroup>
            <MtouchHttpClientHandler>CFNetworkHandler</MtouchHttpClientHandler></PropertyGroup></When>
            <Otherwise><PropertyGroup><MtouchHttpClientHandler>NSUrlSessionHandler</MtouchHttpClientHandler></PropertyGroup>
            </Otherwise></Choose></Project>
            """
        )
        func project(_ more: String) -> String { "<Project Sdk=\"Microsoft.NET.Sdk\">\(ios)\n\(more)</Project>" }
        let importing = #"<Import Project="..\build\Http.props" />"#
        let rows: [(String, DotNetStack.Handler, String)] = [
            ("", .managed, "Directory.Build.props:2"), (importing, .nsurlsession, "build/Http.props:3"),
            ("<PropertyGroup><Flavor>beta</Flavor></PropertyGroup>" + importing, .cfnetwork, "build/Http.props:2"),
        ]
        try Self.write(folder, "App/Info.plist", BundleReadingTests.list("com.example.app"))
        for (more, handler, source) in rows {
            try Self.write(folder, "App/App.csproj", project(more))
            // The whole tree, and the app's folder alone: a build reads the props above it either way.
            for path in [folder.url.path, folder.path("App")] {
                let stack = try #require(try InfoPlistSearch.search(path).lists.first?.stack)
                #expect(stack.handler == handler, "\(more)")
                #expect(stack.source.hasSuffix(source), "\(stack.source)")
            }
        }
        try Self.write(folder, "App/App.csproj", project(#"<Import Project="gone.props" />"#))
        let stack = try #require(try InfoPlistSearch.search(folder.url.path).lists.first?.stack)
        #expect(stack.notFollowed.count == 1 && stack.notFollowed[0].contains("App.csproj:2: the import"))
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

    /// Files that import each other, one that imports itself, and texts that double.
    @Test func hostileProjectsEnd() throws {
        let folder = try TemporaryDirectory()
        try Self.write(folder, "Info.plist", BundleReadingTests.list("com.example.app"))
        for index in 0..<40 {
            let imports = (0..<40).map { "<Import Project=\"\($0).props\" />" }.joined()
            try Self.write(folder, "\(index).props", "<Project>\(imports)</Project>")
        }
        let doubling = (0..<5_000).map { "<a>$(a)$(a)x</a><b\($0)>$(a)</b\($0)>" }.joined()
        try Self.write(
            folder, "App.csproj",
            "<Project Sdk=\"Microsoft.NET.Sdk\">\(ios)<Import Project=\"0.props\" /><Import Project=\"App.csproj\" />"
                + "<PropertyGroup>\(doubling)</PropertyGroup></Project>")
        let found: FoundPlists? = try InfoPlistSearch.search(folder.url.path)
        // It expands to more than a run may, and is named.
        #expect(found?.lists.first?.stack == nil)
        #expect(found?.unreadable.map(\.path.lastName) == ["App.csproj"])
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

    @Test("The projects of a run share what they may put together and read, and who is left out is named")
    func oneBudget() throws {
        var files = ["Directory.Build.props": "<Project><PropertyGroup><A>\(String(repeating: "x", count: 4_000))</A>"]
        for number in 0..<50 {
            files["Directory.Build.props", default: ""] += "<P\(number) Condition=\"'$(A)' == 'y'\">z</P\(number)>"
        }
        files["Directory.Build.props", default: ""] += "</PropertyGroup></Project>"
        for number in 10..<20 { files["a\(number).csproj"] = "<Project Sdk=\"S\"/>" }
        // Each expands to 200 kB.
        let found = try search(files, budget: ReadingBudget(expansions: 500_000))
        #expect(found.unreadable.map(\.path.lastName) == (12..<20).map { "a\($0).csproj" })
        #expect(found.unreadable.allSatisfy { $0.fault.reason.contains("is not evaluated") })
        #expect(try search(files, budget: ReadingBudget(projects: 30_000)).unreadable.count >= 5)
        #expect(try search(files).unreadable.isEmpty)
        for number in 100..<200 { files["b\(number).csproj"] = "<Project Sdk=\"S\"/>" }
        let many = try search(files).unreadable
        #expect(many.count == 1 && many.first?.fault.reason.contains("later projects") == true)
    }
}
