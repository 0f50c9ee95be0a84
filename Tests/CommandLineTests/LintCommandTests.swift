// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct LintCommandTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Runs the built program in the test's folder.
    private func sealward(_ arguments: [String], input: String = "") throws -> ProgramRun {
        try ProgramRun(["ats"] + arguments, input: input, in: folder.url)
    }

    private func write(_ name: String, _ ats: String, root: String = "") throws {
        let url = folder.url.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try plist(ats, root).write(to: url, atomically: true, encoding: .utf8)
    }

    private func plist(_ ats: String, _ root: String = "") -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0">
        <dict>
        \(root)<key>CFBundleIdentifier</key>
        <string>com.example.app</string>
        <key>NSAppTransportSecurity</key>
        <dict>
        \(ats)
        </dict>
        </dict>
        </plist>

        """
    }

    private let arbitrary = "<key>NSAllowsArbitraryLoads</key>\n<true/>"

    @Test func jsonIsTheContract() throws {
        try write("Info.plist", arbitrary, root: "<key>MinimumOSVersion</key>\n<string>15.0</string>\n")
        let run = try sealward(["lint", "Info.plist", "--format", "json"])
        #expect(run.status == 0)
        #expect(run.json["schema"] as? String == "sealward.ats-lint/1")
        let file = try #require(run.files.first)
        #expect(file["path"] as? String == "Info.plist")
        #expect(file["bundle"] as? String == "com.example.app")
        #expect(file["minimumOS"] as? String == "15.0")
        #expect(file["reviewTriggers"] as? [String] == ["NSAllowsArbitraryLoads"])
        #expect(file["networkStack"] is NSNull)
        let finding = try #require(run.findings.first)
        #expect(
            Set(finding.keys) == [
                "rule", "severity", "line", "column", "keyPath", "keyPathComponents", "message", "fix", "citation",
            ]
        )
        #expect(finding["rule"] as? String == "ATS012")
        #expect(finding["severity"] as? String == "warning")
        #expect(finding["line"] as? Int == 10)
        #expect(finding["keyPath"] as? String == "NSAppTransportSecurity.NSAllowsArbitraryLoads")
        #expect(finding["keyPathComponents"] as? [String] == ["NSAppTransportSecurity", "NSAllowsArbitraryLoads"])
    }

    /// The SDK comes from the option, or else from the list.
    @Test func theSDKDecidesAboutOldVersions() throws {
        let exception =
            "<key>NSExceptionDomains</key><dict><key>old.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.0</string></dict></dict>"
        try write("Info.plist", exception, root: "<key>DTSDKName</key>\n<string>iphoneos26.0</string>\n")
        func messages(_ more: String...) throws -> String {
            let run = try sealward(["lint", "Info.plist", "--format", "json"] + more)
            #expect(run.files.first?["sdk"] as? String == (more.last ?? "26"))
            return run.findings.compactMap { $0["message"] as? String }.joined()
        }
        #expect(try messages().contains("this exception has no effect since iOS 26"))
        #expect(try !messages("--sdk", "18").contains("has no effect since"))
        #expect(try sealward(["lint", "Info.plist", "--sdk", "0"]).status == 64)
    }

    @Test(arguments: [("error", 0), ("warning", 1), ("note", 1)]) func thresholdDecides(
        _ threshold: String, _ status: Int32
    ) throws {
        try write("Info.plist", arbitrary)
        #expect(try sealward(["lint", "Info.plist", "--fail-on", threshold]).status == status)
    }

    @Test(arguments: ["text", "json", "sarif", "junit", "github", "xcode", "markdown", "html"]) func everyFormatFails(
        _ format: String
    ) throws {
        try write("Info.plist", "<key>NSAllowArbitraryLoads</key>\n<true/>")
        let run = try sealward(["lint", "Info.plist", "--format", format])
        #expect(run.status == 1)
        #expect(run.output.contains("ATS001"))
    }

    @Test func statusesOfBadInput() throws {
        #expect(try sealward(["lint"]).status == 64)
        #expect(try sealward(["lint", "x", "--format", "yaml"]).status == 64)
        #expect(try sealward(["lint", "x", "--minimum-os", "beos5"]).status == 64)
        let missing = try sealward(["lint", "missing.plist", "--format", "json"])
        #expect(missing.status == 2)
        #expect(missing.errors.contains("missing.plist"))
        try "<plist>\n<dict>".write(toFile: folder.path("broken.plist"), atomically: true, encoding: .utf8)
        let broken = try sealward(["lint", "broken.plist", "--format", "json"])
        #expect(broken.status == 2 && broken.errors.contains("line 2"))
        // A finding beats what could not be read.
        try write("Info.plist", "<key>NSAllowArbitraryLoads</key>\n<true/>")
        #expect(try sealward(["lint", "Info.plist", "missing.plist", "--format", "json"]).status == 1)
    }

    @Test func readsStandardInput() throws {
        let run = try sealward(
            ["lint", "-", "--format", "json"], input: plist("<key>NSAllowArbitraryLoads</key>\n<true/>"))
        #expect(run.rules == ["ATS001"])
        #expect(run.status == 1)
    }

    @Test func withoutADictionaryTheDefaultsHold() throws {
        try "<plist>\n<dict><key>CFBundleIdentifier</key><string>a</string></dict></plist>"
            .write(toFile: folder.path("Info.plist"), atomically: true, encoding: .utf8)
        let run = try sealward(["lint", "Info.plist", "--format", "json"])
        #expect(run.rules == ["ATS034"] && run.status == 0)
        #expect(run.findings.first?["line"] as? Int == 2)
        #expect((run.findings.first?["message"] as? String)?.contains("top of Info.plist") == true)
        try FileManager.default.createDirectory(atPath: folder.path("empty"), withIntermediateDirectories: true)
        #expect(try sealward(["lint", "empty", "--format", "json"]).rules == ["ATS034"])
    }

    @Test func fixWritesOnlyWhatIsSafe() throws {
        try write(
            "Info.plist",
            "\t<key>NSAllowArbitraryLoads</key>\n\t<false/>\n<!-- kept -->\n  <key>NSAllowsLocalNetworking</key>  <true/>"
        )
        let before = try String(contentsOfFile: folder.path("Info.plist"), encoding: .utf8)
        let run = try sealward(["lint", "Info.plist", "--fix", "--format", "json"])
        let after = try String(contentsOfFile: folder.path("Info.plist"), encoding: .utf8)
        #expect(after == before.replacingOccurrences(of: "NSAllowArbitraryLoads", with: "NSAllowsArbitraryLoads"))
        #expect(run.status == 0 && run.rules.isEmpty)
        #expect(run.errors.contains("ATS001"))
    }

    @Test func fixKeepsAByteOrderMarkAndSaysWhyItCannot() throws {
        let path = folder.path("Info.plist")
        try write("Info.plist", "<key>NSAllowArbitraryLoads</key><false/>")
        let plain = try Data(contentsOf: URL(fileURLWithPath: path))
        let mark = Data([0xEF, 0xBB, 0xBF])
        try (mark + plain).write(to: URL(fileURLWithPath: path))
        #expect(try sealward(["lint", "Info.plist", "--fix"]).errors.contains("ATS001"))
        let text = try #require(String(data: plain, encoding: .utf8))
        let fixed = text.replacingOccurrences(of: "NSAllowArbitraryLoads", with: "NSAllowsArbitraryLoads")
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == mark + Data(fixed.utf8))
        let piped = try sealward(["lint", "-", "--fix"], input: text)
        #expect(piped.errors.contains("it is standard input; name the file instead."))
        try text.write(toFile: path, atomically: true, encoding: .utf16)
        #expect(
            try sealward(["lint", "Info.plist", "--fix"]).errors.contains(
                "it is not UTF-8, or has more in it than the list"))
    }

    /// A list between other words, as in a message or a file of a project, is not written back without them.
    @Test(arguments: ["message.txt", "export_presets.cfg"]) func wordsAroundAListStay(_ name: String) throws {
        let text =
            "[preset.0]\n<key>MinimumOSVersion</key><string>15.0</string>\n<key>NSAppTransportSecurity</key>\n<dict><key>NSExceptionDomains</key><dict><key>a.example</key><dict><key>NSRequiresCertificateTransparency</key><true/></dict></dict></dict>\nend\n"
        try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
        let run = try sealward(["lint", name, "--fix"])
        #expect(run.output.contains("ATS020") && run.errors.contains("change it there by hand"), "\(run.errors)")
        #expect(try String(contentsOfFile: folder.path(name), encoding: .utf8) == text)
    }

    @Test func aDashIsStandardOutput() throws {
        try write("Info.plist", "<key>NSAllowArbitraryLoads</key><false/>")
        let arguments = ["lint", "Info.plist", "--format", "json"]
        #expect(try sealward(arguments + ["--output", "-"]).output == sealward(arguments).output)
        #expect(!FileManager.default.fileExists(atPath: folder.path("-")))
        #expect(try sealward(arguments + ["--output", "./-"]).output.isEmpty)
        #expect(FileManager.default.fileExists(atPath: folder.path("-")))
    }

    /// Names of files come from outside: none begins a line of the log, where CI systems read commands.
    @Test(arguments: ["text", "json", "junit", "github", "markdown", "sarif", "xcode", "html"])
    func namesBeginNoLine(_ format: String) throws {
        for name in ["x\n::stop-commands::abc\n::error file=a.swift,line=1::forged", "::warning::forged"] {
            try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
            try "<plist>".write(toFile: folder.path(name + "/Info.plist"), atomically: true, encoding: .utf8)
        }
        try write("::warning::forged/A-Info.plist", "<key>NSAllowArbitraryLoads</key><false/>")
        for options in [[], ["--fix"]] {
            let run = try sealward(["lint", ".", "--format", format] + options)
            let lines = run.errors.split(separator: "\n")
            #expect(lines.allSatisfy { $0.hasPrefix("sealward: ") }, "\(run.errors)")
            if format == "junit" { #expect(run.output.contains("x&#10;::stop-commands")) }
        }
    }

    /// Azure Pipelines and TeamCity read commands anywhere in a line, GitHub where one begins.
    @Test(arguments: ["text", "json", "junit", "github", "markdown", "sarif", "xcode", "html"])
    func keysAreNoCommandsForBuildMachines(_ format: String) throws {
        let keys = ["##vso[task.prependpath]/tmp/evil", "##[error]x", "##teamcity[x", "x\n::stop-commands::abc"]
        try write("Info.plist", keys.map { "<key>\($0)</key>\n<true/>" }.joined(separator: "\n"))
        try write("Other.plist", "<key>NSAllowsArbitraryLoads</key>\n<true/>")
        for arguments in [
            ["lint", "Info.plist"], ["lint", "Other.plist", "--against", "Info.plist"],
            ["explain", "https://a.example", "--info-plist", "Info.plist"],
        ] where arguments[0] == "lint" || ["text", "json"].contains(format) {
            let run = try sealward(arguments + ["--format", format])
            for text in [run.output, run.errors] {
                for mark in ["##vso[", "##[", "##teamcity["] { #expect(!text.contains(mark), "\(arguments): \(text)") }
                let lines = text.split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " } }
                #expect(!lines.contains { $0.hasPrefix("::stop") }, "\(text)")
            }
            if format == "json", arguments.count == 2 {
                #expect(run.output.contains("#\\u0023vso[task.prependpath]/tmp/evil"), "\(run.output)")
                let files = try #require(run.json["files"] as? [[String: Any]])
                #expect("\(files)".contains("##vso[task.prependpath]/tmp/evil"), "the value stays")
            }
        }
    }

    @Test func theBaselineTightensOnly() throws {
        try write("Info.plist", "<key>NSAllowArbitraryLoads</key>\n<true/>")
        let arguments = ["lint", "Info.plist", "--baseline", "b.json"]
        #expect(try sealward(arguments).status == 2)
        #expect(try sealward(arguments + ["--update-baseline"]).status == 0)
        #expect(try sealward(arguments).status == 0)
        try write(
            "Info.plist",
            "<key>NSAllowArbitraryLoads</key>\n<true/>\n<key>NSExceptionRequiresForwardSecrecy</key>\n<false/>")
        #expect(try sealward(arguments + ["--update-baseline", "--format", "json"]).rules == ["ATS010"])
        #expect(try sealward(arguments).status == 1)
        try write("Info.plist", "<key>NSAllowsLocalNetworking</key>\n<true/>")
        #expect(try sealward(arguments + ["--update-baseline"]).status == 0)
        try write("Info.plist", "<key>NSAllowArbitraryLoads</key>\n<true/>")
        #expect(try sealward(arguments).status == 1)
    }

    @Test func againstReportsOnlyWhatGotWeaker() throws {
        let pinned =
            "<key>NSExceptionDomains</key><dict><key>api.example.com</key><dict><key>NSExceptionMinimumTLSVersion</key><string>TLSv1.3</string></dict></dict>"
        try write("old.plist", pinned)
        try write("new.plist", arbitrary + pinned.replacingOccurrences(of: "1.3", with: "1.0"))
        let run = try sealward(["lint", "new.plist", "--against", "old.plist", "--format", "json"])
        #expect(run.status == 1)
        #expect(Set(run.rules) == ["ATS050", "ATS051", "ATS052", "ATS053"])
        let alone = try sealward(["lint", "new.plist", "--format", "json"])
        #expect(run.reviewTriggers == alone.reviewTriggers && run.reviewTriggers.contains("NSAllowsArbitraryLoads"))
        #expect(
            run.findings.contains {
                $0["rule"] as? String == "ATS051" && ($0["keyPath"] as? String)?.hasSuffix("api.example.com") == true
            }
        )
        #expect(try sealward(["lint", "old.plist", "--against", "new.plist"]).status == 0)
        #expect(try sealward(["lint", "new.plist", "--against", "new.plist"]).status == 0)
    }

    @Test func extensionsHaveTheirOwnDictionary() throws {
        try write("A.app/Info.plist", arbitrary, root: "<key>CFBundlePackageType</key><string>APPL</string>\n")
        try write("A.app/PlugIns/B.appex/Info.plist", "")
        let run = try sealward(["lint", "A.app", "--format", "json"])
        #expect(run.files.count == 2)
        #expect(run.rules.sorted() == ["ATS012", "ATS030"])
        let words = run.findings.compactMap { $0["message"] as? String }
        #expect(words.contains { $0.contains("NSAllowsArbitraryLoads is absent here and true in the app") }, "\(words)")
        // What is not read makes no difference.
        try write("C.app/Info.plist", "", root: "<key>CFBundlePackageType</key><string>APPL</string>\n")
        try write("C.app/PlugIns/D.appex/Info.plist", "<key>NSAllowsArbitraryLoads</key><string>YES</string>")
        #expect(try !sealward(["lint", "C.app", "--format", "json"]).rules.contains("ATS030"))
        #expect(
            run.files.compactMap { $0["path"] as? String } == ["A.app/Info.plist", "A.app/PlugIns/B.appex/Info.plist"])
    }

    @Test func theDotNetHandlerIsNamed() throws {
        try write("Platforms/iOS/Info.plist", "<key>NSAllowsLocalNetworking</key><true/>")
        try
            "<Project>\n<TargetFramework>net9.0-ios</TargetFramework>\n<UseNativeHttpHandler>false</UseNativeHttpHandler>\n</Project>"
            .write(toFile: folder.path("App.csproj"), atomically: true, encoding: .utf8)
        let run = try sealward(["lint", ".", "--format", "json"])
        let stack = try #require(run.files.first?["networkStack"] as? [String: Any])
        #expect(stack["handler"] as? String == "managed")
        #expect(stack["atsApplies"] as? Bool == false)
        #expect(stack["source"] as? String == "App.csproj:3")
        #expect(run.rules == ["ATS043"])
    }

    /// The handler of the configuration that ships, in words, with what was not followed; a broken project is named.
    @Test func theConfigurationOfADotNetProjectIsFollowed() throws {
        try write("Platforms/iOS/Info.plist", "<key>NSAllowsLocalNetworking</key><true/>")
        func project(_ text: String) throws {
            try
                "<Project Sdk=\"Microsoft.NET.Sdk\"><PropertyGroup>\n<TargetFramework>net9.0-ios</TargetFramework>\n\(text)</PropertyGroup></Project>"
                .write(toFile: folder.path("App.csproj"), atomically: true, encoding: .utf8)
        }
        try project(
            "<MtouchHttpClientHandler Condition=\"'$(Configuration)' == 'Debug'\">HttpClientHandler</MtouchHttpClientHandler>\n"
                + "<UseNativeHttpHandler Condition=\"%(x) == 1\">false</UseNativeHttpHandler>")
        let release = try sealward(["lint", "."])
        #expect(
            release.output.contains("HttpClient uses NSUrlSessionHandler in Release: App.csproj:2; ATS applies to it."))
        #expect(release.output.contains("App.csproj:4: the condition %(x) == 1 cannot be decided without a build."))
        let debug = try sealward(["lint", ".", "--configuration", "Debug"])
        #expect(
            debug.output.contains("HttpClient uses HttpClientHandler (managed) in Debug: App.csproj:3; ATS does not"))
        try project("<broken>")
        let broken = try sealward(["lint", "."])
        #expect(broken.status == 2)
        #expect(
            broken.output.contains("App.csproj: could not be read: line 3, column 9: </PropertyGroup> closes nothing"))
    }

    /// Somebody put the dictionary into a framework of the app: in the folder and in the archive, that alone is said about frameworks.
    @Test func aDictionaryInAFrameworkOfAnAppIsNamed() throws {
        try write("Payload/A.app/Info.plist", "")
        try write("Payload/A.app/Frameworks/Net.framework/Info.plist", arbitrary)
        try write("Payload/A.app/Art.bundle/Info.plist", "<key>NSAllowsLocalNetworking</key><true/>")
        try "<plist><dict/></plist>".write(
            to: folder.url.appendingPathComponent("Payload/A.app/Frameworks/Other.plist"), atomically: true,
            encoding: .utf8)
        let zip = Process()
        zip.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        zip.arguments = ["python3", "-m", "zipfile", "-c", "a.ipa", "Payload"]
        zip.currentDirectoryURL = folder.url
        try zip.run()
        zip.waitUntilExit()
        for path in ["Payload/A.app", "a.ipa"] {
            let run = try sealward(["lint", path, "--format", "json"])
            #expect(run.files.count == 3, "\(run.output)")
            #expect(run.rules == ["ATS045", "ATS045"], "\(path): \(run.rules)")
        }
    }

    @Test func whatIsPassedOverIsSaid() throws {
        let folders = ["Pods/A", "SourcePackages/checkouts/B", ".build/checkouts/C", "App.dSYM/Contents", ".git/D"]
        for folder in folders { try write(folder + "/Info.plist", arbitrary) }
        try write("App/Info.plist", "")
        let run = try sealward(["lint", "."])
        #expect(run.status == 0)
        #expect(
            run.output.contains(
                "Skipped, because builds and package managers write them: .build, App.dSYM, Pods, SourcePackages."))
        let json = try sealward(["lint", ".", "--format", "json"])
        #expect(json.files.count == 1)
        #expect(try sealward(["lint", "Pods", "--format", "json"]).files.count == 1)
    }

    @Test func justifyPrintsADraft() throws {
        try write("Info.plist", arbitrary)
        let run = try sealward(["lint", "Info.plist", "--justify"])
        #expect(run.output.contains("NSAllowsArbitraryLoads") && run.output.contains("[WRITE HERE"))
    }

    @Test func rulesAreExplained() throws {
        let run = try sealward(["rules", "ats011"])
        #expect(
            run.status == 0 && run.output.contains("ATS011") && run.output.contains("<key>NSAllowsArbitraryLoads</key>")
        )
        #expect(try sealward(["rules"]).output.split(separator: "\n").count == 56)
        #expect(try sealward(["rules", "ATS999"]).status == 64)
        let book = try sealward(["rules", "--format", "json"])
        #expect((book.json["rules"] as? [Any])?.count == 56)
    }
}

extension ProgramRun {
    fileprivate var files: [[String: Any]] { json["files"] as? [[String: Any]] ?? [] }
    fileprivate var findings: [[String: Any]] { files.flatMap { $0["findings"] as? [[String: Any]] ?? [] } }
    fileprivate var reviewTriggers: [String] { files.flatMap { $0["reviewTriggers"] as? [String] ?? [] } }
    fileprivate var rules: [String] { findings.compactMap { $0["rule"] as? String } }
}
