// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import AppAttest
import AppTransportSecurity
import Formats
import PropertyLists
import TLSModel
import TLSProbe
import Vocabulary

/// A form of what people have, and the command that reads it.
struct Recogniser: Sendable {
    /// What is given to a recogniser: a name and the beginning of the content.
    struct Input {
        /// The name of the file without its folder; `-` for standard input and for words of the command line.
        let name: String
        /// At most ``DoctorCommand/headBytes`` of it.
        let head: [UInt8]
        /// The bytes that the text stands for, if it is an object in base64 or another form; else the head.
        let object: [UInt8]
        /// The same as JSON; nil if it is none.
        let json: JSONValue?

        init(name: String, head: [UInt8]) {
            (self.name, self.head) = (name == "-" ? ProjectFile.name(of: head) ?? name : name, head)
            // `<a3636d74 …>` and `<Buffer a3 …>` are no markup.
            let isPrint =
                head.starts(with: "<Buffer ".utf8)
                || head.count > 9 && head[1...8].allSatisfy { $0.hexadecimalValue != nil }
            let isText = (!head.starts(with: "<".utf8) || isPrint) && !ZipArchive.isArchive(head)
            let read = isText ? try? PastedBytes(reading: head, wanted: .object, mayBeRaw: true) : nil
            object = read?.bytes ?? head
            var limits = JSONReader.Limits()
            (limits.depth, limits.values) = (64, 500_000)
            json = Input.begins(head, "{[") ? try? JSONReader.read(head, limits: limits) : nil
        }

        /// Whether the first byte that is no white space is one of these.
        static func begins(_ head: [UInt8], _ marks: String) -> Bool {
            head.first { $0 > 0x20 }.map(marks.utf8.contains) == true
        }

        func has(_ words: String) -> Bool { head.contains(words.utf8) }

        func ends(_ suffixes: [String]) -> Bool { suffixes.contains { name.utf8.asciiLowercased.ends(with: $0.utf8) } }

        /// Whether a line is the beginning of a PEM block with a label.
        func hasPEM(_ labels: String...) -> Bool {
            labels.contains { label in
                let mark = Array("-----BEGIN \(label)-----".utf8)
                return head.starts(with: mark) || head.firstRange(of: [0x0A] + mark) != nil
            }
        }

        /// The one certificate of a file.
        var certificate: CertificateFacts? {
            let blocks = PEMBlocks.decode(head)
            return blocks.count > 1 ? nil : try? CertificateFacts(decoding: blocks.first ?? head)
        }

        /// What is in the list of a file of any form.
        var list: [PlistMember]? { (try? InfoPlistSearch.document(head, name: name))?.root.members }

        /// Whether it is a list of another kind, which the linter names.
        var isOtherList: Bool { list == nil && (try? PlistReader.read(head))?.root.members?.isEmpty == false }

        /// The text on one line, if it is short.
        var line: String? {
            guard head.count <= 300 else { return nil }
            let text = String(decoding: head, as: UTF8.self).trimmed()
            return text.isEmpty || text.contains("\n") ? nil : text
        }

        func isBytes(_ sizes: [Int]) -> Bool {
            line.map { (try? PastedBytes.fixed(Array($0.utf8), sizes: sizes)) != nil } == true
        }
    }

    /// What happens with what was recognised.
    enum Answer: Sendable {
        /// The words of a command, after which the file comes; it judges.
        case command([String])
        /// `explain`, which reads the words themselves.
        case explained
        /// An object of App Attest: inspected, and then verified as far as it can be with what it says about itself.
        case attestation, assertion, receipt
        /// A sentence that says what to do: nothing here can judge it.
        case named(String)
        /// The same of a form that logs and answers of services have too: what they say is looked for first.
        case vague(String)
    }

    /// What it is called in a report for programs, and in words.
    let what: String
    let words: String
    let answer: Answer
    let matches: @Sendable (Input) -> Bool
    var form: DoctorItem.Form { (what, words) }

    private init(
        _ what: String, _ words: String, _ answer: Answer, _ matches: @escaping @Sendable (Input) -> Bool
    ) {
        (self.what, self.words, self.answer, self.matches) = (what, words, answer, matches)
    }

    /// Files that the linter knows by their names.
    private init(linted what: String, _ words: String, _ suffixes: [String]) {
        self.init(what, words, Recogniser.lint) { $0.ends(suffixes) }
    }

    private static let lint = Answer.command(["ats", "lint", "--fail-on", "warning"])

    /// The first that matches.
    static func of(_ input: Input) -> Recogniser? { all.first { $0.matches(input) } }

    /// Every form, the surest first.
    static let all = objects + projects + texts

    private static let objects: [Recogniser] = [
        Recogniser(
            "private-key", "a private key, or a text with one",
            .named("keep it secret, and give it to no tool that asks for it in a chat: nothing in it was read")
        ) {
            $0.has("PRIVATE KEY-----") || $0.line.map { SecretText.isPrivateKey($0) } == true
                || $0.json.map { SecretText.isPrivateKey($0) } == true
        },
        Recogniser("app-archive", "a zip archive, as an .ipa is", lint) { ZipArchive.isArchive($0.head) },
        Recogniser("attestation", "an attestation of App Attest", .attestation) {
            $0.object.first == 0xA3 && $0.object.prefix(64).contains("apple-appattest".utf8)
        },
        Recogniser("assertion", "an assertion of App Attest", .assertion) {
            (try? AssertionObject(decoding: $0.object)) != nil
        },
        Recogniser("attestation", "an object of CBOR, as attestations are", .attestation) { input in
            (input.object.first.map { 0xA1...0xBF ~= $0 } == true || input.object.wereText)
                && ["authData", "authenticatorData", "attStmt"].contains {
                    input.object.prefix(4096).contains($0.utf8)
                }
        },
        Recogniser("receipt", "a receipt of App Attest", .receipt) { (try? Receipt(decoding: $0.object)) != nil },
        // The reader says which it is.
        Recogniser("receipt", "a receipt that is cut off or of the App Store", .receipt) { input in
            let signedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
            return input.object.prefix(32).contains(signedData)
                && ["App Attestation ", "Receipt Signing", "StoreKit"].contains { input.object.contains($0.utf8) }
        },
        Recogniser(
            "authenticator-data", "the authenticator data of an attestation, a part of it",
            .named("give the whole object that attestKey returned to `sealward attest verify`")
        ) { input in
            let wanted = PastedBytes.Wanted("") { $0.dropFirst(37).starts(with: "appattest".utf8) }
            return wanted.accepts(input.head)
                || input.head.count <= 2048
                    && (try? PastedBytes(reading: input.head, wanted: wanted)).map { wanted.accepts($0.bytes) } == true
        },
        Recogniser(
            "attest-certificate", "a certificate of App Attest, which is no server's",
            .named(
                "give the attestation with both certificates to `sealward attest verify`; a root goes to its --trust-root"
            )
        ) { $0.object.first == 0x30 && $0.object.prefix(4096).contains("App Attestation ".utf8) },
        // The linter knows what an app in a sandbox lacks.
        Recogniser(
            "entitlements", "entitlements with App Attest's environment",
            .named(ExplainedSubject.attestEnvironment.means)
        ) {
            Input.begins($0.head, "<") && $0.has("com.apple.developer.devicecheck.appattest-environment")
                && !$0.has("app-sandbox")
        },
        Recogniser("entitlements", "the entitlements of an app", lint) { input in
            input.ends([".entitlements"]) || input.has("[Key] com.apple.")
                || Input.begins(input.head, "<") && input.has("<key>com.apple.security.") && !input.has("<key>CFBundle")
        },
        Recogniser(
            linted: "provisioning-profile", "a provisioning profile", [".mobileprovision", ".provisionprofile"]),
        Recogniser(linted: "configuration-profile", "a configuration profile", [".mobileconfig"]),
        Recogniser(linted: "strings-table", "a table of texts", [".strings"]),
        Recogniser(
            "public-key", "a public key",
            .named("give it to `sealward attest verify-assertion ASSERTION --public-key KEY` with the assertion")
        ) { $0.hasPEM("PUBLIC KEY") && !$0.hasPEM("CERTIFICATE") || $0.isBytes([33, 65, 77, 91]) },
        Recogniser(
            "certificate-request", "a request for a certificate",
            .named("give the certificate that the authority made of it to `sealward ats certificate`")
        ) { $0.hasPEM("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST") },
        Recogniser(
            "ocsp-response", "an OCSP response",
            .named("give it with its chain: `sealward ats certificate CHAIN --ocsp-response FILE`")
        ) { $0.head.first == 0x30 && CertificateBench.content(ofSequence: $0.head).starts(with: [0x0A, 0x01]) },
        Recogniser(
            "root-certificate", "a root certificate, which is no server's",
            .named("judge a chain with it as installed: `sealward ats certificate CHAIN --ca-file FILE`")
        ) { input in
            // Of self-signed certificates those of servers have names, and those of authorities may only sign.
            input.certificate.map {
                $0.isAuthority == true && $0.subjectDER == $0.issuerDER && $0.alternativeNames == nil
                    && $0.keyUsage?.contains(5) == true
            } == true
        },
        Recogniser("certificate", "a certificate or a chain", .command(["ats", "certificate"])) {
            $0.hasPEM("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE", "PKCS7")
                || $0.ends([".cer", ".crt", ".der", ".p7b", ".p7c", ".p12", ".pfx", ".pem"])
                || $0.head.first == 0x30 && $0.head.dropFirst().first.map { $0 > 0x80 } == true
                || $0.json == nil && $0.has("-----BEGIN CERTIFICATE-----")
                || $0.object.first == 0x30 && (try? CertificateFacts(decoding: $0.object)) != nil
        },
        Recogniser(
            "app-check-placeholder", "the placeholder that App Check's client sends when it could not get a token",
            .named("find the first App Check error in the log of the app, and give that to `sealward doctor -`")
        ) { $0.line?.contains("eyJlcnJvciI6") == true },
        Recogniser(
            "app-check-debug-token", "a debug token of App Check",
            .named(
                "register it in the Firebase console (App Check > Apps > Manage debug tokens) of the project and the app that printed it, and keep it secret; until then exchangeDebugToken answers 403"
            )
        ) { input in
            // A UUID behind the words.
            input.line?.lowercased().contains("debug token: ") == true
                && input.line?.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "-" }).contains {
                    $0.utf8.count == 36 && $0.utf8.count { $0 == UInt8(ascii: "-") } == 4
                } == true
        },
        Recogniser(
            "token", "a signed token (JWT)",
            .named("ask the service that issued it; `sealward serve` reads its own at GET /v1/authorize")
        ) { $0.line.map { $0.hasPrefix("eyJ") && $0.utf8.count { $0 == UInt8(ascii: ".") } == 2 } == true },
        Recogniser("property-list", "a binary property list", lint) { $0.head.starts(with: "bplist00".utf8) },
        Recogniser(
            "executable", "an executable of an app",
            .named("name the app that it belongs to: `sealward ats lint NAME.app`")
        ) { input in
            // Mach-O in both orders of bytes, and files of several architectures (mach-o/loader.h, mach-o/fat.h).
            let magic: [UInt32] = [0xCFFA_EDFE, 0xCEFA_EDFE, 0xFEED_FACF, 0xFEED_FACE, 0xCAFE_BABE, 0xCAFE_BABF]
            let number = input.head.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            return input.head.count >= 4 && magic.contains(number)
        },
        Recogniser(
            "packet-capture", "a capture of packets",
            .named(
                "open it in Wireshark, and give the text of the TLS alerts to `sealward doctor -`; `sealward ats check https://HOST/` asks the server itself"
            )
        ) { input in
            // libpcap in both orders of bytes, and pcapng.
            [[0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0xC3, 0xD4], [0x0A, 0x0D, 0x0D, 0x0A]].contains {
                input.head.starts(with: $0)
            }
        },
        Recogniser(
            "compressed", "a compressed file",
            .named("unpack it (gunzip, tar xf), and give the log or the app that is in it")
        ) { input in
            // gzip, bzip2, xz, Zstandard, 7-Zip.
            [
                [0x1F, 0x8B], [0x42, 0x5A, 0x68], [0xFD, 0x37, 0x7A], [0x28, 0xB5, 0x2F, 0xFD],
                [0x37, 0x7A, 0xBC, 0xAF],
            ]
            .contains { input.head.starts(with: $0) }
        },
        Recogniser(
            "picture", "a picture, a film or a document",
            .named("give the text that it shows: copy it, or type the error")
        ) { input in
            // PNG, JPEG, GIF, PDF, and HEIC, whose letters come behind a length.
            [[0x89, 0x50, 0x4E, 0x47], [0xFF, 0xD8, 0xFF], [0x47, 0x49, 0x46, 0x38], [0x25, 0x50, 0x44, 0x46]].contains
            {
                input.head.starts(with: $0)
            } || input.head.dropFirst(4).starts(with: "ftyp".utf8)
        },
        Recogniser(
            "app-scan", "a report of MobSF, which judges each key of the Info.plist alone",
            .named(
                "the Info.plist of the app is its member info_plist: `jq -r .info_plist REPORT.json > Info.plist`, then `sealward ats lint Info.plist`"
            )
        ) { Input.begins($0.head, "{") && $0.has("\"ats_analysis\"") },
        Recogniser(
            "report", "a document of this program",
            .named("what was found stands in it; to find it again, name what it is about")
        ) { $0.json?.member("schema")?.text?.hasPrefix("sealward.") == true },
    ]

    /// Project files of each kind.
    private static let projects: [Recogniser] =
        ProjectFile.kinds.map { kind in
            Recogniser(kind.label, "the file of a project (\(kind.label))", lint) {
                kind.has($0.name) && kind.isMeant($0.head) && kind.isRead($0.head)
            }
        } + [
            Recogniser(
                "xcode-settings", "an .xcconfig without a setting for the Info.plist",
                .named("it gives values to $(NAME): `sealward ats lint Info.plist --xcconfig FILE`")
            ) { $0.ends([".xcconfig"]) && $0.list == nil },
            Recogniser("xcode-project", "the project file of Xcode", lint) {
                $0.ends([".pbxproj", ".xcconfig"]) || ProjectFile.isXcodeProject($0.head)
            },
            Recogniser("cordova-project", "the config.xml or plugin.xml of a Cordova or Ionic project", lint) {
                $0.name == "config.xml" && $0.has("<widget") || $0.name == "plugin.xml" && $0.has("<plugin")
            },
            Recogniser("unity-project", "the settings of a Unity project", lint) {
                $0.name == "ProjectSettings.asset"
            },
            Recogniser(
                "dotnet-project", "a .NET project",
                .named("name its folder, or the Info.plist below Platforms: `sealward ats lint FOLDER`")
            ) { ProjectFile.isDotNet($0.name) },
            // After the projects of Cordova and Titanium, which have Android's names in them.
            Recogniser(
                "android-file", "a file of an Android app",
                .named(ProjectFile.androidAdvice)
            ) { ProjectFile.isAndroid($0.head) },
        ]

    static let log = Recogniser("log", "a log", .command(["ats", "log"])) { input in
        // Scripts print errors as JSON.
        input.ends([".log"]) || input.has("Error Domain=") || input.has("\"eventMessage\"")
            || input.json != nil && (input.has("ErrorDomain\"") || input.has("AxiosError"))
    }

    static let explained = Recogniser("explained", "a code, a number or a name", .explained) { input in
        input.line.map { CodeCatalog.explanation(of: $0) != nil || ExplainedSubject($0) != nil } == true
    }

    private static let texts: [Recogniser] = [
        Recogniser("info-plist", "an Info.plist, or a part of one", lint) { input in
            if input.ends([".plist"]) { return !input.isOtherList }
            if input.ends([".log"]) { return false }
            if let list = input.list { return list.contains { ProjectFile.isInfoKey($0.key) } }
            // A list that is cut off.
            return input.json == nil && Input.begins(input.head, "{<")
                && (ATSDictionary.keys + [ATSKey.dictionary]).contains(where: input.has)
        },
        Recogniser(linted: "property-list", "a property list", [".plist"]),
        Recogniser(
            "proof-in-json", "a JSON document with proofs in it",
            .named(
                "copy the value of its member attestation, assertion or receipt, and give that to `sealward doctor -`")
        ) { $0.json.map(hasProof) == true },
        Recogniser(
            "assertion-parts", "an assertion that was taken apart",
            .named("send the bytes that generateAssertion returned, whole, and give them to `sealward doctor -`")
        ) { input in
            // A passkey also has client data in JSON.
            input.json?.member("authenticatorData")?.text != nil && input.json?.member("signature")?.text != nil
                && input.json?.member("clientDataJSON") == nil
        },
        Recogniser(
            "device-bits", "an answer of DeviceCheck: the two bits of a device",
            .named("Apple answered; what the bits mean is for who wrote them to say")
        ) { $0.json?.member("bit0")?.flag != nil && $0.json?.member("bit1")?.flag != nil },
        Recogniser("har", "an archive of requests (HAR)", .command(["ats", "log"])) {
            $0.ends([".har"]) || $0.json?.member("log")?.member("entries") != nil
        },
        Recogniser(
            "site-association", "an apple-app-site-association file, which is not about ATS",
            .named(
                "since iOS 14 a server of Apple fetches it, over https and without redirects: `sealward ats check https://HOST/.well-known/apple-app-site-association`"
            )
        ) { input in
            input.name.hasPrefix("apple-app-site-association")
                || ["applinks", "webcredentials", "appclips"].contains { input.json?.member($0)?.members != nil }
        },
        Recogniser(
            "source", "the source of a program",
            .named("give what it printed when it failed, or the Info.plist of the app")
        ) { input in
            input.head.starts(with: "#!/".utf8)
                || input.ends([
                    ".c", ".cs", ".dart", ".go", ".h", ".java", ".js", ".kt", ".lua", ".m", ".mjs", ".php", ".py",
                    ".rb",
                    ".rs", ".sh", ".sql", ".swift", ".ts",
                ])
        },
        log,
        Recogniser(
            "json", "a JSON document",
            .vague("no key of an Info.plist is in it where one is read, and no proof of App Attest")
        ) { $0.json != nil },
        Recogniser("property-list", "a property list", .vague("it has no key of an Info.plist")) {
            Input.begins($0.head, "{<D") && (try? PlistReader.read($0.head))?.root.members?.isEmpty == false
        },
        Recogniser(
            "hash", "32 bytes: a key identifier or a hash",
            .named("give it to `sealward attest verify ATTESTATION --key-id KEY-ID` with the attestation")
        ) { $0.isBytes([32]) && !$0.has("\"attestation\"") && !$0.has("\"assertion\"") },
        Recogniser("cut-print", "a print of bytes that says too little of them", .named(PastedBytes.printAll)) {
            PastedBytes.isCutPrint($0.head)
        },
        explained,
        Recogniser(
            "openssl-output", "the output of `openssl s_client`, which negotiates and trusts otherwise than an app",
            .vague(
                "ask the server itself: `sealward ats check https://HOST/`; the certificates that -showcerts prints go to `sealward ats certificate`"
            )
        ) { $0.has("Verify return code: ") || $0.has("CONNECTED(0000") },
        Recogniser(
            "server-scan", "what a scanner says of a server",
            .vague(
                "ask the server with the rules of ATS: `sealward ats check https://HOST/`; ATS asks for TLS 1.2 or later with ECDHE"
            )
        ) { input in
            [
                "ssl-enum-ciphers:", "Supported Server Cipher", "Testing SSL server ", "Testing protocols via sockets",
                "SSL Report: ", "SCAN RESULTS FOR ",
            ].contains(where: input.has)
        },
        Recogniser(
            "curl-output", "the output of curl, which negotiates and trusts otherwise than an app",
            .vague("ask the server itself: `sealward ats check https://HOST/`")
        ) { input in
            ["* Connected to ", "* SSL connection using ", "* ALPN"].contains(where: input.has)
        },
        Recogniser(
            "server-configuration", "the configuration of a server",
            .vague(
                "ask the server what it does with it: `sealward ats check https://HOST/`; ATS asks for TLS 1.2 or later with ECDHE, in nginx `ssl_protocols TLSv1.2 TLSv1.3;`"
            )
        ) { input in
            ["ssl_protocols", "ssl_ciphers", "ssl_certificate ", "SSLProtocol", "SSLCipherSuite", "SSLEngine "]
                .contains(
                    where: input.has)
        },
        Recogniser(
            "crash-report", "a crash report",
            .vague(
                "a load that fails does not end an app: look at its exception, and give the console of that moment to `sealward ats log -`"
            )
        ) { $0.has("\"bug_type\"") || $0.has("Exception Type: ") || $0.has("CrashReporter Key:") },
        Recogniser(
            "utf-16", "a text in UTF-16", .named("save it as UTF-8 (iconv -f UTF-16 -t UTF-8), and give me that")
        ) { input in
            // A mark, or a zero in every pair: two bytes say too little.
            let start = input.head.prefix(16)
            return TextFileEncoding.isUTF16(start)
                && (start.first.map { $0 > 0xF0 } == true || start.count { $0 == 0 } * 2 == start.count)
        },
        Recogniser(
            "ats-words", "a text about App Transport Security",
            .vague(
                "no list can be read in it: give the Info.plist of the app, or the dictionary alone as a property list or JSON; `sealward explain KEY` says what a key is, `sealward ats lint --justify Info.plist` drafts what App Review asks for"
            )
        ) { input in
            ([ATSKey.dictionary, "App Transport Security"] + ATSDictionary.keys).contains(where: input.has)
        },
    ]

    /// Whether a document has a text where a proof is expected. The reader has bounded its depth.
    private static func hasProof(_ value: JSONValue) -> Bool {
        (value.elements ?? []).contains(where: hasProof)
            || (value.members ?? []).contains { member in
                ["attestation", "assertion", "receipt"].contains(member.name) && member.value.text != nil
                    || hasProof(member.value)
            }
    }
}
