// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// Settings that mean something else than in the version that wrote a store: what an operator reads before an upgrade.
package enum SettingChanges {
    /// One sentence for each change without a full stop, the setting first, by the first schema of the store under which it holds.
    private static let all: [Int: [String]] = [
        2: [
            "serverTokenFile, adminTokenFile: tokens shorter than 32 characters are refused",
            "apps, trustSimulator: keys that were attested under an app, identity, environment or root that is no longer configured are refused at every use",
            "limits.connections, limits.connectionsPerAddress: connections have a cap by default",
            "tokens.keyFiles: the first key signs only if tokens.signWith names no other",
            "deviceCheck.bits: a promotion is granted once for each key, user or keyId, and asks Apple four times",
            "SEALWARD_...: a variable that names no setting is an error",
            "gateways: /v1/authorize lets only production pass unless env= says otherwise, and refuses unknown parameters",
        ],
        4: [
            "store: a PostgreSQL beyond this machine needs sslmode in the URL, and SCRAM if libpq is 16 or later; sslmode=prefer is as before, with such a libpq sslmode=prefer&require_auth=",
            "configuration, token, key and root files that others may write, or replace in a folder, are refused; chmod go-w on what is named",
            "serverTokenFile, adminTokenFile, tokensFile: one token in two roles is refused; give each its own",
            "tracing.headersFile: needs an endpoint with https, or on this machine, for example a local agent",
            "limits.connectionsPerAddress: the default is a sixteenth of limits.connections, at least 64; half of limits.connections is the value as before",
            "hosts: /console, and /metrics of a loopback listener without a token, answer only to loopback names, addresses, the name in internalListen and the names listed here; list the others under which they were opened before",
            "trustedProxies: /metrics of a loopback listener is open to clients on this machine only; give clients of the proxy a token, or set internalListen",
            "limits.newKeysPerUser: a user registers at most 50 production keys a day; 0 is no limit, as before",
            "appCheck.debugTokensFile: each entry needs app and expires, and without trustSimulator the file is refused; appCheck.allowDebugTokens true accepts it, as before",
            "appCheck: tokens of debug tokens and simulated devices have a key of their own, which /v1/jwks has only with simulated allow; /v1/jwks?for=debug has all keys, as before",
            "gateways: a simulated device's token is 403 and no longer 401, and so is a single-use one; limited-use App Check tokens pass with once=consume only, and every token needs a known tier",
            "backends: /v1/tokens/consume accepts production tokens of real devices only; environment any and simulated allow accept all, as before",
            "limits.requestsPerSecondPerAddress: tokens that /v1/authorize refuses with 403, 409 or 429 count too; a higher number lets more pass",
            "deviceCheck: with both environments in an app, /v1/devicecheck and claims of a backend ask Apple's development host after a 400; environment production in the request is as before",
            "limits.inFlight: requests of one operation beyond 64 for each core are answered with 503; a higher number lets longer bursts wait",
            "apps: a member that is given twice in a request or in client data is refused, at any depth",
        ],
        5: [
            "operators: more than 100 keys are revoked at once only if their number is given (expect)",
            "limits.requestsPerSecondPerAddress: of wrong tokens of servers and operators, half of it at once and then a two-hundredth get 401, the rest 429; a higher number lets more pass",
        ],
        6: [
            "apps[].allowedValidationCategories: a key of a category that is no longer listed has the reason category, and the tier standard at most; list the category too, as before"
        ],
    ]

    /// What changed since a schema.
    package static func sentences(since schema: Int) -> [String] {
        all.filter { $0.key > schema }.sorted { $0.key < $1.key }.flatMap(\.value)
    }
}
