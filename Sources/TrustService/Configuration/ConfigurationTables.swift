// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import DeviceCheckBits
import FoundationEssentials
import HTTPService
import TLSModel
import Vocabulary

// Every key that there is: reading, environment variables, messages and docs/configuration.md come from these tables.

extension Configuration {
    private typealias Key = ConfigurationKey<Configuration>

    static let table = ConfigurationTable(Configuration()) {
        Key("listen", .address, \.listen)
            .means("Where the service listens; port 0 picks a free one.")
        Key("internalListen", .address, \.internalListen).otherwise("none")
            .means("A second address, which then serves the routes of servers and operators and `/metrics`.")
        Key("tls", .object(TLS.table), \.tls).otherwise("plain HTTP")
            .means("TLS for `listen`.")
        Key("internalTLS", .object(TLS.table), \.internalTLS).otherwise("plain HTTP")
            .means("TLS for `internalListen`.")
        Key("trustedProxies", .array(of: .addressRange), \.trustedProxies).otherwise("none")
            .means("The proxies whose `X-Forwarded-For` names the client.")
        Key("hosts", .array(of: .hostName), \.hosts).otherwise("none")
            .means(
                "The names under which browsers reach the console, besides loopback names, addresses and the name in `internalListen`; another `Host` gets 421."
            )
        Key("store", .store, \.store)
            .means("Where keys, receipts and events are stored.")
        Key("serverTokenFile", .tokens, \.serverTokens, secret: .token("SEALWARD_SERVER_TOKEN"))
            .means("The bearer tokens of backends and gateways; without any, their routes are off.")
        Key("adminTokenFile", .tokens, \.adminTokens, secret: .token("SEALWARD_ADMIN_TOKEN"))
            .means("The bearer tokens of operators; without any, their routes are off.")
        Key("tokensFile", .namedCredentials, \.namedCredentials)
            .means("Tokens with a name, scopes and an expiry; the file contains only their hashes.")
        Key("trustSimulator", .object(SimulatorTrust.table), \.trustSimulator)
            .means("Trusts the devices of a simulator; the service warns about it when it starts.")
        Key("apps", .array(of: .object(App.table), unique: [.appId]), \.apps)
            .means("The apps that are served.")
        Key("challenges", .object(Challenges.table), \.challenges)
            .means("The challenges that apps sign.")
        Key("tokens", .object(TokenSettings.table), judge: { TokenSettings.judge($0.tokens, at: $1) }) {
            $1.tokens = $0.tokens
        }
        .means("The tokens that are issued.")
        Key("limits", .object(Limits.table), \.limits)
            .means("How much callers may use.")
        Key(
            "apple", .object(AppleSettings.table),
            judge: { AppleSettings.table.judge(AppleSettings(hosts: $0.appleHosts), at: $1) }
        ) { ($1.apple, $1.appleHosts) = ($0.account, $0.hosts) }
        .means("The Apple account, and where Apple's servers are.")
        Key("receipts", .object(Receipts.table), \.receipts)
            .means("When receipts are refreshed with Apple.")
        Key(
            "deviceCheck", .object(DeviceCheckSettings.table),
            judge: { DeviceCheckSettings.table.judge(DeviceCheckSettings(bits: $0.bits), at: $1) }
        ) { $1.bits = $0.bits }
        .means("The bits of DeviceCheck.")
        Key("quotas", .array(of: .object(Configuration.Quota.table), unique: [.quotaName]), \.quotas)
            .means("How much gateways let through (`gateways.md`).")
        Key("observe", .object(Observe.table), \.observe)
            .means(
                "Gateways that only watch: `/v1/authorize?mode=observe` says what it would find, and lets everything through."
            )
        Key("tracing", .object(Traces.table), \.tracing)
            .means("Spans of requests for an OpenTelemetry backend (`tracing.md`).")
        Key(
            "appCheck", .object(AppCheckSettings.table),
            judge: { if let appCheck = $0.appCheck { AppCheckSettings.judge(appCheck, at: $1) } }
        ) { $1.appCheck = $0.appCheck }
        .means("The interface that answers like Firebase App Check (`app-check.md`); without it, its routes are off.")
    } finish: { configuration, place in
        if let inside = configuration.internalListen, inside.overlaps(configuration.listen) {
            place.member("internalListen").wrong("is the address of listen; choose another port")
        }
        if configuration.internalTLS != nil, configuration.internalListen == nil {
            place.member("internalTLS").wrong("needs internalListen; TLS for listen is tls")
        }
        Credentials.judge(configuration, at: place)
        let known = Set(configuration.apps.map { UTF8Key($0.id) })
        for (id, app) in configuration.appCheck?.apps.sorted(by: { $0.key < $1.key }) ?? []
        where !known.contains(UTF8Key(app)) {
            place.member("appCheck").member("apps").member(id).wrong("must be the id of one of apps")
        }
        guard let appCheck = configuration.appCheck, !appCheck.debugTokens.isEmpty else { return }
        let file = place.member("appCheck").member("debugTokensFile")
        if configuration.trustSimulator == nil, !appCheck.allowDebugTokens {
            file.wrong(
                "debug tokens let in who has no device, and trustSimulator says that this is no test: remove it, or set appCheck.allowDebugTokens to true"
            )
        }
        let named = Set(appCheck.apps.values.map { UTF8Key($0) })
        for (index, token) in appCheck.debugTokens.enumerated() where !named.contains(UTF8Key(token.app)) {
            file.element(index).member("app").wrong("must be the id of one of the apps in appCheck.apps")
        }
    }
}

extension SimulatorTrust {
    private typealias Key = ConfigurationKey<SimulatorTrust>

    static let table = ConfigurationTable(SimulatorTrust(attestationRootPEM: "", receiptRootPEM: "")) {
        Key("attestationRoot", .root { (try? AttestationRoots(pem: $0)) != nil }, \.attestationRootPEM).required()
            .means("The root that signs simulated attestations.")
        Key("receiptRoot", .root { (try? ReceiptRoots(pem: $0)) != nil }, \.receiptRootPEM).required()
            .means("The root that signs simulated receipts.")
    }
}

extension Configuration.App {
    private typealias Key = ConfigurationKey<Configuration.App>

    static let table = ConfigurationTable(Configuration.App(id: "", teamId: "", appIdPrefix: "", bundleIds: [])) {
        Key("id", .string, \.id).required()
            .means("The name of the app in paths, tokens and metrics.")
        Key("teamId", .string, \.teamId).required()
            .means("The developer team that signs the app.")
        Key("appIdPrefix", .string, \.appIdPrefix).otherwise("the team id")
            .means("The prefix of the app id, if it is not the team's.")
        Key("bundleIds", .array(of: .string, ifEmpty: "must name at least one bundle identifier"), \.bundleIds)
            .required()
            .means("The accepted identities. An App Clip attests as its full app.")
        Key("environments", .array(of: .choice, ifEmpty: "must not be empty"), \.environments)
            .means("The App Attest environments whose keys are accepted.")
        Key("binding", .choice, \.binding)
            .means("How an attestation covers the challenge: by its SHA-256, by its bytes, or through `clientData`.")
        Key("counterMode", .choice, \.counterMode)
            .means("`strict` requires a growing counter; `challenge` lets parallel requests arrive out of order.")
        Key("mode", .choice, \.mode)
            .means("`enforce` refuses bad proofs, `monitor` answers 200 and names the refusal, `off` judges nothing.")
        Key("allowedValidationCategories", .array(of: .integer(0...Int(UInt32.max))), \.allowedValidationCategories)
            .otherwise("all").means("The accepted validation categories.")
        Key("allowedBundleVersions", .array(of: .string), \.allowedBundleVersions)
            .otherwise("all").means("The accepted bundle versions.")
        Key("requireExtensions", .flag, \.requireExtensions)
            .means(
                "Refuses attestations without a validation category, and proofs without what an `allowed` key lists.")
        Key("untrusted", .choice, \.untrusted)
            .means("`allow` gives a caller that cannot attest a token of tier `none`; `refuse` gives it none.")
        Key("ramp", .object(Configuration.Ramp.table), \.ramp)
            .means("How fast installations are told to attest; without it, all are told at once.")
    } finish: { app, place in
        if app.appIdPrefix.isEmpty { app.appIdPrefix = app.teamId }
        for (index, bundle) in app.bundleIds.enumerated()
        where (try? AppIdentity(prefix: app.appIdPrefix, bundleId: bundle)) == nil {
            place.member("bundleIds").element(index).wrong("does not form an app id with the prefix")
        }
    }
}

extension Configuration.Ramp {
    private typealias Key = ConfigurationKey<Configuration.Ramp>

    static let table = ConfigurationTable(Configuration.Ramp()) {
        Key("dailyActiveUsers", .integer(1...100_000_000_000), \.dailyActiveUsers)
            .means("The installations to spread over the plan; `sealward ramp` prints it.")
        Key("start", .instant, \.start)
            .means("When the plan starts; nobody is told to attest before.")
        Key("maxPerSecond", .number(0.001...1000), \.maxPerSecond).otherwise("Apple's advice")
            .means("The maximum number of installations per second.")
        Key("percent", .number(0...100), \.percent)
            .means("The share of installations to be told to attest, instead of a plan.")
        Key("paused", .flag, \.paused)
            .means("Pauses the ramp: no installation is told to attest.")
    } finish: { ramp, place in
        if ramp.percent != nil, ramp.dailyActiveUsers != nil {
            place.member("percent").wrong("cannot be combined with dailyActiveUsers")
        }
    }
}

extension Configuration.Observe {
    private typealias Key = ConfigurationKey<Configuration.Observe>

    static let table = ConfigurationTable(Configuration.Observe()) {
        Key("routes", .array(of: .quotaName), \.routes).required()
            .means("The names that gateways may give in `route=`, at most 64.")
    } finish: { observe, place in
        if observe.routes.count > 64 { place.member("routes").wrong("must have at most 64 names") }
        if Set(observe.routes).count < observe.routes.count { place.member("routes").wrong("names a route twice") }
    }
}

extension Configuration.Challenges {
    private typealias Key = ConfigurationKey<Configuration.Challenges>

    static let table = ConfigurationTable(Configuration.Challenges()) {
        Key("ttlSeconds", .seconds(1...86400), \.ttl)
            .means("How long a challenge is valid, in seconds.")
    }
}

extension Configuration.Limits {
    private typealias Key = ConfigurationKey<Configuration.Limits>

    static let table = ConfigurationTable(Configuration.Limits()) {
        Key("requestsPerSecondPerAddress", .integer(1...1_000_000_000), \.requestsPerSecondPerAddress)
            .means("The requests per second from one client; more are answered with 429.")
        Key("requestsPerSecondPerApp", .integer(1...1_000_000_000), \.requestsPerSecondPerApp).otherwise("no limit")
            .means("The requests per second for one app.")
        Key("bodyBytes", .integer(256...65536), \.bodyBytes)
            .means("The largest request body, in bytes.")
        Key("connections", .integer(8...1_000_000), \.connections).otherwise("what RLIMIT_NOFILE allows")
            .means("The maximum number of open connections.")
        Key("connectionsPerAddress", .integer(1...1_000_000), \.connectionsPerAddress).otherwise(
            "a sixteenth of all, at least 64"
        )
        .means(
            "The maximum number of open connections from one IPv4 address or IPv6 /64 network; trusted proxies are exempt. While `connections` are open, the longest idle one of the address with most makes room for the next."
        )
        Key("inFlight", .integer(1...1_000_000), \.inFlight).otherwise("64 for each core")
            .means(
                "The requests of one operation that may be in flight; more are answered with 503. Operators, health, key sets and what waits for Apple are exempt."
            )
        Key("newKeysPerUser", .integer(0...1_000_000), \.newKeysPerUser)
            .means("The production keys that one user of an app may register in a day, over all nodes; 0 is no limit.")
        Key("newKeysPerAddress", .integer(0...1_000_000), \.newKeysPerAddress)
            .means(
                "The keys that one IPv4 address or IPv6 /64 network may register in an hour, over all nodes; 0 is no limit. Loopback and trusted proxies are exempt."
            )
    }
}

/// The member `tokens` as it is written.
struct TokenSettings: Sendable {
    private typealias Key = ConfigurationKey<TokenSettings>

    /// The most bytes of an issuer or audience: with both of that length, and the longest identity, a token still fits into
    /// `CompactToken.limit` (`ConfigurationTests.theLongestTokensCanBeRead`).
    static let longestClaim = 256

    var tokens = Configuration.Tokens()
    var keyFiles: [PrivateKeyFile] = []
    var signer: String?

    static let table = ConfigurationTable(TokenSettings()) {
        Key("issuer", .claim, \.tokens.issuer)
            .means("The `iss` of the tokens.")
        Key("audience", .claim, \.tokens.audience)
            .means("The `aud` of the tokens.")
        Key("keyFiles", .array(of: .privateKey), \.keyFiles).otherwise("a key kept in the store")
            .means("The keys; the first signs, all are published.")
        Key("signWith", .string, \.signer).otherwise("the first of `keyFiles`")
            .means("The key that signs, by its path or its `kid`.")
        Key("ttlSeconds", .seconds(1...86400), \.tokens.ttl)
            .means("How long a token is valid, in seconds.")
    } finish: { settings, place in
        var keys = settings.keyFiles
        if let signer = settings.signer {
            let first = keys.firstIndex {
                $0.path.hasSameBytes(as: signer) || $0.pem.flatMap(TokenKeySet.identifier(ofPEM:)) == signer
            }
            if let first {
                keys.insert(keys.remove(at: first), at: 0)
            } else {
                place.member("signWith").wrong("must be one of keyFiles, by its path or its kid")
            }
        }
        settings.tokens.keyPEMs = keys.compactMap(\.pem)
    }

    /// Notes what is wrong with settings that a program made.
    static func judge(_ tokens: Configuration.Tokens, at place: ConfigurationPlace) {
        table.judge(TokenSettings(tokens: tokens), at: place)
        for (index, pem) in tokens.keyPEMs.enumerated() where TokenKeySet.identifier(ofPEM: pem) == nil {
            place.member("keyFiles").element(index).wrong("contains no P-256 private key in PEM")
        }
    }
}

/// The member `apple` as it is written.
struct AppleSettings: Sendable {
    private typealias Key = ConfigurationKey<AppleSettings>

    var hosts = Configuration.AppleHosts()
    var teamId: String?
    var keyId: String?
    var key: PrivateKeyFile?
    var account: Configuration.AppleAccount?

    static let table = ConfigurationTable(AppleSettings()) {
        Key("teamId", .string, \.teamId)
            .means("The team of the key. `teamId`, `keyId` and `keyFile` are given together or not at all.")
        Key("keyId", .string, \.keyId)
            .means("The identifier of the key.")
        Key("keyFile", .privateKey, \.key)
            .means("A key with DeviceCheck enabled, as Apple issues it (`.p8`).")
        Key("dataBaseURL", .endpoint, \.hosts.data)
            .means("Apple's server for the receipts of production apps.")
        Key("dataDevelopmentBaseURL", .endpoint, \.hosts.dataDevelopment)
            .means("Apple's server for the receipts of apps in development.")
        Key("deviceCheckBaseURL", .endpoint, \.hosts.deviceCheck)
            .means("Apple's server for the bits of devices, production.")
        Key("deviceCheckDevelopmentBaseURL", .endpoint, \.hosts.deviceCheckDevelopment)
            .means("Apple's server for the bits of devices, development.")
    } finish: { settings, place in
        if let team = settings.teamId, let keyId = settings.keyId, let key = settings.key {
            settings.account = key.pem.map { Configuration.AppleAccount(teamId: team, keyId: keyId, keyPEM: $0) }
            return
        }
        let given = [settings.teamId != nil, settings.keyId != nil, settings.key != nil]
        guard given.contains(true) else { return }
        for (name, isGiven) in zip(["teamId", "keyId", "keyFile"], given) where !isGiven {
            place.member(name).wrong("is missing")
        }
    }
}

extension Configuration.Receipts {
    private typealias Key = ConfigurationKey<Configuration.Receipts>

    static let table = ConfigurationTable(Configuration.Receipts()) {
        Key("refresh", .onOff, \.refresh)
            .means("Whether receipts are refreshed; this requires an Apple account.")
        Key("refreshAfterSeconds", .seconds(1...31_536_000), \.refreshAfter)
            .means("When a receipt is refreshed, in seconds after the last time; never before the receipt allows it.")
        Key("pollSeconds", .seconds(1...86400), \.poll)
            .means("How often due receipts are looked for, in seconds.")
    }
}

extension Configuration.Traces {
    private typealias Key = ConfigurationKey<Configuration.Traces>

    static let table = ConfigurationTable(Configuration.Traces()) {
        Key("endpoint", .receiver, \.endpoint).otherwise("nothing is traced")
            .means("The OTLP/HTTP receiver, for example `http://otel-collector:4318`; `/v1/traces` is appended to it.")
        Key("headersFile", .headers, \.headers).otherwise("none")
            .means("The headers sent to the receiver with each batch, for example its authorization.")
        Key("sample", .number(0...1), \.sample)
            .means("The share of the traces begun here that is recorded.")
        Key("trust", .choice, \.trust)
            .means(
                "Whose `traceparent` is continued: that of `trustedProxies`, or everyone's. Every other request begins a trace."
            )
    } finish: { traces, place in
        guard let endpoint = traces.endpoint, !traces.headers.isEmpty, !endpoint.hasPrefix("https://"),
            AppleEndpoint(endpoint) == nil
        else { return }
        place.member("endpoint").wrong(
            "must be an https URL, or an http URL on this machine, because headersFile names a credential")
    }
}

/// The member `deviceCheck` as it is written.
struct DeviceCheckSettings: Sendable {
    private typealias Key = ConfigurationKey<DeviceCheckSettings>

    var bits: [Configuration.Bit] = []

    static let table = ConfigurationTable(DeviceCheckSettings()) {
        Key("bits", .array(of: .object(Configuration.Bit.table), unique: [.bit, .bitName]), \.bits)
            .means("What the two bits of a device mean.")
    }
}

extension Configuration.Bit {
    private typealias Key = ConfigurationKey<Configuration.Bit>

    static let table = ConfigurationTable(Configuration.Bit(bit: 0, name: "")) {
        Key("bit", .integer(0...1), \.bit).required()
            .means("Which of the two bits it is.")
        Key("name", .string, \.name).required()
            .means("Its name in requests, and the name of its promotion.")
        Key("resetAfterMonths", .integer(1...1200), \.resetAfterMonths).otherwise("never")
            .means("After how many months without a change it counts as clear.")
    } finish: { bit, place in
        do throws(BitRegistryFault) {
            _ = try BitRegistry([BitMeaning(bit: bit.bit == 0 ? .zero : .one, name: bit.name)])
        } catch {
            place.member(error.member).wrong(error.reason)
        }
    }
}

/// One entry of `tokensFile` as it is written.
struct CredentialSettings: Sendable {
    private typealias Key = ConfigurationKey<CredentialSettings>

    var name = ""
    var digest: [UInt8] = []
    var scopes: [String] = []
    var expires: Date?
    var credential: NamedCredential?

    static let table = ConfigurationTable(CredentialSettings()) {
        Key("name", .credentialName, \.name).required()
            .means("The name under which the audit records its calls.")
        Key("sha256", .digest, \.digest).required()
            .means("The SHA-256 of the token.")
        Key("scopes", .array(of: .string), \.scopes).required()
            .means(
                "What the token permits: `server` (backends), `read` (keys, risk, the console), `revoke` (revoke and restore keys), `audit` (reads the audit), `admin` (all of it, and the rest); alone for every app, or as `read:APP` for one."
            )
        Key("expires", .instant, \.expires).otherwise("never")
            .means("When the token expires.")
    } finish: { entry, place in
        entry.credential = NamedCredential(
            name: entry.name, digest: entry.digest, scopes: entry.scopes, expires: entry.expires)
        if entry.credential == nil {
            place.member("scopes").wrong("must name \(Authority.Role.names), alone or followed by :APP")
        }
    }
}
