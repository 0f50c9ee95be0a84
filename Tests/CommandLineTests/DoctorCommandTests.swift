// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import DeviceSimulator
import Foundation
import TestSupport
import Testing

@testable import sealward

/// `sealward doctor`: each form is called what it is, and silence is never health.
@Suite struct DoctorCommandTests {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func items(_ run: ProgramRun) -> [[String: Any]] { run.json["items"] as? [[String: Any]] ?? [] }

    private func doctor(_ words: [String], input: String? = nil) throws -> ProgramRun {
        try ProgramRun(["doctor", "--format", "json"] + words, input: input ?? "", in: folder.url)
    }

    /// A text of each form that texts have.
    static let examples = [
        ("private-key", "AuthKey_ABC.p8", "-----BEGIN PRIVATE KEY-----\nMIGT\n-----END PRIVATE KEY-----\n"),
        ("private-key", "key.txt", "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAAAA"),
        ("entitlements", "Shop.entitlements", "<plist version=\"1.0\"><dict><key>a</key><true/></dict></plist>"),
        (
            "configuration-profile", "root.mobileconfig",
            "<plist version=\"1.0\"><dict><key>PayloadType</key><string>Configuration</string></dict></plist>"
        ),
        ("android-file", "network_security_config.xml", "<network-security-config></network-security-config>"),
        ("android-file", "assetlinks.json", #"[{"relation": ["delegate_permission/common.handle_all_urls"]}]"#),
        ("device-bits", "answer.json", #"{"bit0":false,"bit1":true,"last_update_time":"2026-05"}"#),
        ("json", "answer.json", #"{"bit0":null,"bit1":"yes"}"#),
        ("har", "page.har", #"{"log": {"entries": []}}"#),
        ("site-association", "aasa.json", #"{"applinks": {"details": []}}"#),
        ("server-configuration", "site.conf", "server {\n  ssl_protocols TLSv1.2;\n}\n"),
        ("crash-report", "Shop.ips", "{\"bug_type\":\"309\"}\n{\n  \"procName\" : \"Shop\"\n}\n"),
        ("strings-table", "Localizable.strings", "\"title\" = \"Shop\";\n"),
        ("public-key", "key.txt", "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n"),
        (
            "certificate-request", "shop.csr",
            "-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n"
        ),
        ("certificate", "chain.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"),
        ("app-check-placeholder", "header.txt", "eyJlcnJvciI6IlVOS05PV05fRVJST1IifQ=="),
        (
            "app-check-debug-token", "console.txt",
            "[Firebase/AppCheck][I-FAA001001] App Check debug token: '123E4567-E89B-42D3-A456-426614174000'."
        ),
        ("token", "token.txt", "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln"),
        ("report", "check.json", #"{"schema": "sealward.ats-check/1", "os": "macos26", "targets": []}"#),
        ("cut-print", "console.txt", "<Buffer a3 63 66 6d 74 6f 61 70 70 6c 65 ... 5195 more bytes>\n"),
        ("xcode-settings", "Release.xcconfig", "PRODUCT_NAME = Shop\nAPI_HOST = api.example.com\n"),
        ("cut-print", "console.txt", "5245 bytes\n"),
        ("cut-print", "console.txt", "{length = 5245, bytes = 0xa363666d 746f6170 ... edc03be80c382fe4 }"),
        (
            "app-scan", "report.json",
            #"{"version": "v4.4.0", "info_plist": "<plist><dict><key>NSAppTransportSecurity</key>", "ats_analysis": {"ats_findings": [{"issue": "NSExceptionDomains"#
        ),
        ("expo-project", "app.json", #"{"expo": {"name": "shop"}}"#),
        ("expo-project", "app.config.js", "export default { expo: { name: makeName() } }"),
        (
            "electron-project", "package.json",
            #"{"build": {"mac": {"extendInfo": {"NSAppTransportSecurity": {}}}}}"#
        ),
        ("electron-project", "package.json", #"{"devDependencies": {"electron-builder": "26.0.0"}}"#),
        ("react-native-project", "package.json", #"{"dependencies": {"react-native": "0.81.0"}}"#),
        ("electron-project", "electron-builder.json", #"{"appId": "com.example.shop"}"#),
        ("electron-project", "electron-builder.js", "appId: com.example.shop"),
        ("capacitor-project", "capacitor.config.js", #"{"appId": "com.example.shop"}"#),
        ("flutter-project", "pubspec.yaml", "name: shop\ndependencies:\n  flutter:\n    sdk: flutter"),
        ("xcodegen-project", "project.yml", "name: Shop\ntargets:\n  Shop:\n    type: application"),
        ("tuist-project", "Project.swift", "import ProjectDescription\nlet project = Project(name: \"Shop\")"),
        ("titanium-project", "tiapp.xml", "<ti:app xmlns:ti=\"http://ti.appcelerator.org\"></ti:app>"),
        ("nativescript-project", "nativescript.config.js", "export default { id: 'com.example.shop' }"),
        ("unreal-project", "shop.uproject", #"{"FileVersion": 3}"#),
        ("tauri-project", "tauri.conf.js", #"{"productName": "shop"}"#),
        ("godot-project", "export_presets.cfg", "[preset.0]\n\nname=\"iOS\"\nplatform=\"iOS\"\n"),
        ("wails-project", "wails.json", #"{"name": "shop", "outputfilename": "shop"}"#),
        (
            "swift-playgrounds-project", "Package.swift",
            "// swift-tools-version: 5.8\nimport AppleProductTypes\nlet package = Package(name: \"Shop\")"
        ),
        ("source", "Package.swift", "// swift-tools-version: 6.0\nimport PackageDescription\n"),
        (
            "project-json", "shop.json", #"{"name": "shop", "ios": {"infoPlist": {"NSAppTransportSecurity": {}}}}"#
        ),
        ("xcode-project", "project.pbxproj", "// !$*UTF8*$!\n{ objects = { A = { isa = XCBuildConfiguration; }; }; }"),
        ("cordova-project", "config.xml", "<widget><access origin=\"http://old.example.com\" /></widget>"),
        (
            "cordova-project", "config.xml",
            "<widget xmlns:android=\"http://schemas.android.com/apk/res/android\"></widget>"
        ),
        (
            "titanium-project", "tiapp.xml",
            "<ti:app><android xmlns:android=\"http://schemas.android.com/apk/res/android\"/></ti:app>"
        ),
        ("unity-project", "ProjectSettings.asset", "PlayerSettings:\n  insecureHttpOption: 2\n"),
        ("dotnet-project", "Shop.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\"></Project>"),
        (
            "info-plist", "Info.plist",
            "<plist version=\"1.0\"><dict><key>NSAppTransportSecurity</key><dict/></dict></plist>"
        ),
        ("proof-in-json", "body.json", #"{"keyId": "a", "attestation": "b", "challenge": "c"}"#),
        ("log", "console.txt", "Error Domain=NSURLErrorDomain Code=-1022 \"x\" UserInfo={}"),
        ("json", "a.json", #"{"a": 1}"#), ("property-list", "list.txt", "{ A = { B = 1; }; }"),
        (
            "property-list", "Colors.plist",
            "<plist version=\"1.0\"><dict><key>color</key><string>red</string></dict></plist>"
        ),
        ("source", "check.py", "raise InvalidNonce('appattest: nonce mismatch')\n"),
        ("source", "check", "#!/bin/sh\necho 'NSURLErrorDomain -1022'\n"),
        ("hash", "keyid.txt", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="), ("explained", "words.txt", "-1022"),
        ("compressed", "a.log.gz", "BZh91AY"), ("picture", "a.pdf", "%PDF-1.7\n"),
        ("packet-capture", "a.pcap", "\n\r\r\n....."),
        ("server-scan", "nmap.txt", "443/tcp open  https\n| ssl-enum-ciphers:\n|   TLSv1.0:\n"),
        ("curl-output", "curl.txt", "* Connected to a.example (192.0.2.1) port 443\n> GET / HTTP/2\n"),
        ("openssl-output", "tls.txt", "CONNECTED(00000005)\n---\nVerify return code: 0 (ok)\n"),
        ("assertion-parts", "parts.json", #"{"authenticatorData": "AAAA", "signature": "AAAA"}"#),
        ("ats-words", "spec.txt", "properties:\n  NSAppTransportSecurity: !include ats.yml\n"),
    ]

    /// Forms of which no text is one, or that only some objects have.
    static let others: Set = [
        "app-archive", "attestation", "assertion", "receipt", "provisioning-profile", "ocsp-response",
        "root-certificate", "executable", "authenticator-data", "attest-certificate", "utf-16",
    ]

    @Test func everyFormIsRecognised() {
        for (what, name, text) in Self.examples {
            let input = Recogniser.Input(name: name, head: Array(text.utf8))
            #expect(Recogniser.of(input)?.what == what, "\(name)")
        }
        #expect(Set(Recogniser.all.map(\.what)) == Set(Self.examples.map(\.0)).union(Self.others))
    }

    /// The parts of an attestation are named, whatever their form: its certificates are no server's.
    @Test func aPartOfAnAttestationIsNamed() throws {
        var random = SimulatorRandom(seed: 23)
        let authority = try SimulatedAuthority(random: &random)
        let made = try authority.attest(
            SimulatedAttestationRequest(
                publicKey: Array(P256.Signing.PrivateKey().publicKey.x963Representation),
                app: SimulatedApp("ABCDE12345.com.example.app"), system: .iOS("27.0"),
                clientDataHash: [UInt8](repeating: 1, count: 32)), at: Date(timeIntervalSince1970: 1_795_262_400))
        let data = Array(try AttestationObject(decoding: made.object).authenticatorData.bytes)
        for (bytes, what) in [(made.leafCertificate, "attest-certificate"), (data, "authenticator-data")] {
            let text = Data(bytes).base64EncodedString()
            let pem = "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
            for head in [bytes, Array(text.utf8), Array(bytes.map { String(format: "%02x", $0) }.joined().utf8)] {
                #expect(Recogniser.of(.init(name: "-", head: head))?.what == what)
            }
            if what == "attest-certificate" {
                #expect(Recogniser.of(.init(name: "leaf.pem", head: Array(pem.utf8)))?.what == what)
            }
        }
        let root = Array(authority.attestationRootPEM.utf8)
        #expect(Recogniser.of(.init(name: "root.pem", head: root))?.what == "attest-certificate")
        #expect(Recogniser.of(.init(name: "-", head: made.object))?.what == "attestation")
        #expect(Recogniser.of(.init(name: "-", head: made.receipt))?.what == "receipt")
    }

    @Test func aFileIsGivenToItsCommand() throws {
        let text =
            "<plist><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key><string>YES</string></dict></dict></plist>"
        try text.write(toFile: folder.path("Info.plist"), atomically: true, encoding: .utf8)
        let run = try doctor(["Info.plist"])
        let item = try #require(items(run).first)
        #expect(run.status == 1 && item["what"] as? String == "info-plist" && item["verdict"] as? String == "cause")
        let because = item["because"] as? [[String: Any]]
        #expect(because?.first?["code"] as? String == "ATS002")
        #expect((item["next"] as? [String])?.first == "sealward ats lint --fail-on warning Info.plist")
        #expect((item["result"] as? [String: Any])?["schema"] as? String == "sealward.ats-lint/1")
    }

    @Test(arguments: [
        ("<key>NSAllowsArbitraryLoads</key>\n<true/>\n", "info-plist", Int32(1)),
        ("{ NSExceptionDomains = { \"a.example\" = { NSExceptionMinimumTLSVersion = \"1.0\"; }; }; }", "info-plist", 1),
        ("Error Domain=NSURLErrorDomain Code=-1022 \"x\"\n", "log", 1), ("-9816\n", "explained", 1),
        ("nothing that anybody knows\n", "unknown", 2), ("", "empty", 2),
        ("Compared with testssl.sh and SSL Labs.\n", "unknown", 2),
        // Words of verifiers in other texts
        ("# Notes\n\nA wrong nonce in an attestation is refused.\n", "unknown", 2),
        ("That test fails: the certificate chain is not valid.\n", "unknown", 2),
        ("Bundle ID mismatch\n", "unknown", 2), ("JWT assertion signature verification failed\n", "unknown", 2),
        ("App Attest is on.\nThe certificate for this server is invalid.\nNSURLErrorDomain -1202\n", "log", 1),
        // Files of projects without their names
        (
            "<widget xmlns=\"http://www.w3.org/ns/widgets\"><access origin=\"*\" allows-arbitrary-loads-in-media=\"true\" /></widget>",
            "cordova-project", 1
        ),
        ("%YAML 1.1\nPlayerSettings:\n  insecureHttpOption: 2\n", "unity-project", 1),
        ("import type { CapacitorConfig } from '@capacitor/cli';\n", "capacitor-project", 2),
        ("<Project Sdk=\"Microsoft.NET.Sdk\"></Project>", "dotnet-project", 2),
        ("// !$*UTF8*$!\n{ objects = { A = { isa = XCBuildConfiguration; }; }; }", "xcode-project", 2),
        // Numbers of others
        (#""code":-1,"domain":"SQRLCodeSignatureErrorDomain""#, "unknown", 2),
        ("[fetch] status: 403 error code: 1010 banned\n", "unknown", 2),
        ("{ NSAppTransportSecurity = { NSAllowsArbitraryLoads = ", "info-plist", 2),
        (
            "$ defaults read com.example.App NSAppTransportSecurity\n{\n    NSAllowsArbitraryLoads = 1;\n}\n",
            "info-plist", 1
        ),
        ("{\"a\": null, \"NSExceptionDomains\": 1}", "info-plist", 1), ("{ A = { B = 1; }; }", "property-list", 2),
        ("{\"a\": [1]}", "json", 2), ("We set NSAllowsLocalNetworking, and\nit fails.", "ats-words", 2),
        ("App Transport Security Settings\n  Allow Arbitrary Loads  Boolean  YES\n", "ats-words", 2),
        ("INFOPLIST_KEY_NSAppTransportSecurity_NSAllowsArbitraryLoads = YES\n", "info-plist", 1),
        ("Add :NSAppTransportSecurity:NSAllowsArbitraryLoads bool true\n", "info-plist", 1),
        ("{\"schema\": \"sealward.ats-check/1\"}", "report", 2), ("-11850", "explained", 1), ("-11800", "explained", 2),
        ("{\"code\": -1022, \"domain\": \"NSURLErrorDomain\"}", "log", 1), ("TypeError: Load failed", "log", 2),
        ("SSL_connect returned=1 errno=0: sslv3 alert handshake failure (OpenSSL::SSL::SSLError)", "log", 1),
        ("NSAppTransportSecurity:\n  NSAllowsArbitraryLoads: true\n", "info-plist", 1),
        ("00-0af7651916cd43dd8448eb211c80319c-b7-01", "unknown", 2),
        ("export default { a: -1 }", "unknown", 2), ("Fehler -1022", "explained", 1),
        ("import x\nraise Exception('Connection failed')\n", "unknown", 2),
    ])
    func standardInputIsRecognised(_ text: String, _ what: String, _ status: Int32) throws {
        let run = try doctor(["-"], input: text)
        #expect(items(run).first?["what"] as? String == what && run.status == status, "\(run.output) \(run.errors)")
    }

    /// What servers, libraries and services write about proofs, over several lines or in JSON: the code, or that the answer is no fault.
    @Test(arguments: [
        (
            "{ date: 'Mon, 30 Oct 2017 20:51:39 GMT',\n  'content-length': '36' }\nstatusCode: 401\nUnable to verify authorization token",
            "devicecheck.authorization.refused"
        ),
        (
            #"{"responseCode":"400","responseMessage":"Missing or incorrectly formatted device token payload"}"#,
            "deviceToken.invalid"
        ),
        (
            "POST https://data-development.appattest.apple.com/v1/attestationData\nHTTP/2 400\n{\"error\":\"Invalid receipt\"}\n",
            "receipt.refresh.bad-payload"
        ),
        (
            #"{"type":"urn:sealward:problem:assert.counter.replayed","title":"x","status":409,"code":"assert.counter.replayed"}"#,
            "assert.counter.replayed"
        ),
        (
            #"{"error": {"code": 403, "message": "The key was revoked. [key.revoked]", "details": [{"domain": "sealward"}]}}"#,
            "key.revoked"
        ),
        (
            #"{"error": {"code": 403, "message": "Requests to this API firebaseappcheck.googleapis.com method x are blocked."}}"#,
            "attest.app-check.stopped"
        ),
        (#"{"error": {"code": 401, "message": "Firebase App Check token is invalid."}}"#, "attest.app-check.refused"),
        (
            #"{ "error": { "code": 403, "message": "App Attestation failed.", "status": "PERMISSION_DENIED" } }"#,
            "attest.app-check.refused"
        ),
        (
            "Firebase Database connection was forcefully killed by the server. Reason: Invalid appcheck token",
            "attest.app-check.refused"
        ),
        (
            "java.security.cert.CertPathValidatorException: validity check failed\n  at ch.veehait.devicecheck.appattest.Validator",
            "attest.chain.expired"
        ),
        (
            "[Error: Calling the 'attestKeyAsync' function has failed\n→ Caused by: Invalid key provided]",
            "attest.device.invalid-key"
        ),
        ("LOG  Trouble: [Error: Device check is not supported by this device]", "attest.device.feature-unsupported"),
        (
            "Error: nonce does not match\n    at verifyAttestation (node_modules/node-app-attest/src/verifyAttestation.js:120:13)",
            "attest.nonce.mismatch"
        ),
        (
            "Traceback:\n  File \"pyattest/verifiers/apple_attestation.py\", line 60\npyattest.exceptions.InvalidNonceException",
            "attest.nonce.mismatch"
        ),
        (
            "CertPathValidatorException: Path does not chain with any of the trust anchors\n  at ch.veehait.devicecheck.appattest.Validator",
            "attest.chain.untrusted"
        ),
        (
            "ch.veehait.devicecheck.InvalidAuthenticatorDataException: App Attest credential ID mismatch",
            "attest.key-id.mismatch"
        ),
        (
            "Fido2VerificationException: Failed to build chain in Apple AppAttest attestation: NotTimeValid",
            "attest.chain.expired"
        ),
        (
            "System.Formats.Cbor.CborContentException: The CBOR payload of the attestation is truncated",
            "malformed.cbor"
        ),
        ("deviceNotSupported: Physical device doesn't support App Attest", "attest.device.feature-unsupported"),
        (
            "App ID mismatch: expected hash of ABCDE12345.com.example.app but rpIdHash differs",
            "attest.app-id.mismatch"
        ),
        (#"{"verifyError":"fail_appId_mismatch","errorMessage":"appIdHash mismatch"}"#, "attest.app-id.mismatch"),
        (
            "com.webauthn4j.verifier.exception.TrustAnchorNotFoundException: AttestationVerifier can not find trust anchor",
            "attest.chain.untrusted"
        ),
        (
            "com.webauthn4j.verifier.exception.MaliciousCounterValueException: The counter value is less or equal to the counter value set",
            "assert.counter.replayed"
        ),
        (
            "at.asitplus.attestation.IosAttestationException: Reason.STAGE: stage does not match",
            "attest.environment.mismatch"
        ),
        (
            "ch.veehait.devicecheck.appattest.receipt.ReceiptException$InvalidPayload: Receipt's creation time is after now",
            "receipt.from-the-future"
        ),
        (
            #"{"verifications":{"app":"MISSING","auth":"VALID"},"message":"Callable request verification passed"}"#,
            "attest.app-check.missing"
        ),
        (
            #"{"responseCode":"400","responseMessage":"Missing or incorrectly formatted bits"}"#,
            "devicecheck.request.refused"
        ),
    ])
    func whatIsSaidOfProofsIsKnown(_ text: String, _ code: String) throws {
        let run = try doctor(["-"], input: text)
        let because = items(run).first?["because"] as? [[String: Any]]
        #expect(run.status == 1 && because?.first?["code"] as? String == code, "\(run.output) \(run.errors)")
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\n\nFailed to find bit state", "never set"),
        (
            "<plist version=\"1.0\"><dict><key>com.apple.developer.devicecheck.appattest-environment</key><string>development</string></dict></plist>",
            "make production keys"
        ),
        ("X-Firebase-AppCheck: eyJlcnJvciI6IlVOS05PV05fRVJST1IifQ==", "the placeholder"),
        ("Error Domain=com.apple.devicecheck.error.baa Code=-10000", "nobody documents"),
    ])
    func whatIsNoFaultIsSaid(_ text: String, _ words: String) throws {
        let run = try doctor(["-"], input: text)
        let because = items(run).first?["because"] as? [[String: Any]]
        #expect((because?.first?["message"] as? String)?.contains(words) == true, "\(run.output) \(run.errors)")
    }

    /// Whatever the name of the file; the linter judges the sandbox.
    @Test(arguments: [("", "make production keys"), ("<key>com.apple.security.app-sandbox</key><true/>", "sandboxed")])
    func entitlementsInAFile(_ more: String, _ words: String) throws {
        let environment = "<key>com.apple.developer.devicecheck.appattest-environment</key><string>development</string>"
        let list = "<plist version=\"1.0\"><dict>\(environment)\(more)</dict></plist>"
        try list.write(toFile: folder.path("Shop.entitlements"), atomically: true, encoding: .utf8)
        let run = try doctor(["Shop.entitlements"])
        let because = items(run).first?["because"] as? [[String: Any]]
        #expect(run.status == 2 && items(run).first?["what"] as? String == "entitlements", "\(run.output)")
        #expect((because?.first?["message"] as? String)?.contains(words) == true, "\(run.output) \(run.errors)")
        // As `codesign -d --entitlements -` prints them, and in a file of another name.
        for text in [
            "[Dict]\n\t[Key] com.apple.security.app-sandbox\n\t[Value]\n\t\t[Bool] true\n",
            "<plist><dict><key>com.apple.security.app-sandbox</key><true/></dict></plist>",
        ] {
            let input = Recogniser.Input(name: "ent.plist", head: Array(text.utf8))
            #expect(Recogniser.of(input)?.what == "entitlements")
        }
    }

    /// Headers and JSON of other services are not taken for answers about proofs.
    @Test(arguments: [
        "POST /v1/x HTTP/1.1\nAuthorization: Bearer abc\n", #"{"error": {"code": "request.url"}}"#,
        "APNs: 400 BadDeviceToken\n", "nonce mismatch in the OpenID token\n",
        "AssertionError: nonce does not match the session\n", "the latest login: invalid nonce\n",
        "asn1: structure error: tags don't match\n",
        "error:0D0680A8:asn1 encoding routines:asn1_check_tlen:wrong tag\n",
    ])
    func whatIsSaidOfOtherThingsIsNot(_ text: String) throws {
        let run = try doctor(["-"], input: text)
        #expect(run.status == 2, "\(run.output) \(run.errors)")
    }

    @Test("A list that was pasted with an error is both, and a variable of a shell is no key")
    func whatIsPastedTogether() throws {
        let both =
            "I have <key>NSAllowsLocalNetworking</key><true/> and get\nError Domain=NSURLErrorDomain Code=-1022 UserInfo={NSErrorFailingURLStringKey=http://a.example/}\n"
        #expect(try items(doctor(["-"], input: both)).compactMap { $0["what"] as? String } == ["info-plist", "log"])
        let variable = try doctor(["-"], input: "CFNETWORK_DIAGNOSTICS=3\n")
        #expect(variable.status == 2 && items(variable).first?["what"] as? String != "info-plist", "\(variable.output)")
    }

    @Test func whatIsNotKnownIsNeverFine() throws {
        let archive = folder.path("a.logarchive")
        try FileManager.default.createDirectory(atPath: archive, withIntermediateDirectories: true)
        try "<plist><dict><key>OSArchiveVersion</key><integer>4</integer></dict></plist>".write(
            toFile: archive + "/Info.plist", atomically: true, encoding: .utf8)
        let logs = try doctor([archive])
        #expect(logs.status == 2 && logs.output.contains("log show --archive"), "\(logs.output)")
        #expect(try doctor([folder.path("absent.plist")]).status == 2)
        try FileManager.default.createDirectory(atPath: folder.path("empty"), withIntermediateDirectories: true)
        let empty = try doctor(["empty"])
        #expect(empty.status == 2 && empty.output.contains("or a project of Xcode"), "\(empty.output)")
    }

    /// What cannot be read is a fault as in every command, and stays an item for programs.
    @Test func whatCannotBeReadIsAFault() throws {
        try Data().write(to: folder.url.appending(path: "empty.plist"))
        for (name, reason) in [
            ("absent.plist", "there is no such file"), ("empty.plist", "is empty"),
            ("no-such-file", "there is no such file"),
        ] {
            let run = try ProgramRun(["doctor", name], in: folder.url)
            #expect(
                run.status == 2 && run.output.isEmpty && run.errors.hasPrefix("sealward: \(name): \(reason)"),
                "\(run.errors)")
            let item = try #require(try items(doctor([name])).first)
            #expect(item["verdict"] as? String == "unknown" && (item["because"] as? [Any])?.isEmpty == false)
        }
    }

    /// Names and values that look like options are given on as what they are.
    @Test func nothingFromOutsideIsAnOption() throws {
        for name in ["-a.plist", "--output=b.plist"] {
            try "<key>NSAllowsArbitraryLoads</key>\n<true/>\n".write(
                toFile: folder.path(name), atomically: true, encoding: .utf8)
            let item = try #require(try items(doctor(["--", name])).first)
            #expect(item["verdict"] as? String == "cause" && item["from"] as? String == name, "\(item)")
            #expect((item["next"] as? [String])?.first?.hasSuffix(" ./\(name)") == true, "\(item)")
        }
    }

    /// Numbers need no `--`, and the words of one error are one.
    @Test(arguments: [
        ["-1022"], ["-1200 NSURLErrorDomain"], ["NSURLErrorDomain", "-1200"], ["com.apple.devicecheck.error", "3"],
    ])
    func anErrorIsOneThing(_ words: [String]) throws {
        let run = try doctor(words)
        #expect(
            run.status == 1 && items(run).map { $0["what"] as? String } == ["explained"], "\(run.output) \(run.errors)")
    }

    @Test func twoNumbersAreTwo() throws { #expect(try items(doctor(["-1022", "-1200"])).count == 2) }

    /// An assertion is judged by the command that verifies it.
    @Test func anAssertionNamesItsVerifier() throws {
        let assertion =
            "omlzaWduYXR1cmVYRjBEAiAqKioqKioqKioqKioqKioqKioqKioqKioqKioqKioqKgIgKioqKioqKioqKioqKioqKioqKioqKioqKioqKioqKipxYXV0aGVudGljYXRvckRhdGFYJQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAE="
        let pairs = (Data(base64Encoded: assertion) ?? Data()).map { String(format: "%02x", $0) }
        for text in [assertion, "<\(pairs.joined())>", "<Buffer \(pairs.joined(separator: " "))>"] {
            let item = try #require(try items(doctor(["-"], input: text)).first)
            #expect(item["what"] as? String == "assertion", "\(item)")
            #expect((item["next"] as? [String])?.first?.hasPrefix("sealward attest verify-assertion - ") == true)
            #expect((item["because"] as? [Any])?.isEmpty == false)
        }
    }

    /// A request with an attestation is verified with what it says; what it does not say is asked for.
    @Test(
        arguments: [
            ([:], 0, nil, nil, "--client-data-hash"),
            (
                ["clientDataHash": "", "challenge": "example_server_challenge"], 1, "attest.nonce.mismatch", "unhashed",
                nil
            ),
            (
                ["clientDataHash": "", "challenge": ""], 2, nil, "decides the rest: the challenge",
                "--challenge CHALLENGE"
            ),
            (
                ["keyId": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="], 1, "attest.key-id.mismatch", "expected",
                nil
            ),
            (
                ["clientDataHash": "", "challenge": "--"], 2, nil, "decides the rest: the challenge",
                "--challenge CHALLENGE"
            ),
            (["bundleId": ""], 2, nil, "decides the rest: the app ID", "--app-id PREFIX.BUNDLE"),
            (["bundleId": "com.example.other"], 1, "attest.app-id.mismatch", "1234567890.com.example.other", nil),
            (
                ["teamId": ""], 2, nil, "the prefix of the app ID, which com.example.myapp lacks",
                "--app-id PREFIX.com.example.myapp"
            ),
            (
                ["teamId": "", "appId": "com.example.other", "bundleId": ""], 1, "attest.app-id.mismatch",
                "found 1234567890.com.example.myapp", nil
            ),
            (
                ["teamId": "", "bundleId": "", "rp_id": "1234567890.com.example.MyApp"], 1, "attest.app-id.mismatch",
                "app-id-case", nil
            ),
            (
                ["teamId": "", "appId": "1:1234:ios:abcd", "bundleId": ""], 2, nil, "decides the rest: the app ID",
                "PREFIX.BUNDLE"
            ),
        ] as [([String: String], Int32, String?, String?, String?)])
    func aRequestIsVerifiedWithWhatItSays(
        _ changes: [String: String], _ status: Int32, _ code: String?, _ words: String?, _ next: String?
    ) throws {
        let path = LoopbackServers.repository + "/Tests/Vectors/appattest/apple-guide-2026-ios27.json"
        let vector = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
        let known = try #require(vector as? [String: Any])
        var body: [String: Any] = ["bundleId": "com.example.myapp", "teamId": "1234567890"]
        for name in ["attestation", "keyId", "clientDataHash"] { body[name] = known[name] }
        for (name, value) in changes { body[name] = value.isEmpty ? nil : value }
        let text = String(decoding: try JSONSerialization.data(withJSONObject: ["body": body]), as: UTF8.self)
        let run = try doctor(["-"], input: text)
        let item = try #require(items(run).first)
        let because = item["because"] as? [[String: Any]] ?? []
        #expect(item["what"] as? String == "attestation" && run.status == status, "\(run.output) \(run.errors)")
        #expect(because.first?["code"] as? String == code, "\(because)")
        let said = because.compactMap { $0["message"] as? String }.joined(separator: "\n")
        #expect(words.map(said.contains) != false, "\(said)")
        #expect(next.map { (item["next"] as? [String])?.first?.contains($0) == true } != false, "\(item)")
        #expect(status != 1 || (item["fix"] as? [String])?.isEmpty == false, "\(item)")
    }

    /// A request in curl, a form, headers, an event of a gateway, or a dictionary of another language.
    @Test func aRequestInAnyFormIsReadAsAWhole() throws {
        let path = LoopbackServers.repository + "/Tests/Vectors/appattest/apple-guide-2026-ios27.json"
        let vector = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
        let known = try #require(vector as? [String: Any])
        var members: [(name: String, value: String)] = []
        for name in ["attestation", "keyId", "clientDataHash"] { members.append((name, known[name] as? String ?? "")) }
        members.append(("appId", "1234567890.com.example.myapp"))
        func joined(_ separator: String, _ form: (String, String) -> String) -> String {
            members.map { form($0.name, $0.value) }.joined(separator: separator)
        }
        let json = "{" + joined(",") { "\"\($0)\":\"\($1)\"" } + "}"
        let fields = joined("&") { name, value in
            name + "=" + (value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }
        let headers = joined("") { $0 == "attestation" ? "" : "X-App-Attest-\($0): \($1)\r\n" }
        let event = String(decoding: try JSONEncoder().encode(["body": json]), as: UTF8.self)
        var texts = ["curl -X POST https://api.example.com/attest -d '\(json)'", fields, event]
        texts.append("POST /attest HTTP/1.1\r\n\(headers)\r\n{\"attestation\":\"\(members[0].value)\"}")
        texts.append(joined("\n") { "\($0): \($1)" })
        texts.append(joined("\n") { "\($0.uppercased())=\($1)" })
        texts.append("[" + joined(", ") { "\"\($0)\": \"\($1)\"" } + "]")
        texts.append("{" + joined(", ") { "'\($0)': '\($1)'" } + "}")
        texts.append(joined("") { "--b\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\n\($1)\r\n" })
        for text in texts {
            let run = try doctor(["-"], input: text)
            #expect(
                run.status == 0 && (items(run).first?["verdict"] as? String) == "fine", "\(run.output)\(run.errors)")
        }
    }

    /// Parts of a proof that were taken out of it, and keys in other forms than X9.63, are named.
    @Test func whatIsOnlyAPartOfAProofIsNamed() throws {
        let point = [UInt8](repeating: 3, count: 33)
        for (text, what) in [
            (
                #"{"authenticatorData":"\#(Data(point + [1, 2, 3, 4]).base64EncodedString())","signature":"MEUCIQ=="}"#,
                "assertion-parts"
            ),
            (Data(point).base64EncodedString(), "public-key"),
            (Data([UInt8](repeating: 0xA5, count: 77)).base64EncodedString(), "public-key"),
        ] {
            let run = try doctor(["-"], input: text)
            #expect(run.status == 2 && items(run).first?["what"] as? String == what, "\(run.output)")
        }
    }

    /// CMS with certificates of App Attest in it is a receipt, also if its end is missing.
    @Test func aReceiptThatIsCutOffIsNoCertificate() throws {
        let start: [UInt8] = [
            0x30, 0x82, 0x0F, 0x00, 6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 7, 2, 0xA0, 0x82, 0x0E,
        ]
        let bytes = start + Array("Apple App Attestation CA 1".utf8)
        let run = try doctor(["-"], input: Data(bytes).base64EncodedString())
        let item = try #require(items(run).first)
        #expect(run.status == 2 && item["what"] as? String == "receipt", "\(run.output)")
        let said = (item["because"] as? [[String: Any]])?.first?["message"] as? String
        #expect(said?.contains("CMS signed data") == true, "\(item)")
    }

    /// What languages print of names with dots is no host: no name server is asked.
    @Test func namesOfProgramsAreNoHosts() throws {
        let run = try doctor(["ShopError.attestationFailed"])
        #expect(run.status == 2 && !run.output.contains("ats check"), "\(run.output)\(run.errors)")
    }

    /// A pin is the hash of a public key, and no secret: what to write is shown.
    @Test func aPinIsShown() throws {
        let pin = "r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="
        let list =
            "NSPinnedDomains = { \"a.example\" = { NSPinnedLeafIdentities = ( { \"SPKI-SHA256-BASE64\" = \"sha256/\(pin)\"; } ); }; };"
        let run = try doctor(["-"], input: "{ NSAppTransportSecurity = { \(list) }; }")
        #expect(run.output.contains(pin), "\(run.output)")
    }

    /// Standard input that nobody names is the caller's: a loop over a list would read its first line for ever.
    @Test func standardInputOfALoopStaysWhereItWas() throws {
        for name in ["list", "a.log"] {
            try "a.log\nNSURLErrorDomain -1022\nend\n"
                .write(toFile: folder.path(name), atomically: true, encoding: .utf8)
        }
        let script = "{ read first; \"$0\" doctor a.log >/dev/null; read second; echo \"$second\"; } <list"
        let run = try ProgramRun(
            URL(fileURLWithPath: "/bin/sh"), ["-c", script, BuiltProgram.url.path], in: folder.url)
        #expect(run.output == "NSURLErrorDomain -1022\n", "\(run.errors)")
    }

    /// Files of the repository by the beginning of their path, the longest first: what each is called, and how it ends.
    private static let forms: [(path: String, what: Set<String>, verdicts: Set<String>)] = [
        ("Fuzz/Corpus/archive/", ["app-archive"], ["cause", "unknown"]),
        ("Fuzz/Corpus/attestation/apple", ["attestation"], ["unknown"]),
        ("Fuzz/Corpus/attestation/authenticator-data", ["authenticator-data"], ["unknown"]),
        ("Fuzz/Corpus/attestation/leaf", ["attest-certificate"], ["unknown"]),
        ("Fuzz/Corpus/certificate/bundle", ["certificate"], ["unknown"]),
        ("Fuzz/Corpus/certificate/ocsp", ["ocsp-response"], ["unknown"]),
        ("Fuzz/Corpus/certificate/every-extension", ["root-certificate"], ["unknown"]),
        ("Fuzz/Corpus/certificate/", ["certificate"], ["cause"]),
        ("Fuzz/Corpus/executable/encoded-alone", ["unknown"], ["unknown"]),
        ("Fuzz/Corpus/executable/profile", ["unknown"], ["unknown"]),
        ("Fuzz/Corpus/executable/", ["executable"], ["unknown"]),
        ("Fuzz/Corpus/form/", ["property-list", "source", "unknown"], ["unknown"]),
        ("Fuzz/Corpus/json/dictionary", ["info-plist"], ["cause"]),
        ("Fuzz/Corpus/log/", ["log"], ["cause"]), ("Fuzz/Corpus/ocsp/", ["ocsp-response"], ["unknown"]),
        ("Fuzz/Corpus/pasted/quoted", ["hash"], ["unknown"]),
        ("Fuzz/Corpus/project/ios.csproj", ["dotnet-project"], ["unknown"]),
        ("Fuzz/Corpus/project/project.pbxproj", ["xcode-project"], ["fine"]),
        ("Fuzz/Corpus/receipt/", ["receipt"], ["cause"]),
        ("Fuzz/Corpus/report/texts", ["ats-words"], ["unknown"]),
        ("Fuzz/Corpus/request/attestation", ["attestation"], ["unknown", "cause"]),
        ("Fuzz/", ["json", "report", "unknown", "empty", "property-list"], ["unknown"]),
        ("Tests/Vectors/appattest/apple", ["attestation"], ["fine"]),
        ("Tests/Vectors/appattest/Apple_App", ["attest-certificate"], ["unknown"]),
        ("Tests/Vectors/appattest/Apple", ["root-certificate"], ["unknown"]),
        ("Tests/Vectors/ats/real/01-react-native-tester", ["info-plist"], ["fine"]),
        ("Tests/Vectors/ats/real/06-sparkle-downloader", ["info-plist"], ["fine"]),
        ("Tests/Vectors/ats/real/", ["info-plist"], ["cause"]),
        ("Tests/Vectors/ats/tricky/", ["info-plist", "property-list"], ["cause"]),
        ("Tests/Vectors/", ["json", "report", "unknown", "proof-in-json", "source"], ["unknown"]),
        ("docs/schemas/", ["json"], ["unknown"]), ("packaging/grafana/", ["json"], ["unknown"]),
    ]

    /// Every fixture of the repository is called what it is; nothing is fine but what is, and no answer is silence.
    @Test func everyFixtureIsAnswered() throws {
        let root = URL(fileURLWithPath: LoopbackServers.repository)
        let paths = ["Fuzz/Corpus", "Tests/Vectors", "docs/schemas", "packaging/grafana"].flatMap { folder in
            (FileManager.default.subpaths(atPath: root.appending(path: folder).path) ?? []).map { folder + "/" + $0 }
        }.filter {
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: root.appending(path: $0).path, isDirectory: &isFolder)
                && !isFolder.boolValue && !$0.hasSuffix(".md")
        }
        #expect(paths.count > 150)
        let run = try ProgramRun(["doctor", "--format", "json"] + paths, in: root)
        let items = items(run)
        #expect(items.count == paths.count, "\(run.errors)")
        for item in items {
            let path = item["from"] as? String ?? ""
            let row = Self.forms.first { path.hasPrefix($0.path) }
            #expect(row?.what.contains(item["what"] as? String ?? "") == true, "\(path): \(item["what"] ?? "")")
            #expect(
                row?.verdicts.contains(item["verdict"] as? String ?? "") == true, "\(path): \(item["verdict"] ?? "")")
            #expect(item["verdict"] as? String == "fine" || (item["because"] as? [Any])?.isEmpty == false, "\(path)")
        }
    }

    /// A token with dots is no host whose name is looked up.
    @Test func aTokenIsNoHost() throws {
        let token = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl"
        let run = try doctor([token])
        #expect(items(run).first?["what"] as? String == "token" && run.status == 2, "\(run.output)")
        #expect(!run.output.contains("c2lnbmF0dXJl"), "\(run.output)")
    }

    /// A file with holes, alone and in a folder.
    @Test(arguments: ["in/large.plist", "in"]) func moreThanTheLimitIsNotRead(_ what: String) throws {
        try FileManager.default.createDirectory(atPath: folder.path("in"), withIntermediateDirectories: true)
        #expect(FileManager.default.createFile(atPath: folder.path("in/large.plist"), contents: nil))
        #expect(truncate(folder.path("in/large.plist"), 513 << 20) == 0)
        let run = try doctor([what])
        #expect(run.status == 2 && run.output.contains("has more than 512 MiB"), "\(run.output)")
    }

    /// Names with dots are no hosts, and a URL is one of any scheme and on standard input too.
    @Test(
        arguments: [
            (["DCError.invalidKey"], nil, "explained"), (["1.2.840.113635.100.8.2"], nil, "explained"),
            (["com.example.shop"], nil, "unknown"), (["wss://127.0.0.1:1/"], nil, "server"),
            (["HTTPS://127.0.0.1:1/"], nil, "server"), ([], "https://127.0.0.1:1/\n", "server"),
        ] as [([String], String?, String)])
    func hostsAreToldFromNames(_ words: [String], _ input: String?, _ what: String) throws {
        let run = try doctor(words, input: input)
        #expect(items(run).first?["what"] as? String == what, "\(run.output)")
    }

    /// A link that leads out of a folder is not followed.
    @Test func nothingOutsideIsRead() throws {
        try FileManager.default.createDirectory(atPath: folder.path("in"), withIntermediateDirectories: true)
        let text =
            "<plist><dict><key>NSAppTransportSecurity</key><dict><key>NSAllowsArbitraryLoads</key><string>OUTSIDE</string></dict></dict></plist>"
        try text.write(toFile: folder.path("secret.plist"), atomically: true, encoding: .utf8)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("in/Info.plist"), withDestinationPath: folder.path("secret.plist"))
        try FileManager.default.createSymbolicLink(atPath: folder.path("in/all"), withDestinationPath: folder.url.path)
        let run = try doctor(["in"])
        #expect(run.status == 2 && !run.output.contains("OUTSIDE"), "\(run.output)")
    }

    @Test(arguments: [
        "Authorization: Bearer abcDEF123", "password=hunter2secret", "https://user:hunter2secret@a.example/",
        "--password hunter2secret", "curl --user=admin:hunter2secret http://a", "curl -b 'sid=hunter2secret' http://a",
        "curl --oauth2-bearer hunter2secret http://a", #"password: Optional("hunter2secret")"#, "pass=hunter2secret",
        "api_key: hunter2secret", "x eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln", "?token=hunter2secret&b=1",
        "key 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "Cookie: sid=hunter2secret; other=hunter2secret",
        #"{"name": "Cookie", "value": "sid=hunter2secret; other=hunter2secret"}"#,
        "curl -u admin:hunter2secret http://a",
        "Authorization: Bearer\thunter2secret", #"{"password": {"value": "hunter2secret"}}"#,
        "AWS_SECRET_ACCESS_KEY=a/hunter2secret/b", #"let token: String = "hunter2secret""#, "redis://:hunter2secret@a",
        "<key>Password</key><string>hunter2secret</string>", #"<add key="Password" value="hunter2secret"/>"#,
        "https://user:a@hunter2secret@a.example/", #"{"password": "of hunter2secret words", "a": 1}"#,
        "Authorization: token hunter2secret, https://a.example/", #"password="a \"hunter2secret\" word hunter2secret""#,
        #"{\"passcode\": \"a hunter2secret word\"}"#, "{\"token\":\n  \"hunter2secret\"}",
        "<key>Password</key>\n  <string>hunter2secret</string>",
        "the password is hunter2secret.", "password hunter2secret, user bob", "password was 'hunter2secret word'",
        "http://a.example/reset-password/hunter2secret", "the otp is 482913",
        "https://hooks.chat.example/services/T0000/B0000/abcDEF123ghiJKL456mnoPQR",
        "https://bots.example/bot123456:abcDEF123ghiJKL456mnoPQR-_s/send",
        #"{"url": "https:\/\/chat.example\/abcDEF123ghiJKL456mnoPQR"}"#, #"https:\/\/user:hunter2secret@a.example\/"#,
        "postgres://bob:a/hunter2secret@a.example/db", "https://bob:a?hunter2secret#hunter2secret@a.example",
        "curl -uadmin:hunter2secret http://a", "password=&quot;hunter2secret&quot; pw=&#34;hunter2secret&#34;",
        "AccountName=n;AccountKey=hunter2secret;EndpointSuffix=a",
    ])
    func noSecretIsShown(_ text: String) {
        let shown = SecretText.redacted(text, hidesUnnamed: true)
        #expect(shown.contains("(hidden)"))
        for secret in ["hunter2secret", "abcDEF123", "eyJz", "9f86d0", "482913"] {
            #expect(!shown.contains(secret), "\(shown)")
        }
        #expect(SecretText.redacted(shown, hidesUnnamed: true) == shown)
    }

    @Test(arguments: [
        "NSExceptionAllowsInsecureHTTPLoads of URLSession: for api.example.com: the token is gone, see TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "Unexpected token 'i', \"internal s\"... is not valid JSON", "the password is wrong",
        "password for 10.0.0.1 port 8443",
        "Task <5F0C1B7A-0F0E-4C0B-9D0A-2B1C3D4E5F60>.<1> of session <1A2B3C4D> finished with error [-1022]",
        "http://api.example.com/v2/oauth/token/refresh?page=2", "https://a.example/orders/5f1c2e3d4b5a69788796a5b4",
        "token expired at 2026-11-29", "password status -25300", "https://docs.example/security/nsexceptiondomains",
        "https://a.example:8443/users/bob@b.example", "https://[fe80::1]/users/bob@b.example", "ls -u: a",
    ])
    func textWithoutSecretsStays(_ plain: String) {
        #expect(SecretText.redacted(plain, hidesUnnamed: true) == plain)
    }
}
