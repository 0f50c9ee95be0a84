// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `sealward ats explain`, and what every command says of systems without ATS.
@Suite struct ExplainCommandTests {
    private static func dictionary(_ json: String, _ body: (String) throws -> Void) throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("ats.json")
        try json.write(toFile: path, atomically: true, encoding: .utf8)
        try body(path)
        withExtendedLifetime(folder) {}
    }

    @Test func theErrorStandsThereAsTheAppSeesIt() throws {
        let run = try ProgramRun(["ats", "explain", "http://news.example/", "--format", "json", "--os", "ios9"])
        let decision = try #require((run.json["decisions"] as? [[String: Any]])?.first)
        let error = try #require(decision["error"] as? [String: Any])
        #expect(error["domain"] as? String == "NSURLErrorDomain" && error["code"] as? Int == -1022)
        #expect(error["streamCode"] is NSNull && error["streamDomain"] is NSNull)
        let below = try #require(error["underlying"] as? [String: Any])
        #expect(below["domain"] as? String == "kCFErrorDomainCFNetwork" && below["code"] as? Int == -1022)
        let console = try #require(error["console"] as? [[String: Any]])
        #expect(
            (console.first?["text"] as? String)?.hasPrefix("App Transport Security has blocked a cleartext HTTP")
                == true)
        #expect((console.first?["citation"] as? String)?.isEmpty == false)
        let text = try ProgramRun(["ats", "explain", "http://news.example/", "--os", "ios9"]).output
        #expect(text.contains("underlying error kCFErrorDomainCFNetwork -1022"))
        #expect(text.contains("log       App Transport Security has blocked a cleartext HTTP"))
    }

    @Test(
        "A URL has at most eight lines, one that is blocked says what would change that, and one of another scheme stops nobody"
    )
    func firstLines() throws {
        let urls = [
            "http://100.101.102.103:3001/", "rtsp://cam.example/", "http://cam.example/", "https://[fe80::1%25en0]/",
        ]
        let run = try ProgramRun(["ats", "explain", "--os", "ios18"] + urls)
        #expect(run.status == 1, "\(run.errors)")
        #expect(run.output.contains("NSExceptionDomains.100.64.0.0/10.NSExceptionAllowsInsecureHTTPLoads = true"))
        #expect(run.output.contains("fix") && run.output.contains("UNDETERMINED  rtsp://cam.example/"))
        let lines = run.output.split(separator: "\n").map { $0.prefix(8) }
        #expect(lines.count <= 3 * 8 + 2, "\(run.output)")
        #expect(lines.starts(with: ["BLOCKED ", "    rule", "    fix "]), "\(run.output)")
        // On a narrow terminal too, where the rule that explains the block and the number stay.
        let switches = #"{"NSAllowsArbitraryLoads":true,"NSAllowsLocalNetworking":true}"#
        try Self.dictionary(switches) { path in
            for (url, os) in [
                ("http://shop.example.com/api", "ios26"), (urls[0], "ios18"), ("http://nas.local/", "ios9"),
            ] {
                let narrow = try ProgramRun(
                    ["ats", "explain", url, "--os", os] + (os == "ios9" ? [] : ["--ats-json", path]),
                    environment: ["COLUMNS": ""])
                #expect(narrow.output.split(separator: "\n").count <= 8, "\(narrow.output)")
                #expect(narrow.output.contains("fix       ") && narrow.output.contains("NSURLErrorDomain -1022"))
                #expect(os == "ios9" || narrow.output.contains("does not count"), "\(narrow.output)")
                #expect(url != urls[0] || narrow.output.contains("does not count as local"), "\(narrow.output)")
            }
        }
        let some = try ProgramRun(["ats", "explain", "rtsp://cam.example/", "https://cam.example/", "--format", "json"])
        #expect(some.status == 2 && some.output.contains("undetermined"), "\(some.output)")
    }

    @Test("A key that is not read is named where the URL is blocked, before that it is cleartext")
    func unreadKeys() throws {
        for switches in [
            #"{"NSAllowArbitraryLoads":true}"#,
            #"{"NSExceptionDomains":{"a.example":{"NSExceptionAllowInsecureHTTPLoads":true}}}"#,
        ] {
            try Self.dictionary(switches) { path in
                let run = try ProgramRun(["ats", "explain", "http://a.example/", "--ats-json", path])
                #expect(run.output.contains("is not one that the system reads"), "\(run.output)")
            }
        }
    }

    @Test("The mistake in the entry of the host comes before one in the keys of the whole app")
    func theHostsOwnMistakeIsFirst() throws {
        let switches =
            #"{"NSAllowsArbitraryLoads":"YES","NSExceptionDomains":{"a.example":{"NSExceptionAllowsInsecureHTTPLoads":"YES"}}}"#
        try Self.dictionary(switches) { path in
            let run = try ProgramRun(["ats", "explain", "http://a.example/", "--ats-json", path])
            #expect(run.output.contains("NSExceptionAllowsInsecureHTTPLoads is a string"), "\(run.output)")
        }
    }

    @Test("The key for an address in an unusual spelling is one that matches it, and that lint has nothing against")
    func unusualAddresses() throws {
        let run = try ProgramRun(["ats", "explain", "http://[2001:db8:0:0::5]/"])
        let key = "NSExceptionDomains.2001:db8::5/128.NSExceptionAllowsInsecureHTTPLoads"
        #expect(run.output.contains(key), "\(run.output)")
        try Self.dictionary(
            #"{"NSExceptionDomains":{"2001:db8::5/128":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#
        ) { path in
            let allowed = try ProgramRun(["ats", "explain", "http://[2001:db8:0:0::5]/", "--ats-json", path])
            #expect(allowed.status == 0, "\(allowed.output)")
        }
    }

    @Test("The key for a host with a final dot is one that works, and lint asks only whether the URLs have the dot")
    func finalDot() throws {
        let url = "http://a.example./"
        let run = try ProgramRun(["ats", "explain", url])
        #expect(run.output.contains("NSExceptionDomains.a.example..NSExceptionAllowsInsecureHTTPLoads"))
        let words = run.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("The key needs the final dot"), "\(words)")
        let entry = #"{"NSExceptionDomains":{"a.example.":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#
        try Self.dictionary(entry) { path in
            for (url, status) in [(url, 0), ("http://a.example/", 1)] as [(String, Int32)] {
                let run = try ProgramRun(["ats", "explain", url, "--ats-json", path])
                #expect(run.status == status, "\(run.output)")
            }
        }
    }

    @Test("A WebSocket is served over wss, whatever blocks it") func webSockets() throws {
        let pins = #"{"NSPinnedDomains":{"a.example":{"NSPinnedLeafIdentities":[]}}}"#
        for (url, os, json, words) in [
            ("ws://a.example/", "macos26", "{}", "serve wss; or"),
            ("ws://a.example/", "macos26", pins, "serve wss, and"),
            ("ws://nas.local/", "ios9", "{}", "load wss by"), ("wss://10.0.0.1/", "ios9", "{}", "load wss by"),
        ] {
            try Self.dictionary(json) { path in
                let run = try ProgramRun(["ats", "explain", url, "--os", os, "--ats-json", path])
                #expect(run.status == 1 && run.output.contains(words), "\(run.output)")
                #expect(!run.output.contains("https"), "\(run.output)")
            }
        }
    }

    @Test("Where sources contradict each other about a key, the verdict is undetermined and names them")
    func disputedKey() throws {
        let entry = #"{"NSExceptionDomains":{"shop.example":{"NSRequiresCertificateTransparency":true}}}"#
        try Self.dictionary(entry) { path in
            for (os, status) in [("macos11", 2), ("ios13", 2), ("ios26.4", 0)] as [(String, Int32)] {
                let arguments = ["ats", "explain", "https://shop.example/", "--ats-json", path, "--os", os]
                let text = try ProgramRun(arguments)
                #expect(text.status == status && text.output.contains("blochberger/ats") == (status == 2), "\(os)")
                let json = try ProgramRun(arguments + ["--format", "json"]).output
                #expect(json.contains("\"undetermined\"") == (status == 2) && json.contains("sources") == (status == 2))
            }
        }
    }

    @Test("Pins of which none is usable block on systems that read pins, and only there")
    func unusablePins() throws {
        let pins = #"{"NSPinnedDomains":{"shop.example":{"NSPinnedLeafIdentities":[]}}}"#
        try Self.dictionary(pins) { path in
            let run = try ProgramRun(["ats", "explain", "https://shop.example/", "--ats-json", path])
            #expect(run.status == 1 && run.output.contains("BLOCKED") && run.output.contains("-9802"), "\(run.output)")
            #expect(run.output.contains("write a usable pin into the host's list"), "\(run.output)")
            let older = try ProgramRun(["ats", "explain", "https://shop.example/", "--ats-json", path, "--os", "ios12"])
            #expect(older.status == 0 && !older.output.contains("every chain is refused"), "\(older.output)")
        }
        let pin = String(repeating: "A", count: 43) + "="
        let pasted = pins.replacingOccurrences(of: "[]", with: #"[{"SPKI-SHA256-BASE64":"sha256/\#(pin)"}]"#)
        try Self.dictionary(pasted) { path in
            let run = try ProgramRun(["ats", "explain", "https://shop.example/", "--ats-json", path])
            #expect(run.status == 1 && run.output.contains("here it is '\(pin)'"), "\(run.output)")
        }
    }

    @Test("The default system is named with its SDK if only the SDK differs")
    func theSDKThatDiffers() throws {
        let arguments = ["ats", "explain", "https://old.example/", "--ats-json"]
        try Self.dictionary(#"{"NSExceptionDomains":{"old.example":{"NSExceptionMinimumTLSVersion":"TLSv1.0"}}}"#) {
            file in
            let linked = try ProgramRun(arguments + [file, "--sdk", "18", "--verbose"]).output
            #expect(
                linked.contains("differs   from macOS 26, linked on 26: the oldest version is TLSv1.0"), "\(linked)")
            let older = try ProgramRun(arguments + [file, "--os", "ios17", "--verbose"]).output
            #expect(older.contains("differs   from macOS 26: the oldest version is TLSv1.0"), "\(older)")
        }
    }

    @Test func anAppLinkedBeforeTheFirstSDKHasNoTransportSecurity() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("Info.plist")
        try #"<plist version="1.0"><dict><key>DTSDKName</key><string>macosx10.10</string></dict></plist>"#
            .write(toFile: path, atomically: true, encoding: .utf8)
        for arguments in [["--info-plist", path], ["--sdk", "8"]] {
            let run = try ProgramRun(["ats", "explain", "http://news.example/", "--os", "macos10.13"] + arguments)
            #expect(run.status == 0 && run.output.contains("ALLOWED"), "\(run.output)")
            #expect(run.output.contains("App Transport Security is off in an app that is linked on SDK 8"))
            #expect(
                try ProgramRun(["ats", "fetch", "https://127.0.0.1:1/", "--os", "macos10.13"] + arguments).status == 64)
        }
    }

    @Test func linterAndMatcherAgreeOnNamesOfOtherScripts() throws {
        let folder = try TemporaryDirectory()
        for key in ["stra\u{DF}e.example", "STRASSE\u{FC}.example", "cafe\u{301}.example"] {
            let path = folder.path("Info.plist")
            try """
            <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSExceptionDomains</key><dict>
            <key>\(key)</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict></dict></dict></plist>
            """.write(toFile: path, atomically: true, encoding: .utf8)
            let lint = try ProgramRun(["ats", "lint", path])
            #expect(lint.status == 1 && lint.output.contains("ATS047"), "\(lint.output)")
            #expect(!lint.output.contains("is allowed"), "\(lint.output)")
            let explain = try ProgramRun(["ats", "explain", "http://\(key)/", "--info-plist", path])
            #expect(explain.status == 1 && explain.output.contains("almost matches"), "\(explain.output)")
            // Written as the linter says, the key matches.
            let fixed = try ProgramRun(["ats", "lint", path, "--format", "json"])
            let files = try #require(fixed.json["files"] as? [[String: Any]])
            let findings = files.flatMap { $0["findings"] as? [[String: Any]] ?? [] }
            let fix = try #require(findings.first { $0["rule"] as? String == "ATS047" }?["fix"] as? String)
            let ascii = try #require(fix.split(separator: "'").dropFirst().first)
            try Self.dictionary(#"{"NSExceptionDomains":{"\#(ascii)":{"NSExceptionAllowsInsecureHTTPLoads":true}}}"#) {
                path in
                let run = try ProgramRun(["ats", "explain", "http://\(key)/", "--ats-json", path])
                #expect(run.status == 0, "\(run.output)")
            }
        }
    }

    @Test func aWholeInfoPlistInPlaceOfTheDictionaryIsCaught() throws {
        try Self.dictionary(#"{"NSAppTransportSecurity":{"NSAllowsArbitraryLoads":true}}"#) { path in
            let run = try ProgramRun(["ats", "explain", "http://news.example/", "--ats-json", path])
            #expect(run.status == 1 && run.output.contains("one level too deep"), "\(run.output)")
        }
    }

    @Test func systemsWithoutATSAreAnsweredByEveryCommand() throws {
        let run = try ProgramRun(["ats", "explain", "http://news.example/", "--os", "ios8", "--format", "json"])
        #expect(run.status == 0, "\(run.errors)")
        let decision = try #require((run.json["decisions"] as? [[String: Any]])?.first)
        #expect(decision["applies"] as? Bool == false && decision["verdict"] as? String == "allowed")
        #expect(run.output.contains("App Transport Security does not exist on iOS 8"))
        for (system, name) in [
            ("ios8.4", "iOS 8.4"), ("macos10.10", "OS X 10.10"), ("tvos8", "tvOS 8"), ("watchos1", "watchOS 1"),
        ] {
            for command in [
                ["check", "127.0.0.1:9"], ["minimize", "127.0.0.1:9"], ["fetch", "http://127.0.0.1:9/"], ["proxy"],
                ["certificate", "/dev/null"],
            ] {
                let run = try ProgramRun(["ats"] + command + ["--os", system])
                #expect(run.status == 64, "\(command) \(run.errors)")
                #expect(run.errors.contains("App Transport Security does not exist on \(name)"), "\(run.errors)")
            }
            #expect(try ProgramRun(["ats", "systems", system]).errors.contains("does not exist on \(name)"))
        }
        let folder = try TemporaryDirectory()
        let path = folder.path("Info.plist")
        try """
        <plist version="1.0"><dict><key>MinimumOSVersion</key><string>8.0</string><key>NSAppTransportSecurity</key><dict/></dict></plist>
        """.write(toFile: path, atomically: true, encoding: .utf8)
        let lint = try ProgramRun(["ats", "lint", path])
        #expect(lint.output.contains("App Transport Security does not exist before iOS 9"), "\(lint.output)")
    }

    /// Everybody has the app at hand; the commands that take one property list say where it is.
    @Test(arguments: [["explain", "http://a.example/"], ["minimize", "a.example"], ["check", "a.example"]])
    func anAppInPlaceOfItsPropertyListIsNamed(_ command: [String]) throws {
        let folder = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: folder.path("Shop.app"), withIntermediateDirectories: true)
        try Data([0x50, 0x4B, 3, 4] + [UInt8](repeating: 0, count: 40)).write(
            to: URL(fileURLWithPath: folder.path("Shop.ipa")))
        for (name, words) in [("Shop.app", "nothing was found"), ("Shop.ipa", "is an archive")] {
            let run = try ProgramRun(["ats"] + command + ["--info-plist", folder.path(name)])
            #expect(run.status == 2, "\(run.errors)")
            #expect(run.errors.contains("\(name): \(words)"), "\(run.errors)")
        }
    }

    @Test(arguments: [("tvos17", "tvOS 17"), ("watchos10", "watchOS 10"), ("visionos1", "visionOS 1")])
    func systemsThatNoSourceSpeaksOfAreRefusedWithThatSentence(_ system: String, _ name: String) throws {
        for command in [["explain", "http://a.example/"], ["check", "a.example"], ["systems"]] {
            let run = try ProgramRun(["ats"] + command + (command == ["systems"] ? [system] : ["--os", system]))
            #expect(run.status == 64)
            #expect(run.errors.contains("no source says") && run.errors.contains(name), "\(run.errors)")
        }
    }
}
