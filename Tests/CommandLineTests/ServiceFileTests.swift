// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TestSupport
import Testing

/// The files that the commands of the service are given: whatever stands in them, one sentence names the file and the fix.
@Suite struct ServiceFileTests {
    /// What people give by mistake, and a file that nobody gives in earnest.
    enum Content: String, CaseIterable { case absent, folder, empty, huge, cut, otherKind, binary }

    let folder: TemporaryDirectory
    let key = P256.Signing.PrivateKey()

    init() throws {
        folder = try TemporaryDirectory()
        try write(key.pemRepresentation, "key.p8")
        try write("AAAA\n", "token")
    }

    private func write(_ text: String, _ name: String) throws {
        try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
    }

    /// Makes the file and gives its path.
    private func file(_ content: Content) throws -> String {
        let path = folder.path(content.rawValue)
        switch content {
        case .absent: break
        case .folder: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        case .empty: try write("", content.rawValue)
        case .huge:
            try write("", content.rawValue)
            try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: 40 << 20)
        case .cut: try write(String(key.pemRepresentation.prefix(90)), content.rawValue)
        case .otherKind: try write("<html><body>404 not found</body></html>\n", content.rawValue)
        case .binary: try Data((0...255).map { UInt8($0) }).write(to: URL(fileURLWithPath: path))
        }
        return path
    }

    /// Runs the program and expects status 2 and one line that names the file, without a trace of the code behind it.
    private func expectOneSentence(_ arguments: [String], names path: String, begins: String) throws {
        let result = try ProgramRun(arguments)
        #expect(result.status == 2, "\(arguments): \(result.errors)")
        let lines = result.errors.split(separator: "\n")
        #expect(lines.count == 1 && lines.first?.contains(path) == true, "\(arguments): \(result.errors)")
        #expect(lines.first?.hasPrefix(begins) == true, "\(arguments): \(result.errors)")
        #expect(result.output.isEmpty, "\(result.output)")
        for trace in ["Error Domain", "NSError", "Fatal", "Swift.", "Optional(", "Sources/"] {
            #expect(!result.errors.contains(trace), "\(result.errors)")
        }
    }

    @Test(arguments: Content.allCases)
    func devicecheck(_ content: Content) throws {
        let path = try file(content)
        let account = ["--team-id", "SIMTEAM001", "--key-id", "SIMKEY0001", "--base-url", "http://127.0.0.1:1"]
        for operation in [["query"], ["validate"], ["update", "--bit0", "true"]] {
            let command = ["devicecheck"] + operation + account
            try expectOneSentence(
                command + ["--key-file", path, "--device-token-file", folder.path("token")], names: path,
                begins: "sealward: ")
            // A cut key is several lines, as no device token is.
            try expectOneSentence(
                command + ["--key-file", folder.path("key.p8"), "--device-token-file", path], names: path,
                begins: "sealward: ")
        }
        let one = ["devicecheck", "update", "--bit0", "true"] + account
        try expectOneSentence(
            one + ["--key-file", folder.path("key.p8"), "--device-token-file", folder.path("token")]
                + ["--read-token-file", path], names: path, begins: "sealward: ")
    }

    /// Standard input is read once: what is wrong with it is said of what was in it.
    @Test(arguments: [("", "is empty; write the device token there"), ("key", "contains no device token")])
    func devicecheckOfStandardInput(_ input: String, _ message: String) throws {
        let run = try ProgramRun(
            [
                "devicecheck", "query", "--team-id", "SIMTEAM001", "--key-id", "SIMKEY0001", "--base-url",
                "http://127.0.0.1:1", "--key-file", folder.path("key.p8"), "--device-token-file", "-",
            ], input: input == "key" ? key.pemRepresentation : input)
        #expect(run.status == 2 && run.errors.hasPrefix("sealward: standard input: \(message)"), "\(run.errors)")
    }

    /// A token of push notifications never reaches Apple; one of DeviceCheck may be broken into lines.
    @Test(arguments: [true, false]) func aTokenOfPushNotificationsIsNamed(_ isPush: Bool) throws {
        let bytes = Data(repeating: 0x74, count: isPush ? 32 : 64)
        let digits = bytes.map { String(format: "%02x", $0) }.joined()
        let forms =
            isPush
            ? [digits, bytes.base64EncodedString(), "<\(digits)>"]
            : [bytes.base64EncodedString(options: [.lineLength64Characters, .endLineWithCarriageReturn])]
        for form in forms {
            let run = try ProgramRun(
                [
                    "devicecheck", "query", "--team-id", "SIMTEAM001", "--key-id", "SIMKEY0001", "--base-url",
                    "http://127.0.0.1:1", "--key-file", folder.path("key.p8"), "--device-token-file", "-",
                ], input: form)
            #expect(run.status == 2 && run.errors.contains("push notifications") == isPush, "\(run.errors)")
            #expect(!run.errors.contains("base64"), "\(run.errors)")
        }
    }

    @Test(arguments: Content.allCases)
    func simulate(_ content: Content) throws {
        let path = try file(content)
        let team = ["simulate", "apple", "--team", "SIMTEAM001:SIMKEY0001:\(path)"]
        try expectOneSentence(team, names: path, begins: "sealward: ")
        let fleet = [
            "simulate", "fleet", "--service", "http://127.0.0.1:1", "--apple", "http://127.0.0.1:1", "--app", "shop",
            "--app-id", "SIMTEAM001.com.example.shop", "--devices", "1",
        ]
        for option in ["--server-token-file", "--admin-token-file"] {
            try expectOneSentence(fleet + [option, path], names: path, begins: "sealward: ")
        }
    }

    @Test(arguments: ["--attestation-root", "--receipt-root", "--key-folder"])
    func whatCannotBeWrittenIsNamed(_ option: String) throws {
        let path = folder.path("key.p8") + "/inside"
        let command = ["simulate", "apple", "--team", "SIMTEAM001:SIMKEY0001", option, path]
        try expectOneSentence(command, names: path, begins: "sealward: ")
    }

    /// Every setting that names a file, as a line of the contract: `path: reason`, with the configuration to fix behind it.
    @Test(arguments: Content.allCases)
    func serve(_ content: Content) throws {
        let path = try file(content)
        let configuration = folder.path("sealward.json")
        let root = folder.path("key.p8")
        let settings: [(path: String, text: String)] = [
            ("serverTokenFile", #"{"serverTokenFile":"\#(path)"}"#),
            ("adminTokenFile", #"{"adminTokenFile":"\#(path)"}"#),
            ("tokens.keyFiles[0]", #"{"tokens":{"keyFiles":["\#(path)"]}}"#),
            ("apple.keyFile", #"{"apple":{"teamId":"T","keyId":"K","keyFile":"\#(path)"}}"#),
        ]
        for setting in settings {
            try write(setting.text, "sealward.json")
            let command = ["serve", "--check-config", "--config", configuration]
            try expectOneSentence(command, names: path, begins: "\(setting.path): ")
            try expectOneSentence(command, names: "(\(configuration))", begins: "\(setting.path): ")
        }
        try write(#"{"trustSimulator":{"attestationRoot":"\#(path)","receiptRoot":"\#(root)"}}"#, "sealward.json")
        let result = try ProgramRun(["serve", "--check-config", "--config", configuration])
        let lines = result.errors.split(separator: "\n")
        #expect(result.status == 2 && lines.count == 2, "\(result.errors)")
        #expect(lines.first?.hasPrefix("trustSimulator.attestationRoot: \(path): ") == true, "\(result.errors)")
        #expect(lines.last?.contains("\(root): contains no root certificate in PEM") == true, "\(result.errors)")
    }

    /// The configuration itself.
    @Test(arguments: Content.allCases)
    func configuration(_ content: Content) throws {
        let path = try file(content)
        let result = try ProgramRun(["serve", "--check-config", "--config", path])
        let begin = [.absent, .folder, .huge].contains(content) ? "sealward: \(path): " : "\(path): line 1, column "
        try expectOneSentence(["serve", "--check-config", "--config", path], names: path, begins: begin)
        if begin.hasPrefix(path) { #expect(result.errors.contains("must be one JSON object"), "\(result.errors)") }
    }

    /// A port that is taken, and a host that nobody has.
    @Test(arguments: [
        ("listen", "{"), ("internalListen", #"{"listen":"127.0.0.1:0","#),
        ("listen", #"{"internalListen":"127.0.0.1:0","#),
    ])
    func whereTheServiceCannotListenIsNamed(_ setting: String, _ begin: String) throws {
        let taken = try HeldPort(isListening: true)
        let store = "sqlite:\(folder.path("store.sqlite"))"
        for (address, reason) in [
            ("127.0.0.1:\(taken.port)", "Address already in use"), ("a.invalid:1", "no such host"),
        ] {
            try write(#"\#(begin)"\#(setting)":"\#(address)","store":"\#(store)"}"#, "sealward.json")
            let result = try ProgramRun(["serve", "--quiet", "--config", folder.path("sealward.json")])
            #expect(result.status == 2)
            // One sentence: no line says that the service listens, and the library says nothing.
            let lines = result.errors.split(separator: "\n")
            let sentence = try #require(lines.last)
            #expect(lines.count == 1, "\(result.errors)")
            #expect(sentence.hasPrefix("sealward: \(setting): cannot listen on \(address) ("), "\(result.errors)")
            #expect(sentence.contains(reason) && sentence.hasSuffix("; choose another address."), "\(result.errors)")
        }
    }

    @Test func faultsOfTheConfigurationSayWhere() throws {
        let path = folder.path("sealward.json")
        let command = ["serve", "--check-config", "--config", path]
        try write("{\n  \"listen\": \"127.0.0.1:0\",\n  \"é\": nothing\n}\n", "sealward.json")
        try expectOneSentence(command, names: path, begins: "\(path): line 3, column 8: not a JSON value")
        try write("[]", "sealward.json")
        try expectOneSentence(command, names: path, begins: "\(path): must be one JSON object")
        try write(#"{"listen": "here\u001b[2J\n", "l\u001b[2Jn": 1}"#, "sealward.json")
        let result = try ProgramRun(command)
        #expect(
            result.errors.split(separator: "\n").count == 2 && !result.errors.contains("\u{1B}"), "\(result.errors)")
        let many = (0..<10_000).map { #""k\#($0)":1"# }.joined(separator: ",")
        try write("{\(many)}", "sealward.json")
        let flood = try ProgramRun(command)
        #expect(flood.status == 2 && flood.errors.split(separator: "\n").count == 101)
        #expect(flood.errors.hasSuffix("\(path): 9900 more settings are wrong\n"))
    }
}
