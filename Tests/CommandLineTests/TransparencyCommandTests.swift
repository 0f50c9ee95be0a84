// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Certificate Transparency as `ats check` and `ats certificate` judge it: real servers, logs of their own, signatures by `openssl`.
@Suite(.serialized) struct TransparencyCommandTests {
    /// Four logs of three operators; the second operator's signs with RSA.
    struct Logs: Sendable {
        let all: [CertificateLog]
        let stranger: CertificateLog

        init() throws {
            all = [
                try CertificateLog("alder", of: "north"), try CertificateLog("beech", of: "north"),
                try CertificateLog("cedar", of: "south", key: .rsa(2048)), try CertificateLog("dogwood", of: "west"),
            ]
            stranger = try CertificateLog("nobody", of: "nobody")
        }
    }

    static let logs = try? Logs()
    static let host = "shop.logged.example"

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        /// In the certificate: names of logs; with a `!` in front the signature is over something else.
        var embedded: [String] = []
        /// In the handshake.
        var extended: [String] = []
        var days = 90
        var states: [String: String] = [:]
        /// Days of the certificates that a log takes.
        var intervals: [String: (String, String)] = [:]
        /// Words of the output; nil where the load passes.
        var words: [String]?
        var testDescription: String { name }
    }

    static let cases: [Case] = [
        Case(name: "none", words: ["ats.ct.missing", "0 valid of 2 needed, from 0 operators"]),
        Case(name: "two of two operators", embedded: ["alder", "cedar"]),
        Case(
            name: "two of one operator", embedded: ["alder", "beech"], words: ["2 valid of 2 needed, from 1 operator"]),
        Case(
            name: "two where three are needed", embedded: ["alder", "beech"], days: 365,
            words: ["2 valid of 3 needed, from 1 operator"]),
        Case(name: "three of two operators", embedded: ["alder", "beech", "cedar"], days: 365),
        Case(
            name: "a forged one",
            embedded: ["alder", "!cedar"],
            words: [
                "1 valid of 2 needed",
                "response). The timestamp in the certificate of the log 'cedar' does not count: it is forged",
            ]
        ),
        Case(
            name: "an unknown log", embedded: ["alder", "nobody"], words: ["1 valid of 2 needed", "not in the list"]),
        Case(
            name: "a log that was retired", embedded: ["alder", "dogwood"],
            states: ["dogwood": #""retired":{"timestamp":"2025-01-01T00:00:00Z"}"#],
            words: ["after the log was retired on 2025-01-01"]),
        Case(
            name: "a log of another year",
            embedded: ["alder", "cedar"],
            intervals: ["alder": ("2026-01-01", "2050-01-01"), "cedar": ("2020-01-01", "2021-01-01")],
            words: [
                "1 valid of 2 needed", "the log 'cedar' does not count: the certificate expires on",
                "the log accepts those that expire from 2020-01-01 to before 2021-01-01",
            ]
        ),
        Case(name: "in the handshake", extended: ["alder", "dogwood"]),
        Case(name: "one in the certificate, one in the handshake", embedded: ["cedar"], extended: ["dogwood"]),
        Case(
            name: "a forged one in the handshake", extended: ["alder", "!dogwood"],
            words: ["1 valid of 2 needed", "in the handshake of the log 'dogwood' does not count: it is forged"]),
    ]

    @Test(arguments: cases) func timestampsAreVerifiedWithTheKeysOfTheList(_ item: Case) throws {
        let logs = try #require(Self.logs)
        let certification = try TestCertification()
        let root = try certification.root(subject: "/CN=Logged Root")
        func timestamps(_ names: [String], _ entry: CertificateLog.Entry) throws -> [[UInt8]] {
            try names.map { name in
                let isForged = name.hasPrefix("!")
                let wanted = isForged ? String(name.dropFirst()) : name
                let log = try #require((logs.all + [logs.stranger]).first { $0.name == wanted })
                return try log.timestamp(entry, overAnother: isForged)
            }
        }
        let extensions = [
            "basicConstraints=CA:FALSE", "subjectAltName=DNS:\(Self.host)", "extendedKeyUsage=serverAuth",
        ]
        let leaf = try certification.issue(
            "leaf", subject: "/CN=\(Self.host)", issuer: root, extensions: extensions, days: item.days
        ) { try timestamps(item.embedded, $0) }
        var options = ["-cert", leaf.certificatePath, "-key", leaf.keyPath]
        if !item.extended.isEmpty {
            let list = CertificateLog.list(try timestamps(item.extended, .certificate(leaf.der)))
            let block: [UInt8] = [0, 18, UInt8(list.count >> 8), UInt8(list.count & 255)] + list
            let path = certification.directory.path("timestamps.pem")
            let text = Data(block).base64EncodedString(options: .lineLength64Characters)
            try "-----BEGIN SERVERINFO FOR SCT-----\n\(text)\n-----END SERVERINFO FOR SCT-----\n"
                .write(toFile: path, atomically: true, encoding: .utf8)
            options += ["-serverinfo", path, "-tls1_2"]
        }
        let server = try OpenSSLServer(options)
        let listPath = certification.directory.path("logs.json")
        try CertificateLog.logList(logs.all, states: item.states, intervals: item.intervals)
            .write(toFile: listPath, atomically: true, encoding: .utf8)
        let url = "https://\(Self.host):\(server.port)/"
        let common = ["--roots", root.certificatePath, "--ct-log-list", listPath]
        let resolve = ["--resolve", "\(Self.host):\(server.port):127.0.0.1", "--connect-timeout", "10"]
        let check = try ProgramRun(["ats", "check", url, "--verbose"] + common + resolve)
        #expect(check.status == (item.words == nil ? 0 : 1), "\(check.output)\(check.errors)")
        for words in item.words ?? [] { #expect(check.output.contains(words), "\(check.output)") }
        // The load is made wherever the timestamps come from.
        let json = try ProgramRun(["ats", "check", url, "--format", "json"] + common + resolve)
        let target = try #require((json.json["targets"] as? [[String: Any]])?.first)
        #expect(target["status"] as? Int == (item.words == nil ? 200 : nil))
        #expect(!json.output.contains("ats.note.load-not-made"))
        // So does whoever loads, though the library that loads asks for no timestamps.
        let fetch = try ProgramRun(["ats", "fetch", url, "--format", "json"] + common + resolve)
        #expect(fetch.status == check.status, "\(fetch.output)\(fetch.errors)")
        for words in item.words ?? [] { #expect(fetch.output.contains(words), "\(fetch.output)") }
        let tunnel = try Self.throughProxy(url, common + resolve, certification.directory)
        #expect(tunnel.output == (item.words == nil ? "200 200\n" : "403 000\n"), "\(tunnel.errors)")
        if item.words != nil { #expect(tunnel.errors.contains("ats.ct.missing"), "\(tunnel.errors)") }
        // Without a server there are those of the certificate alone.
        if item.extended.isEmpty {
            let certificate = try ProgramRun(
                ["ats", "certificate", leaf.certificatePath, "--host", Self.host] + common)
            #expect(certificate.status == check.status, "\(certificate.output)")
            for words in item.words ?? [] { #expect(certificate.output.contains(words), "\(certificate.output)") }
        }
    }

    /// What curl gets through `ats proxy`: the status of CONNECT and of the load. The standard error is the proxy's.
    private static func throughProxy(
        _ url: String, _ options: [String], _ folder: TemporaryDirectory
    ) throws -> ProgramRun {
        let script = """
            "$PROGRAM" ats proxy --listen 127.0.0.1:0 "$@" 2> "$FOLDER/proxy.log" > /dev/null & pid=$!
            for try in $(seq 200); do grep -q listening "$FOLDER/proxy.log" && break; sleep 0.05; done
            proxy=$(sed -n 's/^listening on //p' "$FOLDER/proxy.log")
            curl -sk -o /dev/null -w '%{http_connect} %{http_code}\\n' --max-time 20 -x "$proxy" "$URL"
            kill -TERM $pid
            wait $pid
            cat "$FOLDER/proxy.log" >&2
            """
        return try ProgramRun(
            URL(fileURLWithPath: "/bin/bash"), ["-c", script, "proxy"] + options,
            environment: ["PROGRAM": BuiltProgram.url.path, "FOLDER": folder.path(""), "URL": url])
    }
}
