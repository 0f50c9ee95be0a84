// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import TestSupport
import Testing

/// What the program says to a slip of the hand, and what it never shows.
@Suite struct UsageTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func write(_ text: String, _ name: String) throws -> String {
        try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
        return folder.path(name)
    }

    @Test(
        arguments: [
            (["ats", "chek", "x"], "'sealward ats' has no subcommand 'chek'. Did you mean 'check'?"),
            (["atz"], "'sealward' has no subcommand 'atz'. Did you mean 'ats'?"),
            (["lint", "Info.plist"], "'sealward' has no subcommand 'lint'. Did you mean 'sealward ats lint'?"),
            (["chek"], "has no subcommand 'chek'. Did you mean 'sealward ats check' or 'sealward store check'?"),
            (["ats", "faults"], "'sealward ats' has no subcommand 'faults'. Did you mean 'sealward simulate faults'?"),
            (["keys", "forget"], "Its subcommands are list, revoke, restore, delete."),
            (["simulate", "fleat"], "Did you mean 'fleet'?"),
            (["receipt", "verifi", "--help"], "Did you mean 'verify'?"),
            (["ats", "che\u{301}ck\u{7}"], "has no subcommand"),
        ]
    )
    func aMisspelledSubcommandIsNamedWithTheOneThatWasMeant(_ words: [String], _ sentence: String) throws {
        let run = try ProgramRun(words)
        #expect(run.status == 64)
        #expect(run.errors.contains(sentence), "\(run.errors)")
        #expect(run.output.isEmpty && !run.errors.contains("\u{7}"))
    }

    /// An option that would do nothing with the others is refused.
    @Test(arguments: [
        ["explain", "https://a.example/", "--ats-json", "absent.json", "--define", "HOST=a.example"],
        ["explain", "https://a.example/", "--xcconfig", "absent.xcconfig"],
        ["check", "a.example", "--define", "HOST=a.example"], ["minimize", "a.example", "--define", "HOST=a.example"],
        ["fetch", "https://a.example/", "--define", "HOST=a.example"],
        ["proxy", "--listen", "127.0.0.1:0", "--define", "HOST=a.example"],
    ])
    func valuesOfABuildNeedTheirList(_ words: [String]) throws {
        let run = try ProgramRun(["ats"] + words)
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors.contains("--define and --xcconfig are for an Info.plist"), "\(run.errors)")
    }

    /// Whatever else is missing, or wrong in a later word.
    @Test(
        arguments: [
            (["ats", "explain", "--no-such-option"], "'--no-such-option'"),
            (["ats", "lint", "--formt=json"], "'--formt'. Did you mean '--format'?"),
            (["ramp", "--daily-user", "5"], "'--daily-user'. Did you mean '--daily-users'?"),
            (["keys", "list", "--urll", "x"], "'--urll'. Did you mean '--url'?"),
            (["attest", "verify", "--zzz", "--at", "noon"], "'--zzz'"),
            (["simulate", "--seed"], "'--seed'"),
        ]
    )
    func anUnknownOptionIsNamedFirst(_ words: [String], _ option: String) throws {
        let run = try ProgramRun(words)
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("Error: Unknown option \(option)\nUsage: sealward "), "\(run.errors)")
    }

    /// The message quotes the value, which may come from a file or from somebody else.
    @Test(arguments: [
        ["attest", "verify", "a", "--app-id"], ["attest", "inspect", "a", "--format"],
        ["simulate", "apple", "--listen"],
        ["simulate", "fleet", "--mix"], ["ats", "check", "a.example", "--os"], ["store", "check", "x"],
    ])
    func aWrongValueCannotSteerTheTerminal(_ words: [String]) throws {
        let run = try ProgramRun(words + ["\u{1B}]0;x\u{7}\u{1B}[2J\u{202E}"])
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("Error: ") && run.errors.contains("Usage: sealward "), "\(run.errors)")
        #expect(!run.errors.unicodeScalars.contains { "\u{1B}\u{7}\u{202E}".unicodeScalars.contains($0) })
    }

    /// A negative number is the value of the option before it, which says what it takes.
    @Test(arguments: [
        (["attest", "verify-assertion", "a", "--counter", "-1"], "The value '-1' is invalid for '--counter"),
        (["attest", "verify-assertion", "a", "--counter", "-1"], "a whole number to 4294967295"),
        (["simulate", "fleet", "--seed", "-5"], "'--seed"),
        (["attest", "verify", "a", "--app-id", "-1"], "PREFIX.bundle, for example ABCDE12345.com.example.app"),
    ])
    func aNegativeNumberIsNoOption(_ words: [String], _ sentence: String) throws {
        let run = try ProgramRun(words)
        #expect(run.status == 64 && run.errors.contains(sentence), "\(run.errors)")
        #expect(!run.errors.contains("Unknown option"), "\(run.errors)")
    }

    /// An App ID that none can have says why.
    @Test(arguments: [("ABCDE12345.*", "is one of a provisioning profile"), ("ABCDE12345", "PREFIX.bundle")])
    func aWrongAppIDSaysWhy(_ text: String, _ sentence: String) throws {
        let run = try ProgramRun(["attest", "verify", "a", "--app-id", text])
        #expect(run.status == 64 && run.errors.contains(sentence), "\(run.errors)")
    }

    /// A word behind `--` is none, and neither is one that a known option has for its value.
    @Test func whatOnlyLooksLikeAnOptionIsNotCalledOne() throws {
        for words in [["ats", "lint", "--", "--formt"], ["ats", "lint", "--format", "-"]] {
            #expect(try !ProgramRun(words).errors.contains("Unknown option"))
        }
    }

    @Test(arguments: [["--version"], ["help"], ["help", "ats"], ["ats", "--help"], ["ats", "check", "--help"]])
    func whatIsAskedForIsNoSlip(_ words: [String]) throws {
        let run = try ProgramRun(words)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    }

    @Test(arguments: ["text", "json"])
    func aPasswordInAURLIsShownNowhere(_ format: String) throws {
        let run = try ProgramRun(["ats", "explain", "http://anna:secret@h.example/a", "--format", format])
        #expect(run.status == 1)
        #expect(run.output.contains("http://h.example/a"), "\(run.output)")
        #expect(!run.output.contains("secret") && !run.output.contains("anna"), "\(run.output)")
    }

    /// Also where the URL is refused, by any command that takes one.
    @Test(arguments: [
        ["ats", "explain"], ["ats", "fetch"], ["ats", "check"], ["ats", "minimize"], ["ats", "pins"],
        ["ats", "certificate"],
        ["attest", "inspect"], ["serve", "--config"], ["store", "check", "--url"],
    ])
    func aPasswordInAWrongURLIsShownNowhere(_ command: [String]) throws {
        for url in ["https://anna:secret@/a", "https://anna:secret@h.example:99999/", "ftp://anna:secret@h.example/"] {
            let run = try ProgramRun(command + [url])
            #expect(run.status == 64 || run.status == 2)
            let text = run.output + run.errors
            #expect(!text.contains("secret") && !text.contains("anna"), "\(text)")
        }
    }

    /// Whichever option it was given to, and in whatever form.
    @Test func aPrivateKeyIsNamedAndNotRepeated() throws {
        let key = P256.Signing.PrivateKey()
        let (pem, der) = (key.pemRepresentation, key.derRepresentation)
        let hexadecimal = der.map { String(format: "%02x", $0) }.joined()
        let (x, y) = (key.publicKey.rawRepresentation.prefix(32), key.publicKey.rawRepresentation.suffix(32))
        let members = zip(["x", "y", "d"], [x, y, key.rawRepresentation]).map { name, bytes in
            let text = bytes.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            return "\"\(name)\":\"\(text.replacingOccurrences(of: "/", with: "_").prefix(43))\""
        }
        let webKey = "{\"kty\":\"EC\",\"crv\":\"P-256\",\(members.joined(separator: ","))}"
        let forms = [
            pem, pem.replacingOccurrences(of: "\n", with: "\\n"), der.base64EncodedString(), hexadecimal,
            String(pem.prefix(120)), webKey, "{\"keys\":[\(webKey)]}",
        ]
        let lines = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.map { $0.prefix(20) }
        let app = ["--app-id", "ABCDE12345.com.example.app"]
        let assertion = ["attest", "verify-assertion", "a", "--client-data", "x", "--counter", "0"] + app
        for form in forms {
            for words in [
                assertion + ["--public-key", form], assertion + ["--public-key=\(form)"],
                ["receipt", "verify", "a", "--public-key", form] + app,
            ] {
                let run = try ProgramRun(words)
                #expect(run.errors.contains("--public-key: this is a private key"), "\(words.first ?? "")")
                #expect(run.errors.contains("Give the public key instead"), "\(words.first ?? "")")
            }
            for words in [
                assertion + ["--public-key", form], assertion + ["--public-key=\(form)"],
                ["attest", "verify", "a", "--environment", "production", "--challenge", "a", "--key-id", form] + app,
                ["ats", "check", form], ["ats", "check", "--os", form, "a.example"], ["ats", "lint", form],
                ["attest", "inspect", form], ["keys", "list", "--store", form], ["serve", "--config", form],
                ["explain", form], ["doctor", form], ["completions", form], ["ats", form], [form],
            ] {
                let run = try ProgramRun(words)
                #expect(run.status == 64 && run.output.isEmpty, "\(words.first ?? "")")
                #expect(run.errors.contains("is a private key") && run.errors.contains("treat it as leaked"))
                #expect(!lines.contains { run.errors.contains($0) } && !run.errors.contains(hexadecimal.prefix(40)))
            }
        }
        let named = try ProgramRun(assertion + ["--public-key", write(pem, "key.pem")])
        #expect(named.status == 64 && named.errors.contains("is the name of a file"), "\(named.errors)")
        for word in try ["@" + write(pem, "key.pem"), "absent.b64"] {
            let run = try ProgramRun(assertion + ["--public-key", word])
            #expect(run.status == 64 && run.errors.contains("the name of a file"), "\(run.errors)")
        }
        let given = ["--public-key", key.publicKey.pemRepresentation]
        #expect(try !ProgramRun(assertion + given).errors.contains("private key"))
    }

    /// What has the size or the beginning of something else is called by its name, and a long value is not repeated whole.
    @Test func anotherFormOfAKeyIsNamed() throws {
        let key = P256.Signing.PrivateKey().publicKey
        let point = key.x963Representation
        let cose =
            Data([0xA5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 0x20]) + point[1...32] + [0x22, 0x58, 0x20] + point[33...]
        let attestation = Data([0xA3] + [UInt8](repeating: 7, count: 2000))
        let app = ["--app-id", "ABCDE12345.com.example.app"]
        let assertion = ["attest", "verify-assertion", "a", "--client-data", "x", "--counter", "0", "--public-key"]
        let verified = ["attest", "verify", "a", "--environment", "production", "--challenge", "a", "--key-id"]
        for (words, value, name) in [
            (assertion, Data(repeating: 7, count: 32), "a key ID"),
            (assertion, key.compressedRepresentation, "compressed"),
            (assertion, key.rawRepresentation, "put 04 before them"), (assertion, cose, "a COSE key"),
            (assertion, attestation, "an attestation"), (verified, point, "the key ID is its SHA-256"),
            (verified, key.derRepresentation, "SPKI"), (verified, attestation, "an attestation"),
        ] {
            let run = try ProgramRun(words + [value.base64EncodedString()] + app)
            #expect(run.status == 64 && run.errors.contains("of \(value.count) bytes: "), "\(run.errors)")
            #expect(run.errors.contains(name) && run.errors.utf8.count < 1500, "\(run.errors)")
        }
        let webKey = zip(["x", "y"], [point[1...32], point[33...]]).map { name, bytes in
            let text = Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            return "\"\(name)\":\"\(text.replacingOccurrences(of: "/", with: "_").prefix(43))\""
        }
        let accepted = try ProgramRun(assertion + ["{\"kty\":\"EC\",\(webKey.joined(separator: ","))}"] + app)
        #expect(accepted.status == 2, "\(accepted.errors)")
    }

    /// In place of a file, as a word, and quoted from a file.
    @Test func aTokenIsNotRepeated() throws {
        let signed = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlc2lnbmF0dXJl"
        let url = ["--url", "http://127.0.0.1:9"]
        for token in [signed, "Zm9vYmFyMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3A"] {
            for words in [["audit"] + url + ["--token-file", token], ["attest", "inspect", token]] {
                let run = try ProgramRun(words)
                #expect(run.status == 2 && run.errors.contains("not shown): there is no such file."), "\(words)")
                #expect(!run.errors.contains(token.suffix(12)))
            }
        }
        let file = try write(signed + "\n", "places")
        for words in [["explain", signed], ["ats", "check", "localhost", "--resolve-from", file]] {
            let run = try ProgramRun(words)
            #expect(run.status != 0 && run.errors.contains("(hidden)"), "\(run.errors)")
            #expect(!run.errors.contains(signed.suffix(12)))
        }
    }

    /// What only the run can judge is answered with the usage of the command, as what the parser judges.
    @Test(
        arguments: [
            (["ats", "explain", "https:///"], "sealward ats explain"),
            (["ats", "check", "--os", "ios8", "a.example"], "sealward ats check"),
            (["ats", "systems", "ios8"], "sealward ats systems"),
        ]
    )
    func aLateRefusalNamesTheUsageOfItsOwnCommand(_ words: [String], _ command: String) throws {
        let run = try ProgramRun(words)
        #expect(run.status == 64)
        #expect(run.errors.hasPrefix("Error: ") && run.errors.contains("\nUsage: \(command) "), "\(run.errors)")
        #expect(run.errors.hasSuffix("  See '\(command) --help' for more information.\n"), "\(run.errors)")
    }

    /// Sentences are broken as the terminal is wide; values are not.
    @Test(arguments: [100, 72]) func textFitsItsColumns(_ columns: Int) throws {
        let url = "http://example.com/" + String(repeating: "a", count: 120)
        let environment = columns == 100 ? ["COLUMNS": ""] : ["COLUMNS": String(columns)]
        let words = ["ats", "explain", url, "--verbose"]
        let text = try ProgramRun(words, environment: environment).output
        let wide = text.split(separator: "\n").filter { $0.count > columns }
        // What cannot be broken stays whole: the URL, and a key path.
        #expect(wide.first?.contains(url) == true, "\(wide)")
        #expect(wide.dropFirst().allSatisfy { $0.split(separator: " ").count == 1 }, "\(wide)")
        let long = try ProgramRun(words, environment: ["COLUMNS": "1000"]).output
        #expect(text.split(whereSeparator: \.isWhitespace) == long.split(whereSeparator: \.isWhitespace))
    }

    @Test(arguments: [
        ("watchos1", "watchOS 1"), ("tvos8", "tvOS 8"), ("ios8.1", "iOS 8.1"), ("macos10.10", "macOS 10.10"),
    ])
    func lintKnowsTheOldestSystemOfEveryPlatform(_ id: String, _ name: String) throws {
        let file = try write(
            "<plist version=\"1.0\"><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowsLocalNetworking</key><true/></dict></dict></plist>",
            "Info.plist")
        let run = try ProgramRun(["ats", "lint", file, "--minimum-os", id])
        #expect(
            run.output.contains("The app runs on \(name) and later. App Transport Security does not exist"),
            "\(run.output)")
        let next = try ProgramRun(["ats", "lint", file, "--minimum-os", "visionos1"])
        #expect(!next.output.contains("does not exist") && next.status == 0, "\(next.output)\(next.errors)")
    }

    /// Whoever waits for the results of a fleet must not take nothing for "all is well".
    @Test(arguments: ["", #"{"schema":"sealward.ats-check/1","os":"macos26","sdk":"26","targets":[]}"#])
    func mergingNothingSaysSo(_ text: String) throws {
        let run = try ProgramRun(["ats", "merge", "--format", "jsonl", try write(text, "empty.jsonl")])
        #expect(run.output.isEmpty && run.errors == "sealward: the files contain no result.\n", "\(run.errors)")
        #expect(run.status == 2)
    }

    @Test func explainNamesTheTimestampsThatAnEntryRequires() throws {
        let file = try write(
            #"{"NSExceptionDomains":{"example.com":{"NSRequiresCertificateTransparency":true}}}"#, "ats.json")
        func needs(_ os: String) throws -> String {
            try ProgramRun(["ats", "explain", "https://example.com/", "--ats-json", file, "--os", os]).output
        }
        #expect(try needs("ios10").contains("signed certificate timestamps"))
        #expect(try !needs("macos26").contains("signed certificate timestamps"))
    }

    @Test func anArchiveThatIsNoneIsNoPropertyListEither() throws {
        let run = try ProgramRun(["ats", "lint", try write("junk", "Shop.ipa")])
        #expect(run.status == 2)
        #expect((run.errors + run.output).contains("is not a zip archive"), "\(run.errors)\(run.output)")
    }

    @Test func aNewBaselineSaysWhatItTolerates() throws {
        let list = try write(
            #"<plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowArbitraryLoads</key><true/></dict></dict></plist>"#,
            "Info.plist")
        let baseline = folder.path("baseline.json")
        let run = try ProgramRun(["ats", "lint", list, "--baseline", baseline, "--update-baseline"])
        #expect(run.errors == "\(baseline): written; it tolerates 1 finding.\n", "\(run.errors)")
        let quiet = try ProgramRun(["ats", "lint", list, "--baseline", baseline + "2", "--update-baseline", "--quiet"])
        #expect(quiet.errors.isEmpty, "\(quiet.errors)")
    }

    @Test func everyLineOfJSONLIsADocument() throws {
        let run = try ProgramRun([
            "ats", "check", "http://a.example/", "http://b.example/", "--no-http", "--format", "jsonl",
        ])
        let lines = run.output.split(separator: "\n")
        #expect(lines.count == 2, "\(run.errors)")
        for line in lines {
            let document = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(document?["schema"] as? String == "sealward.ats-check-target/1")
            #expect(line.hasPrefix("{\"schema\":"), "\(line.prefix(60))")
        }
    }

    @Test func fleetsWaitOnlyAsLongAsTheyAreTold() throws {
        let port = try FreePort.take()
        let place = "http://127.0.0.1:\(port)"
        let run = try ProgramRun([
            "simulate", "fleet", "--service", place, "--apple", place, "--app", "shop",
            "--app-id", "SIMTEAM001.com.example.shop", "--wait", "0",
        ])
        #expect(run.status == 2)
        #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
    }

    @Test func systemsAreNamedOnce() throws {
        let run = try ProgramRun(["ats", "check", "a.example", "--systems", "ios18", "--os", "ios17"])
        #expect(run.status == 64 && run.errors.contains("leave out --os"), "\(run.errors)")
    }

    @Test(arguments: ["", "1 2", "99999999999999999999999", "seed"])
    func aSeedFileWithoutASeedIsNamed(_ text: String) throws {
        let path = folder.path("seed")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let run = try ProgramRun(["simulate", "apple", "--seed-file", path])
        #expect(run.status == 2)
        #expect(run.errors.contains(path), "\(run.errors)")
        #expect(try ProgramRun(["simulate", "apple", "--seed", "1", "--seed-file", "x"]).status == 64)
    }
}
