// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import DeviceCheckBits
import FoundationEssentials
import HTTPService
import TLSModel
import Vocabulary

// Every key that there is: reading, environment variables, messages and docs/configuration.md come from these lists.

extension Configuration: ConfigurationObject {
    static let entries = ConfigurationKeys.entries {
        var blank = Configuration()
        blank.visit($0)
    }

    mutating func visit(_ keys: ConfigurationKeys) {
        keys("listen", &listen, .address, "Where the service listens; port 0 picks a free one.")
        keys(
            "internalListen", &internalListen, .address, otherwise: "none",
            "A second address, which then serves the routes of servers and operators and `/metrics`.")
        keys.object("tls", &tls, TLS(certificatePEM: "", keyPEM: ""), otherwise: "plain HTTP", "TLS for `listen`.")
        keys.object(
            "internalTLS", &internalTLS, TLS(certificatePEM: "", keyPEM: ""), otherwise: "plain HTTP",
            "TLS for `internalListen`.")
        keys(
            "trustedProxies", &trustedProxies, .array(of: .addressRange), otherwise: "none",
            "The proxies whose `X-Forwarded-For` names the client.")
        keys(
            "hosts", &hosts, .array(of: .hostName), otherwise: "none",
            "The names under which browsers reach the console, besides loopback names, addresses and the name in `internalListen`; another `Host` gets 421. `/metrics` of a loopback listener needs no token under them alone. With `requireHost`, also the hosts that signed requests may be for, besides that of `listen`."
        )
        keys("store", &store, .store, "Where keys, receipts and events are stored.")
        keys(
            "users", &users, .choice, otherwise: "`plain`",
            "How the store, answers and lists name users, chosen when the store is made: `plain` as requests name them, `hashed` by `u_` and a keyed hash of the name. Requests give the name in either case."
        )
        keys(
            "serverTokenFile", &serverTokens, .tokens(orVariable: "SEALWARD_SERVER_TOKEN"),
            "The bearer tokens of backends and gateways; without any, their routes are off.")
        keys(
            "adminTokenFile", &adminTokens, .tokens(orVariable: "SEALWARD_ADMIN_TOKEN"),
            "The bearer tokens of operators; without any, their routes are off.")
        var credentials: [CredentialSettings] = []
        keys(
            "tokensFile", &credentials, .credentials,
            "Tokens with a name, scopes and an expiry; the file contains only their hashes.")
        keys.object(
            "trustSimulator", &trustSimulator, SimulatorTrust(attestationRootPEM: "", receiptRootPEM: ""),
            "Trusts the devices of a simulator; the service warns about it when it starts.")
        keys.objects(
            "apps", &apps, App(id: "", teamId: "", appIdPrefix: "", bundleIds: []),
            unique: [("id", \.id, "is used by another app")], "The apps that are served.")
        keys.object("challenges", "The challenges that apps sign.") { challenges.visit($0) }
        keys.object("tokens", "The tokens that are issued.") { tokens.visit($0) }
        keys.object("limits", "How much callers may use.") { limits.visit($0) }
        keys.object("apple", "The Apple account, and where Apple's servers are.") {
            apple = appleHosts.visit($0) ?? apple
        }
        keys.object("receipts", "When receipts are refreshed with Apple.") { receipts.visit($0) }
        keys.object("deviceCheck", "The bits of DeviceCheck.") { keys in
            keys.objects(
                "bits", &bits, Bit(bit: 0, name: ""),
                unique: [("bit", { "\($0.bit)" }, "is defined twice"), ("name", \.name, "is used twice")],
                "What the two bits of a device mean.")
        }
        keys.objects(
            "quotas", &quotas, Quota(name: "", per: .key, limit: 1, window: .seconds(1)),
            unique: [("name", \.name, "is used by another quota")], "How much gateways let through (`gateways.md`).")
        keys.object(
            "observe",
            "Gateways that only watch: `/v1/authorize?mode=observe` says what it would find, and lets everything through."
        ) { observe.visit($0) }
        keys.object("tracing", "Spans of requests for an OpenTelemetry backend (`tracing.md`).") { tracing.visit($0) }
        keys.object(
            "appCheck", &appCheck, AppCheck(projectNumber: "", projectId: "", keyPEMs: [], apps: [:]),
            "The interface that answers like Firebase App Check (`app-check.md`); without it, its routes are off.")
        guard keys.isComplete else { return }
        if !credentials.isEmpty { namedCredentials = credentials.compactMap(\.credential) }
        judgeTogether(keys.place)
    }

    private func judgeTogether(_ place: ConfigurationPlace) {
        if let inside = internalListen, inside.overlaps(listen) {
            place.member("internalListen").wrong("is the address of listen; choose another port")
        }
        if internalTLS != nil, internalListen == nil {
            place.member("internalTLS").wrong("needs internalListen; TLS for listen is tls")
        }
        if SignedHosts(self).isEmpty {
            for (index, app) in apps.enumerated() where app.requireHost {
                place.member("apps").element(index).member("requireHost").wrong(
                    "needs hosts, the names of the servers that apps send signed requests to")
            }
        }
        for (index, app) in apps.enumerated() where app.untrusted == .allow {
            let ids = Set(app.appIds.map { UTF8Key($0) })
            let isShared = apps.contains { other in
                !other.id.hasSameBytes(as: app.id) && other.appIds.contains { ids.contains(UTF8Key($0)) }
            }
            guard isShared else { continue }
            place.member("apps").element(index).member("untrusted").wrong(
                "allow needs App IDs that no other app has: the tokens of such callers name nothing else")
        }
        Credentials.judge(self, at: place)
        let known = Set(apps.map { UTF8Key($0.id) })
        for (id, app) in appCheck?.apps.sorted(by: { $0.key < $1.key }) ?? []
        where !known.contains(UTF8Key(app)) {
            place.member("appCheck").member("apps").member(id).wrong("must be the id of one of apps")
        }
        guard let appCheck, !appCheck.debugTokens.isEmpty else { return }
        let file = place.member("appCheck").member("debugTokensFile")
        if trustSimulator == nil, !appCheck.allowDebugTokens {
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

extension SimulatorTrust: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys(
            "attestationRoot", &attestationRootPEM, .root { (try? AttestationRoots(pem: $0)) != nil }, isRequired: true,
            "The root that signs simulated attestations.")
        keys(
            "receiptRoot", &receiptRootPEM, .root { (try? ReceiptRoots(pem: $0)) != nil }, isRequired: true,
            "The root that signs simulated receipts.")
    }
}

extension Configuration.App: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys("id", &id, .string, isRequired: true, "The name of the app in paths, tokens and metrics.")
        keys("teamId", &teamId, .string, isRequired: true, "The developer team that signs the app.")
        keys(
            "appIdPrefix", &appIdPrefix, .string, otherwise: "the team id",
            "The prefix of the app id, if it is not the team's.")
        keys(
            "bundleIds", &bundleIds, .array(of: .string, ifEmpty: "must name at least one bundle identifier"),
            isRequired: true, "The accepted identities. An App Clip attests as its full app.")
        keys(
            "environments", &environments, .array(of: .choice, ifEmpty: "must not be empty"),
            "The App Attest environments whose keys are accepted.")
        keys(
            "binding", &binding, .choice,
            "How an attestation covers the challenge: by its SHA-256, by its bytes, or through `clientData`.")
        keys(
            "counterMode", &counterMode, .choice,
            "`strict` requires a growing counter; `challenge` lets parallel requests arrive out of order.")
        keys(
            "mode", &mode, .choice,
            "`enforce` refuses bad proofs, `monitor` answers 200 and names the refusal, `off` judges nothing.")
        keys(
            "allowedValidationCategories", &allowedValidationCategories, .array(of: .integer(0...Int(UInt32.max))),
            otherwise: "all", "The accepted validation categories.")
        keys(
            "allowedBundleVersions", &allowedBundleVersions, .array(of: .string), otherwise: "all",
            "The accepted bundle versions.")
        keys(
            "requireExtensions", &requireExtensions, .flag,
            "Refuses attestations without a validation category, and proofs without what an `allowed` key lists.")
        keys(
            "requireHost", &requireHost, .flag,
            "Refuses assertions, tokens and claims whose client data does not have the host of `listen`, or one of `hosts`, as its member `host` (403 `policy.host`). `AppAttestClient` signs it; App Check's SDKs cannot, and are exempt."
        )
        keys(
            "untrusted", &untrusted, .choice,
            "`allow` gives a caller that cannot attest a token of tier `none`; `refuse` gives it none.")
        keys.object(
            "ramp", &ramp, Configuration.Ramp(),
            "How fast installations are told to attest; without it, all are told at once.")
        guard keys.isComplete else { return }
        if appIdPrefix.isEmpty { appIdPrefix = teamId }
        for (index, bundle) in bundleIds.enumerated()
        where (try? AppIdentity(prefix: appIdPrefix, bundleId: bundle)) == nil {
            keys.place.member("bundleIds").element(index).wrong("does not form an app id with the prefix")
        }
    }
}

extension Configuration.Ramp: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys(
            "dailyActiveUsers", &dailyActiveUsers, .integer(1...100_000_000_000),
            "The installations to spread over the plan; `sealward ramp` prints it.")
        keys("start", &start, .instant, "When the plan starts; nobody is told to attest before.")
        keys(
            "maxPerSecond", &maxPerSecond, .number(0.001...1000), otherwise: "Apple's advice",
            "The maximum number of installations per second.")
        keys(
            "percent", &percent, .number(0...100), "The share of installations to be told to attest, instead of a plan."
        )
        keys("paused", &paused, .flag, "Pauses the ramp: no installation is told to attest.")
        guard keys.isComplete else { return }
        if percent != nil, dailyActiveUsers != nil {
            keys.place.member("percent").wrong("cannot be combined with dailyActiveUsers")
        }
    }
}

extension Configuration.Observe: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys(
            "routes", &routes, .array(of: .quotaName), isRequired: true,
            "The names that gateways may give in `route=`, at most 64.")
        guard keys.isComplete else { return }
        if routes.count > 64 { keys.place.member("routes").wrong("must have at most 64 names") }
        if Set(routes).count < routes.count { keys.place.member("routes").wrong("names a route twice") }
    }
}

extension Configuration.Challenges: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys("ttlSeconds", &ttl, .seconds(1...86400), "How long a challenge is valid, in seconds.")
    }
}

extension Configuration.Limits: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys(
            "requestsPerSecondPerAddress", &requestsPerSecondPerAddress, .integer(1...1_000_000_000),
            "The requests per second from one client; more are answered with 429.")
        keys(
            "requestsPerSecondPerApp", &requestsPerSecondPerApp, .integer(1...1_000_000_000), otherwise: "no limit",
            "The requests per second for one app.")
        keys("bodyBytes", &bodyBytes, .integer(256...RequestBody.mostBytes), "The largest request body, in bytes.")
        keys(
            "connections", &connections, .integer(8...1_000_000), otherwise: "what RLIMIT_NOFILE allows",
            "The maximum number of open connections.")
        keys(
            "connectionsPerAddress", &connectionsPerAddress, .integer(1...1_000_000),
            otherwise: "a sixteenth of all, at least 64",
            "The maximum number of open connections from one IPv4 address or IPv6 /64 network; trusted proxies are exempt. While `connections` are open, the one of the address with most that has waited longest for its client makes room for the next."
        )
        keys(
            "inFlight", &inFlight, .integer(1...1_000_000), otherwise: "64 for each core",
            "The requests of one operation that may be in flight; more are answered with 503. Operators, health, key sets and what waits for Apple are exempt."
        )
        keys(
            "newKeysPerUser", &newKeysPerUser, .integer(0...1_000_000),
            "The production keys that one user of an app may register in a day, over all nodes; 0 is no limit.")
        keys(
            "newKeysPerAddress", &newKeysPerAddress, .integer(0...1_000_000),
            "The keys that one IPv4 address or IPv6 /64 network may register in an hour, over all nodes; 0 is no limit. Loopback and trusted proxies are exempt."
        )
    }
}

extension Configuration.Tokens: ConfigurationObject {
    /// The most bytes of an issuer or audience: with both of that length, and the longest identity, a token still fits into
    /// `CompactToken.limit` (`ConfigurationTests.theLongestTokensCanBeRead`).
    static let longestClaim = 256

    mutating func visit(_ keys: ConfigurationKeys) {
        keys("issuer", &issuer, .claim, "The `iss` of the tokens.")
        keys("audience", &audience, .claim, "The `aud` of the tokens.")
        var files = keyPEMs.map { KeyFile(path: "", pem: $0) }
        keys(
            "keyFiles", &files, .array(of: .privateKey), otherwise: "a key kept in the store",
            "The keys; the first signs, all are published.")
        var signer: String?
        keys(
            "signWith", &signer, .string, otherwise: "the first of `keyFiles`",
            "The key that signs, by its path or its `kid`.")
        keys("ttlSeconds", &ttl, .seconds(1...86400), "How long a token is valid, in seconds.")
        guard keys.isComplete else { return }
        if let signer {
            let first = files.firstIndex {
                $0.path.hasSameBytes(as: signer) || $0.pem.flatMap(TokenKeySet.identifier(ofPEM:)) == signer
            }
            if let first {
                files.insert(files.remove(at: first), at: 0)
            } else {
                keys.place.member("signWith").wrong("must be one of keyFiles, by its path or its kid")
            }
        }
        keyPEMs = files.compactMap(\.pem)
    }
}

extension Configuration.AppleHosts {
    /// Visits the keys of `apple`, and gives the account among them.
    mutating func visit(_ keys: ConfigurationKeys) -> Configuration.AppleAccount? {
        var (teamId, keyId, key): (String?, String?, KeyFile?)
        keys(
            "teamId", &teamId, .string,
            "The team of the key. `teamId`, `keyId` and `keyFile` are given together or not at all.")
        keys("keyId", &keyId, .string, "The identifier of the key.")
        keys("keyFile", &key, .privateKey, "A key with DeviceCheck enabled, as Apple issues it (`.p8`).")
        keys("dataBaseURL", &data, .endpoint, "Apple's server for the receipts of production apps.")
        keys(
            "dataDevelopmentBaseURL", &dataDevelopment, .endpoint,
            "Apple's server for the receipts of apps in development.")
        keys("deviceCheckBaseURL", &deviceCheck, .endpoint, "Apple's server for the bits of devices, production.")
        keys(
            "deviceCheckDevelopmentBaseURL", &deviceCheckDevelopment, .endpoint,
            "Apple's server for the bits of devices, development.")
        if let teamId, let keyId, let key {
            return key.pem.map { Configuration.AppleAccount(teamId: teamId, keyId: keyId, keyPEM: $0) }
        }
        let given = [("teamId", teamId != nil), ("keyId", keyId != nil), ("keyFile", key != nil)]
        if given.contains(where: \.1) {
            for (name, isGiven) in given where !isGiven { keys.place.member(name).wrong("is missing") }
        }
        return nil
    }
}

extension Configuration.Receipts: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys("refresh", &refresh, .onOff, "Whether receipts are refreshed; this requires an Apple account.")
        keys(
            "refreshAfterSeconds", &refreshAfter, .seconds(1...31_536_000),
            "When a receipt is refreshed, in seconds after the last time; never before the receipt allows it.")
        keys("pollSeconds", &poll, .seconds(1...86400), "How often due receipts are looked for, in seconds.")
    }
}

extension Configuration.Traces: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys(
            "endpoint", &endpoint, .receiver, otherwise: "nothing is traced",
            "The OTLP/HTTP receiver, for example `http://otel-collector:4318`; `/v1/traces` is appended to it.")
        keys(
            "headersFile", &headers, .headers, otherwise: "none",
            "The headers sent to the receiver with each batch, for example its authorization.")
        keys("sample", &sample, .number(0...1), "The share of the traces begun here that is recorded.")
        keys(
            "trust", &trust, .choice,
            "Whose `traceparent` is continued: that of `trustedProxies`, or everyone's. Every other request begins a trace."
        )
        guard keys.isComplete, let endpoint, !headers.isEmpty, !endpoint.hasPrefix("https://"),
            AppleEndpoint(endpoint) == nil
        else { return }
        keys.place.member("endpoint").wrong(
            "must be an https URL, or an http URL on this machine, because headersFile names a credential")
    }
}

extension Configuration.Bit: ConfigurationObject {
    mutating func visit(_ keys: ConfigurationKeys) {
        keys("bit", &bit, .integer(0...1), isRequired: true, "Which of the two bits it is.")
        keys("name", &name, .string, isRequired: true, "Its name in requests, and the name of its promotion.")
        keys(
            "resetAfterMonths", &resetAfterMonths, .integer(1...1200), otherwise: "never",
            "After how many months without a change it counts as clear.")
        guard keys.isComplete else { return }
        do throws(BitRegistryFault) {
            _ = try BitRegistry([BitMeaning(bit: bit == 0 ? .zero : .one, name: name)])
        } catch {
            keys.place.member(error.member).wrong(error.reason)
        }
    }
}

/// One entry of `tokensFile` as it is written.
struct CredentialSettings: ConfigurationObject {
    var name = ""
    var digest: [UInt8] = []
    var scopes: [String] = []
    var expires: Date?
    var credential: NamedCredential?

    mutating func visit(_ keys: ConfigurationKeys) {
        keys("name", &name, .credentialName, isRequired: true, "The name under which the audit records its calls.")
        keys("sha256", &digest, .digest, isRequired: true, "The SHA-256 of the token.")
        keys(
            "scopes", &scopes, .array(of: .string), isRequired: true,
            "What the token permits: `server` (backends), `read` (keys, risk, the console), `revoke` (revoke and restore keys), `audit` (reads the audit), `admin` (all of it, and the rest); alone for every app, or as `read:APP` for one."
        )
        keys("expires", &expires, .instant, otherwise: "never", "When the token expires.")
        guard keys.isComplete else { return }
        credential = NamedCredential(name: name, digest: digest, scopes: scopes, expires: expires)
        if credential == nil {
            keys.place.member("scopes").wrong("must name \(Authority.Role.names), alone or followed by :APP")
        }
    }
}
