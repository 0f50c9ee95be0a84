// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What people had in front of them when a load failed for a reason beside ATS, or because of how their Info.plist is made.
@Suite struct FieldFactTests {
    private func log(_ text: String) throws -> ProgramRun {
        let run = try ProgramRun(["ats", "log", "-"], input: text + "\n")
        #expect(run.status == 1, "\(run.output)\(run.errors)")
        return run
    }

    /// The words of a report, whatever its lines.
    private func words(_ run: ProgramRun) -> String {
        run.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func list(_ ats: String, _ more: String = "") -> String {
        "<plist version=\"1.0\">\n<dict>\n<key>NSAppTransportSecurity</key>\n<dict>\n\(ats)\n</dict>\(more)\n</dict>\n</plist>\n"
    }

    private func explain(_ url: String, _ list: String, in folder: TemporaryDirectory) throws -> ProgramRun {
        try list.write(toFile: folder.path("Info.plist"), atomically: true, encoding: .utf8)
        return try ProgramRun(["ats", "explain", url, "--info-plist", folder.path("Info.plist"), "--os", "ios18"])
    }

    @Test("A macOS app without com.apple.security.network.client: the sandbox is named, in the log and by lint")
    func sandbox() throws {
        let said = words(
            try log(
                """
                Sandbox is preventing this process from reading networkd settings file at "/Library/Preferences/com.apple.networkd.plist"
                Task <A>.<1> finished with error [-1003] Error Domain=NSURLErrorDomain Code=-1003 "x" UserInfo={NSErrorFailingURLKey=https://a.example/}
                """))
        #expect(said.contains("ats.net.sandbox") && said.contains("com.apple.security.network.client"), "\(said)")
        let folder = try TemporaryDirectory()
        let path = folder.path("Release.entitlements")
        try "<plist version=\"1.0\"><dict><key>com.apple.security.app-sandbox</key><true/></dict></plist>"
            .write(toFile: path, atomically: true, encoding: .utf8)
        let lint = try ProgramRun(["ats", "lint", path])
        #expect(
            lint.status == 2 && lint.output.contains("com.apple.security.network.client"),
            "\(lint.output)\(lint.errors)")
    }

    @Test("An .entitlements file is judged for the network, whatever it says")
    func entitlements() throws {
        let folder = try TemporaryDirectory()
        for (keys, words) in [
            (
                "<key>com.apple.security.app-sandbox</key><true/><key>com.apple.security.network.client</key><true/>",
                "may connect"
            ), ("<key>aps-environment</key><string>development</string>", "no sandbox"),
        ] {
            let path = folder.path("App.entitlements")
            try "<plist version=\"1.0\"><dict>\(keys)</dict></plist>".write(
                toFile: path, atomically: true, encoding: .utf8)
            let run = try ProgramRun(["ats", "lint", path])
            #expect(run.status == 2 && self.words(run).contains(words), "\(run.output)\(run.errors)")
        }
    }

    @Test("A connection that is lost in mid-session was none of the hello, and a root needs to be switched on")
    func cutsAndRoots() throws {
        func task(_ number: Int, _ stream: Int) -> String {
            "Task <A>.<1> finished with error [\(number)] Error Domain=NSURLErrorDomain Code=\(number) \"x\" UserInfo={NSErrorFailingURLKey=https://a.example/, _kCFStreamErrorCodeKey=\(stream)}"
        }
        let early = words(try log(task(-1200, -9816)))
        #expect(early.contains("ats.tls.large-hello") && early.contains("the network between"), "\(early)")
        let late = words(try log(task(-1005, -9816)))
        #expect(late.contains("after the TLS handshake") && !late.contains("large-hello"), "\(late)")
        let session = words(
            try log("Task <A>.<1> HTTP load failed, 431/0 bytes (error code: -1200 [3:-9816])\n" + task(-1200, -9816)))
        #expect(session.contains("after the TLS handshake") && !session.contains("large-hello"), "\(session)")
        let none = words(
            try log("Task <A>.<1> HTTP load failed, 0/0 bytes (error code: -1200 [3:-9816])\n" + task(-1200, -9816)))
        #expect(none.contains("during the TLS handshake") && none.contains("large-hello"), "\(none)")
        let forbidden = words(
            try log(
                "Error Domain=NSURLErrorDomain Code=-1206 \"x\" UserInfo={NSErrorFailingURLKey=https://a.example/, NSErrorClientCertificateStateKey=2}"
            ))
        #expect(forbidden.contains("of a status 403") && !forbidden.contains("give the app"), "\(forbidden)")
        let root = words(try log(task(-1202, -9807)))
        #expect(root.contains("Certificate Trust Settings") && root.contains("simctl keychain booted"), "\(root)")
    }

    @Test(
        "Who judged the chain is said in words",
        arguments: [
            (
                "Connection 5: strict TLS Trust evaluation failed(-9802)",
                ["strict means the rules of ATS on top of the default evaluation"]
            ),
            ("Connection 5: ATS failed system trust", ["after the app's own code had accepted it"]),
            ("Connection 5: default TLS Trust evaluation failed(-9807)", ["certificate"]),
            ("Connection 5: system TLS Trust evaluation failed(-9802)", ["certificate"]),
        ]
    )
    func trustEvaluations(_ line: String, _ expected: [String]) throws {
        let task =
            "Task <A>.<1> finished with error [-1200] Error Domain=NSURLErrorDomain Code=-1200 \"x\" UserInfo={NSErrorFailingURLKey=https://a.example/, _kCFStreamErrorCodeKey=-9802}"
        let said = words(try log(line + "\n" + task))
        for word in ["a.example"] + expected { #expect(said.contains(word), "\(said)") }
    }

    @Test("-9808 of nscurl --tls-diagnostics is errSSLBadCert, in the log and by number")
    func badCertificate() throws {
        #expect(words(try log("TLS failed with error: -9808")).contains("ats.tls.handshake-failed"))
        #expect(try ProgramRun(["explain", "--", "-9808"]).output.contains("errSSLBadCert"))
    }

    @Test("100.64.0.0/10 is not local; the whole range is proposed, which lint accepts, and never one address")
    func carrierAddresses() throws {
        let folder = try TemporaryDirectory()
        let url = "http://100.101.102.103/"
        let local = "<key>NSAllowsLocalNetworking</key><true/>"
        let run = try explain(url, Self.list(local), in: folder)
        #expect(run.status == 1 && words(run).contains("100.64.0.0/10"), "\(run.output)")
        #expect(!run.output.contains("NSExceptionDomains.100.101.102.103"), "\(run.output)")
        let entry =
            "<key>NSExceptionDomains</key><dict><key>100.64.0.0/10</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict>"
        #expect(try explain(url, Self.list(entry), in: folder).status == 0)
        #expect(try !ProgramRun(["ats", "lint", folder.path("Info.plist")]).output.contains("ATS025"))
    }

    @Test("A build setting INFOPLIST_KEY_NSAppTransportSecurity_... is an error at its line")
    func buildSetting() throws {
        let folder = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: folder.path("A.xcodeproj"), withIntermediateDirectories: true)
        let project = """
            // !$*UTF8*$!
            { objects = {
            App = {isa = PBXNativeTarget; name = App; productType = "com.apple.product-type.application"; buildConfigurationList = L;};
            L = {buildConfigurations = (C);}; C = {isa = XCBuildConfiguration; name = Release; buildSettings = {
            GENERATE_INFOPLIST_FILE = YES;
            INFOPLIST_KEY_NSAppTransportSecurity_NSAllowsArbitraryLoads = YES;
            };}; }; }
            """
        try project.write(toFile: folder.path("A.xcodeproj/project.pbxproj"), atomically: true, encoding: .utf8)
        let run = try ProgramRun(["ats", "lint", folder.path("A.xcodeproj/project.pbxproj")])
        #expect(run.status == 1, "\(run.output)\(run.errors)")
        #expect(run.output.contains("project.pbxproj\n  6:1 "), "\(run.output)")
        #expect(run.output.contains("error") && run.output.contains("ATS055"), "\(run.output)")
    }

    @Test(
        "A variable of the build: as a switch it stays a string, as a host key it is unknown, and --fix touches neither"
    )
    func buildVariables() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path("Info.plist")
        let list = Self.list(
            """
            <key>NSAllowsArbitraryLoads</key><string>$(ALLOW_ALL)</string>
            <key>NSExceptionDomains</key><dict><key>$(API_HOST)</key><dict><key>NSExceptionAllowsInsecureHTTPLoads</key><true/></dict></dict>
            """)
        #expect(try explain("http://api.example.com/", list, in: folder).status == 1)
        let run = try ProgramRun(["ats", "lint", path, "--format", "json"])
        let files = try #require(run.json["files"] as? [[String: Any]], "\(run.output)")
        let findings = files.flatMap { $0["findings"] as? [[String: Any]] ?? [] }
        for (key, severity) in [("NSAllowsArbitraryLoads", "error"), ("$(API_HOST)", "note")] {
            let own = findings.filter {
                ($0["keyPath"] as? [String])?.last == key || ($0["keyPath"] as? String)?.hasSuffix(key) == true
            }
            #expect(own.count == 1 && own.first?["severity"] as? String == severity, "\(key): \(run.output)")
        }
        _ = try ProgramRun(["ats", "lint", path, "--fix"])
        let fixed = try String(contentsOfFile: path, encoding: .utf8)
        #expect(fixed.contains("<string>$(ALLOW_ALL)</string>") && fixed.contains("<key>$(API_HOST)</key>"), "\(fixed)")
    }
}
