// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Crypto
import Foundation
import TLSModel
import TestSupport
import Testing
import TrustStores
import TrustTokens

@testable import HTTPService
@testable import TrustService

@Suite struct ConfigurationTests {
    private func read(
        _ text: String, environment: [String: String] = [:], files: [String: String] = [:]
    )
        -> ConfigurationReader.Outcome
    {
        ConfigurationReader.read(file: Array(text.utf8), environment: environment) { path throws(UnreadableFile) in
            guard let text = files[path] else { throw UnreadableFile(reason: "\(path): there is no such file") }
            return Array(text.utf8)
        }
    }

    private func issues(_ text: String, files: [String: String] = [:]) -> [String] {
        if case .issues(let issues) = read(text, files: files) { issues.map(\.path) } else { [] }
    }

    /// Settings with which every token would be too long to be read are refused, and with the longest that are allowed each is read.
    @Test func theLongestTokensCanBeRead() async throws {
        let limit = Configuration.Tokens.longestClaim
        func text(_ count: Int) -> String { String(repeating: "/", count: count) }
        for name in ["issuer", "audience"] {
            #expect(issues(#"{"tokens": {"\#(name)": "\#(text(limit))"}}"#).isEmpty)
            for wrong in [text(limit + 1), #"a\u0001b"#, ""] {
                #expect(issues(#"{"tokens": {"\#(name)": "\#(wrong)"}}"#) == ["tokens.\(name)"])
            }
        }
        var settings = Configuration.Tokens()
        // JSON writes each of these with two bytes.
        func long(_ count: Int) -> String { String(repeating: "\"", count: count) }
        (settings.issuer, settings.audience) = (long(limit), long(limit))
        let tokens = try await TokenAuthority(settings, store: Store.inMemory(), random: SystemSources.live.random)
        let record = KeyRecord(
            id: try #require(KeyIdentifier(strictBase64: Data(repeating: 255, count: 32).base64EncodedString())),
            publicKeyBytes: [], app: "shop", identity: "A." + long(510), environment: "development", simulated: true,
            user: nil, attestationDigest: [], validationCategory: nil, bundleVersion: nil, osVersion: nil)
        let key = StoredKey(
            record, attestedAt: Date(), counter: 0, largestGap: 0, lastUsedAt: nil, revokedAt: nil, riskMetric: nil)
        let issued = try tokens.issue(
            for: key, trust: JudgedTrust(tier: "standard", reasons: ["newKey", "riskAboveBaseline", "category"]),
            singleUse: true, identifier: [UInt8](repeating: 255, count: 16), at: Date())
        #expect(issued.token.utf8.count > 3000)
        #expect(try tokens.read(issued.token, at: Date()).app == record.identity)
    }

    @Test func emptyConfigurationHasTheContractsDefaults() throws {
        guard case .configuration(let settings) = read("{}") else { throw Failure("refused") }
        #expect(settings.listen == ListenAddress(host: "127.0.0.1", port: 8080))
        #expect(settings.store == .sqlite(path: "sealward.sqlite"))
        #expect(settings.challenges.ttl == .seconds(300))
        #expect(settings.tokens.ttl == .seconds(3600))
        #expect(settings.limits.requestsPerSecondPerAddress == 200)
        #expect(settings.limits.bodyBytes == 65536)
        #expect(settings.receipts.refreshAfter == .seconds(86400))
        #expect(settings.receipts.poll == .seconds(60))
    }

    /// One program cannot listen twice on one address.
    @Test(arguments: [
        ("127.0.0.1:8081", "127.0.0.1:8081", true), ("0.0.0.0:8081", "127.0.0.1:8081", true),
        ("127.0.0.1:8081", "[::]:8081", true), ("127.0.0.1:8081", "127.0.0.2:8081", false),
        ("127.0.0.1:0", "127.0.0.1:0", false), ("127.0.0.1:8081", "127.0.0.1:8082", false),
    ])
    func theListenersHaveTwoAddresses(_ listen: String, _ inside: String, _ isWrong: Bool) {
        let issues = issues(#"{"listen": "\#(listen)", "internalListen": "\#(inside)"}"#)
        #expect(issues == (isWrong ? ["internalListen"] : []))
    }

    /// What is allowed and most likely not meant is said at the start.
    @Test func thePlacementOfTheListenersIsWarnedOf() {
        func warnings(_ host: String, _ proxies: [String]) -> [String] {
            var settings = Configuration()
            settings.listen = ListenAddress(host: host, port: 8080)
            settings.trustedProxies = proxies.compactMap { AddressRange($0) }
            return settings.warnings
        }
        #expect(warnings("127.0.0.1", []).isEmpty)
        #expect(warnings("::1", []).isEmpty)
        for host in ["0.0.0.0", "::", "192.0.2.1"] {
            let found = warnings(host, [])
            #expect(
                found.count == 1 && found[0].hasPrefix("The service listens beyond loopback without a trusted proxy"))
            #expect(warnings(host, ["192.0.2.7/32"]).isEmpty)
        }
        #expect(warnings("127.0.0.1", ["127.0.0.1/32"]).isEmpty)
        // One sentence is one line of the log.
        #expect(warnings("::", []).allSatisfy { !$0.contains("\n") })
    }

    @Test func everythingWrongIsReportedAtOnce() {
        let found = issues(
            """
            {"listen": "nowhere", "color": 1, "challenges": {"ttlSeconds": 0}, "serverTokenFile": "absent",
             "limits": {"bodyBytes": "many", "perSecond": 1},
             "apps": [{"id": "shop", "teamId": "TEAM123456", "bundleIds": [], "mode": "loud", "ramp": {"percent": 101}},
                      {"bundleIds": ["a.b"]}],
             "deviceCheck": {"bits": [{"bit": 2, "name": "x"}, {"bit": 0}]}}
            """
        )
        #expect(
            Set(found) == [
                "color", "listen", "serverTokenFile", "apps[0].bundleIds", "apps[0].mode", "apps[0].ramp.percent",
                "apps[1].id",
                "apps[1].teamId", "challenges.ttlSeconds", "limits.perSecond", "limits.bodyBytes",
                "deviceCheck.bits[0].bit", "deviceCheck.bits[1].name",
            ]
        )
    }

    @Test func appReadsEveryKeyOfTheContract() throws {
        let text = """
            {"apps": [{"id": "shop", "teamId": "TEAM123456", "appIdPrefix": "PREFIX1234", "bundleIds": ["a.b", "a.c"],
              "environments": ["production", "development"], "binding": "clientData", "counterMode": "challenge",
              "mode": "monitor", "allowedValidationCategories": [4], "allowedBundleVersions": ["7"],
              "requireExtensions": true, "requireHost": true, "ramp": {"dailyActiveUsers": 1000000, "start": "2026-11-21T00:00:00Z",
              "maxPerSecond": 50, "paused": true}}]}
            """
        guard case .configuration(let settings) = read(text), let app = settings.apps.first else {
            throw Failure("refused")
        }
        #expect(app.appIds == ["PREFIX1234.a.b", "PREFIX1234.a.c"])
        #expect(app.binding == .clientData && app.counterMode == .challenge && app.mode == .monitor)
        #expect(app.ramp?.maxPerSecond == 50 && app.ramp?.paused == true)
        #expect(app.requireExtensions && app.requireHost && app.allowedValidationCategories == [4])
    }

    @Test func environmentOverridesTheFile() throws {
        let outcome = read(
            #"{"challenges": {"ttlSeconds": 10}, "listen": "127.0.0.1:1"}"#,
            environment: [
                "SEALWARD_CHALLENGES_TTL_SECONDS": "20", "SEALWARD_LISTEN": "[::1]:0",
                "SEALWARD_TRUSTED_PROXIES": "10.0.0.0/8,::1", "SEALWARD_APPLE_DATA_BASE_URL": "http://127.0.0.1:9",
                "SEALWARD_SERVER_TOKEN": "secret-secret-secret-secret-secret",
            ]
        )
        guard case .configuration(let settings) = outcome else { throw Failure("refused: \(outcome)") }
        #expect(settings.challenges.ttl == .seconds(20))
        #expect(settings.listen == ListenAddress(host: "::1", port: 0))
        #expect(settings.trustedProxies.count == 2)
        #expect(settings.appleHosts.data == "http://127.0.0.1:9")
        #expect(settings.serverTokens?.tokens == ["secret-secret-secret-secret-secret"])
    }

    @Test func tokenKeysMayStandBesideOtherBlocks() throws {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        let text = #"{"tokens": {"keyFiles": ["key.pem", "bad.pem"]}}"#
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        #expect(issues(text, files: ["key.pem": parameters + pem, "bad.pem": "no key"]) == ["tokens.keyFiles[1]"])
    }

    @Test func aSentenceNamesTheFileOrTheVariableToFix() throws {
        let outcome = read(
            #"{"listen": "here", "challenges": {"ttlSeconds": 0}, "colour": 1}"#,
            environment: ["SEALWARD_CHALLENGES_TTL_SECONDS": "-1", "SEALWARD_TRUSTED_PROXIES": "::1,nowhere"])
        guard case .issues(let issues) = outcome else { throw Failure("accepted") }
        let sentences = Set(issues.map { $0.sentence(file: "sealward.json") })
        #expect(sentences.contains("listen: must be HOST:PORT, for example 127.0.0.1:8080 (sealward.json)"))
        #expect(
            sentences.contains(
                "challenges.ttlSeconds: must be a whole number from 1 to 86400 (SEALWARD_CHALLENGES_TTL_SECONDS)"))
        #expect(sentences.contains("trustedProxies[1]: must be an address or a CIDR block (SEALWARD_TRUSTED_PROXIES)"))
        let colour = issues.first { $0.path == "colour" }
        #expect(colour?.reason.contains("the keys here are adminTokenFile, appCheck, apple, ") == true)
    }

    /// The lines of a private key, given by mistake, must not open the door: anyone knows the first and the last of them.
    @Test(arguments: [
        "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n", "-----x", "two words", "tök", "\n \n",
        String(repeating: "a", count: 31),
    ])
    func whatIsNoTokenIsRefused(_ text: String) {
        #expect(issues(#"{"serverTokenFile": "t"}"#, files: ["t": text]) == ["serverTokenFile"])
    }

    /// A gateway's token must not be an operator's, whichever of the files is read first.
    @Test func noTokenHasTwoRoles() {
        let (one, two) = (String(repeating: "a", count: 32), String(repeating: "b", count: 32))
        let both = #"{"serverTokenFile": "s", "adminTokenFile": "a"}"#
        #expect(issues(both, files: ["s": "\(one)\n\(two)\n", "a": two]) == ["serverTokenFile"])
        #expect(issues(both, files: ["s": one, "a": two]).isEmpty)
        let digest = Credentials.digest(of: one).map { String(format: "%02x", $0) }.joined()
        let entry = #"[{"name": "ci", "sha256": "\#(digest)", "scopes": ["audit"]}]"#
        for role in ["serverTokenFile", "adminTokenFile"] {
            let named = #"{"\#(role)": "t", "tokensFile": "n"}"#
            #expect(issues(named, files: ["t": one, "n": entry]) == ["tokensFile"])
            #expect(issues(named, files: ["t": two, "n": entry]).isEmpty)
        }
    }

    /// A token of tier `none` names its App ID alone.
    @Test func callersThatCannotAttestAreOfOneApp() {
        func apps(_ bundle: String, _ untrusted: String) -> String {
            """
            {"apps": [{"id": "shop", "teamId": "TEAM000001", "bundleIds": ["a.b", "a.c"], "untrusted": "\(untrusted)"},
            {"id": "staging", "teamId": "TEAM000001", "bundleIds": ["\(bundle)"]}]}
            """
        }
        #expect(issues(apps("a.c", "allow")) == ["apps[0].untrusted"])
        #expect(issues(apps("a.d", "allow")).isEmpty)
        #expect(issues(apps("a.c", "refuse")).isEmpty)
    }

    /// A credential goes in clear to this machine only.
    @Test(arguments: [
        ("http://collector:4318", false), ("http://10.1.2.3:4318", false), ("http://otel.local:4318", false),
        ("https://collector.example:4318", true), ("http://127.0.0.1:4318", true), ("http://[::1]:4318", true),
    ])
    func aCredentialForTracesNeedsTLS(_ endpoint: String, _ isAllowed: Bool) {
        let files = ["h": "Authorization: Bearer abc"]
        let given = issues(#"{"tracing": {"endpoint": "\#(endpoint)", "headersFile": "h"}}"#, files: files)
        #expect(given == (isAllowed ? [] : ["tracing.endpoint"]))
        #expect(issues(#"{"tracing": {"endpoint": "\#(endpoint)"}}"#, files: files).isEmpty)
    }

    /// The same in a variable, where only white space around the token is left out.
    @Test(arguments: [
        "-----BEGIN PRIVATE KEY-----", String(repeating: "two words ", count: 4), String(repeating: "ö", count: 32),
        String(repeating: "a", count: 31), String(repeating: "a", count: 32) + "\n" + String(repeating: "b", count: 32),
    ])
    func aVariableWithNoTokenIsRefused(_ text: String) throws {
        for variable in ["SEALWARD_SERVER_TOKEN", "SEALWARD_ADMIN_TOKEN"] {
            guard case .issues(let issues) = read("{}", environment: [variable: text]) else {
                throw Failure("accepted \(text)")
            }
            #expect(issues.map(\.path) == [variable])
        }
        let token = String(repeating: "a", count: 32)
        guard case .configuration(let settings) = read("{}", environment: ["SEALWARD_SERVER_TOKEN": token + "\r\n"])
        else { throw Failure("refused a line") }
        #expect(settings.serverTokens?.tokens == [token])
    }

    @Test(arguments: ["sqlite:a\\u0000b", "a\\u0000b", "postgres://h/d\\u0000"])
    func aStoreWithAZeroByteIsRefused(_ store: String) {
        #expect(issues("{\"store\": \"\(store)\"}") == ["store"])
    }

    @Test func aLevelOfTheLogThatIsNoneIsNamed() throws {
        for level in ["loud", "INFO", " info"] {
            guard case .issues(let issues) = read("{}", environment: ["SEALWARD_LOG_LEVEL": level]) else {
                throw Failure("accepted \(level)")
            }
            #expect(
                issues.map(\.description) == [
                    "SEALWARD_LOG_LEVEL: must be one of trace, debug, info, notice, warning, error, critical"
                ]
            )
        }
        for level in ["", "trace", "critical"] {
            guard case .configuration = read("{}", environment: ["SEALWARD_LOG_LEVEL": level]) else {
                throw Failure("refused \(level)")
            }
        }
    }

    @Test func tokensStandOnLinesOfTheirOwn() throws {
        let rest = String(repeating: "2", count: 29)
        let outcome = read(
            #"{"adminTokenFile": "t"}"#, files: ["t": "\r\n one-._~+/=0123456789012345678901 \r\ntwo\(rest)\n"])
        guard case .configuration(let settings) = outcome else { throw Failure("refused: \(outcome)") }
        #expect(settings.adminTokens?.tokens == ["one-._~+/=0123456789012345678901", "two" + rest])
    }

    /// `docs/configuration.md` is written from the tables that read a configuration. `SEALWARD_REGENERATE=1` writes it again.
    @Test func thePageIsCurrent() throws {
        let page = BuiltProgram.repository.appending(path: "docs/configuration.md")
        let text = ConfigurationPage.markdown
        if ProcessInfo.processInfo.environment["SEALWARD_REGENERATE"] == "1" { try Data(text.utf8).write(to: page) }
        #expect(try String(contentsOf: page, encoding: .utf8) == text)
    }

    @Test func theExampleOfThePageIsAConfiguration() throws {
        let token = String(repeating: "t", count: 32)
        let outcome = read(ConfigurationPage.example, files: ["/etc/sealward/server.tokens": token])
        guard case .configuration(let settings) = outcome else { throw Failure("refused: \(outcome)") }
        #expect(settings.apps.first?.environments == [.production, .development])
        #expect(settings.serverTokens?.tokens == [token])
    }

    /// Every variable of the page reaches its setting: a value of another kind is refused by the setting's path and the variable.
    @Test func everyVariableOfThePageSetsItsKey() throws {
        let keys = Configuration.entries.filter { $0.variable != nil }
        #expect(keys.count >= 30)
        let free: Set = ["tokens.issuer", "tokens.audience", "apple.teamId", "apple.keyId"]
        for key in keys where !free.contains(key.path) {
            let variable = try #require(key.variable)
            guard case .issues(let issues) = read("{}", environment: [variable: "no:such value"]) else {
                throw Failure("\(variable) sets nothing")
            }
            #expect(
                issues.contains { $0.path.hasPrefix(key.path) && $0.variable == variable }, "\(variable): \(issues)")
        }
    }

    @Test func whatIsUsedTwiceIsNamedWhereItStands() {
        let app = #"{"id": "shop", "teamId": "TEAM123456", "bundleIds": ["a.b"]}"#
        #expect(issues(#"{"apps": [{"id": "x"}, \#(app), \#(app)]}"#).suffix(1) == ["apps[2].id"])
        let bits = #"{"deviceCheck": {"bits": [{"bit": 0, "name": "a"}, {"bit": 0, "name": "a"}]}}"#
        #expect(issues(bits) == ["deviceCheck.bits[1].bit", "deviceCheck.bits[1].name"])
        #expect(issues(#"{"challenges": {"ttlSeconds": 1, "ttlSeconds": 2}}"#) == ["challenges.ttlSeconds"])
    }

    /// An account with Apple is whole or absent, and the key that signs is one of the keys.
    @Test func partsThatNeedEachOtherAreAskedFor() {
        let pem = P256.Signing.PrivateKey().pemRepresentation
        #expect(issues(#"{"apple": {"keyFile": "k"}}"#, files: ["k": pem]) == ["apple.teamId", "apple.keyId"])
        #expect(issues(#"{"apple": {"dataBaseURL": "https://apple.example"}}"#).isEmpty)
        #expect(issues(#"{"tokens": {"keyFiles": ["k"], "signWith": "x"}}"#, files: ["k": pem]) == ["tokens.signWith"])
        #expect(issues(#"{"tokens": {"keyFiles": ["k"], "signWith": "k"}}"#) == ["tokens.keyFiles[0]"])
    }

    @Test(arguments: ["[]", "{", "{\"listen\": \"a:1\", \"listen\": \"b:1\"}", "null x"])
    func brokenDocumentsAreNamed(_ text: String) { #expect(!issues(text).isEmpty) }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ text: String) { description = text }
}
