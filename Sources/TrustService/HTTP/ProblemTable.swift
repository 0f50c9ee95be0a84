// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import DeviceCheckBits
package import HTTPService
import TrustStores
package import Vocabulary

/// Status, title and advice of every code that the service can answer with.
package enum ProblemTable {
    package typealias Entry = Problem.Entry

    /// The entry of a code.
    package static func entry(for code: Code) -> Entry {
        own[code] ?? verifiers[code] ?? Entry(status: 500, title: "The service failed.", retry: .after)
    }

    /// What the service answers a proof or a request with; nil for codes that only other programs and the log name.
    package static func answer(to code: Code) -> Entry? {
        own[code] ?? (proofs.contains(code) ? verifiers[code] : nil)
    }

    /// The codes with an entry of their own, sorted by name.
    package static var codes: [Code] { own.keys.sorted { $0.description < $1.description } }

    /// What each code of the service means; those of the verifiers are explained where they are made.
    package static var explanations: [CodeExplanation] {
        codes.filter { !proofs.contains($0) }.map { entry(for: $0).explanation(of: $0) }
    }

    /// What the verifiers say of a proof.
    private static let proofs = Set((RefusalExplanations.attestations + RefusalExplanations.assertions).map(\.code))

    /// The answers to what the verifiers say, for codes without an entry of their own.
    private static let verifiers: [Code: Entry] = {
        let families: [([CodeExplanation], Entry)] = [
            (MalformedInput.explanations, Entry(status: 400, title: "The object is malformed.", retry: .never)),
            (
                RefusalExplanations.attestations,
                Entry(status: 403, title: "The attestation is refused.", retry: .newKey)
            ),
            (
                RefusalExplanations.assertions,
                Entry(status: 403, title: "The assertion is refused.", retry: .newChallenge)
            ),
            (
                RefusalExplanations.receipts,
                Entry(status: 403, title: "The receipt in the attestation is refused.", retry: .newKey)
            ),
        ]
        let entries = families.flatMap { codes, entry in codes.map { ($0.code, entry) } }
        return Dictionary(entries, uniquingKeysWith: { first, _ in first })
    }()

    private static let own = Problem.entries.merging(service) { first, _ in first }

    private static let service: [Code: Entry] = [
        .challengeMissing: Entry(
            status: 400, title: "The client data does not contain the challenge exactly once.", retry: .never,
            .init(
                .developer, "put the challenge, as it was issued, once into the client data as the member `challenge`")),
        .tokenMissing: Entry(
            status: 401, title: "A bearer token is needed.", retry: nil,
            .init(.app, "send the token in the Authorization header, as Bearer")),
        .tokenInvalid: Entry(
            status: 401, title: "The token is not valid.", retry: nil,
            .init(
                .app,
                "get a new token with a new assertion; after a revocation none is issued. A debug token's needs debug=allow, and a simulated device's keys are at /simulator/.well-known/jwks.json"
            )),
        .tokenSingleUse: Entry(
            status: 403, title: "The token is good for one use, and this check does not spend it.", retry: .never,
            .init(
                .operator,
                "add once=consume to the gateway's request, or have the backend spend the token at /v1/tokens/consume")
        ),
        .tokenNotSingleUse: Entry(
            status: 400, title: "The token is not a single-use token.", retry: .never,
            .init(.app, "ask for the token with singleUse: true")),
        .revocationCount: Entry(
            status: 409, title: "Another number of keys would be revoked, so none was.", retry: .never,
            .init(
                .operator,
                "ask with dryRun (keys revoke --dry-run) how many would be, look at them, and send that number as expect (--expect); more than 100 keys always need it"
            )),
        .tokenSpent: Entry(status: 409, title: "The token has already been spent.", retry: .newChallenge),
        .requestOtherHost: Entry(
            status: 421, title: "The console does not answer to this host name.", retry: nil,
            .init(.operator, "open it by its address or as localhost, or add the name to hosts")),
        .requestOtherOrigin: Entry(
            status: 403, title: "The request did not come from a page of this console.", retry: nil,
            .init(
                .operator,
                "open the page again, by typing its address if a link led there; a proxy in front must leave Host as the browser sent it"
            )),
        .callerUnauthorized: Entry(
            status: 401, title: "The caller's credential is missing or wrong.", retry: nil,
            .init(
                .backend,
                "send a bearer token of serverTokenFile, adminTokenFile or tokensFile with the scope that the route needs"
            )),
        .keyRevoked: Entry(
            status: 403, title: "The key was revoked.", retry: .newKey,
            .init(
                .app,
                "make a new key, once, and attest it; the audit says who revoked the key, and an operator can restore it within a day (keys restore)"
            )),
        .keyUnknown: Entry(status: 404, title: "The key is unknown.", retry: .newKey),
        .keyOtherUser: Entry(status: 409, title: "The key belongs to another user.", retry: .newKey),
        .keyExists: Entry(status: 409, title: "The key is already registered.", retry: .newKey),
        .policyApp: Entry(
            status: 403, title: "The token is for a different app.", retry: .never,
            .init(.operator, "compare the gateway's app parameter with the token's app")),
        .policyEnvironment: Entry(
            status: 403, title: "The token is for a different environment.", retry: .never,
            .init(
                .operator, "add env=development or env=any to the gateway's request if development builds may come in")),
        .policyHost: Entry(
            status: 403, title: "What was signed names another host, or none.", retry: .never,
            .init(
                .operator,
                "add the host to hosts if apps send their requests there; set the app's requireHost to false while versions of the app are in use that sign no host"
            )),
        .policyOff: Entry(
            status: 503, title: "Proofs of this app are currently not judged.", retry: .after,
            .init(.operator, "set the app's `mode` to monitor or enforce: while it is off, App Check gives it no token")
        ),
        .policyQuota: Entry(
            status: 429, title: "The quota is used up for now.", retry: .after,
            .init(.operator, "wait until the window ends, or raise the quota's limit if honest clients reach it")),
        .policySimulated: Entry(
            status: 403, title: "The token is a simulated device's.", retry: .never,
            .init(
                .operator,
                "say simulated=allow (a gateway) or \"simulated\": \"allow\" (consume) in tests, never in production")),
        .policyUntrusted: Entry(
            status: 403, title: "Callers that cannot attest get no token.", retry: .never,
            .init(
                .operator,
                "set the app's `untrusted` to allow if such callers may use what costs little: their tokens have tier none"
            )),
        .policyUser: Entry(
            status: 403, title: "The quota counts users, and the key has none.", retry: .never,
            .init(
                .backend,
                "have the app attest with a challenge that the backend asked for with `user`; or set the quota's requireUser to false"
            )),
        .policyTier: Entry(
            status: 403, title: "The trust tier is too low.", retry: .never,
            .init(
                .operator,
                "decide what a request of this tier may still do; the tier follows Apple's risk metric and your signals"
            )),
        .pathUnknown: Entry(
            status: 404, title: "There is nothing at this path.", retry: nil,
            .init(
                .developer,
                "compare the path with /openapi.yaml; routes without their token file are off, and those of servers and operators are at internalListen if it is set"
            )),
        .appUnknown: Entry(
            status: 404, title: "The app is not configured.", retry: .never,
            .init(.operator, "add the app to `apps`, or correct the id in the path")),
        .promotionPending: Entry(
            status: 503, title: "Another claim of the same key or user is being decided.", retry: .after,
            .init(.app, "wait as long as Retry-After says, and claim again with the same transactionId")),
        .promotionUnknown: Entry(
            status: 404, title: "The promotion is not configured.", retry: .never,
            .init(.operator, "add the promotion to the configuration, or correct its name")),
        .methodNotAllowed: Entry(
            status: 405, title: "This path does not support this method.", retry: nil,
            .init(.developer, "use a method of the Allow header")),
        .challengeUnknown: Entry(status: 409, title: "The challenge was not issued here.", retry: .newChallenge),
        .challengeExpired: Entry(status: 409, title: "The challenge has expired.", retry: .newChallenge),
        .challengeUsed: Entry(status: 409, title: "The challenge has already been used.", retry: .newChallenge),
        .challengeBinding: Entry(
            status: 409, title: "The challenge was issued for another app, purpose, key or user.", retry: .newChallenge),
        .bodyContentType: Entry(
            status: 415, title: "The body must be application/json.", retry: .never,
            .init(.developer, "send Content-Type: application/json")),
        .limitAddress: Entry(
            status: 429, title: "Too many requests from this address.", retry: .after,
            .init(
                .app,
                "wait as long as Retry-After says; if it is a proxy of yours, name it in trustedProxies. Wrong tokens of servers and operators have a limit of their own, good ones have none"
            )),
        .limitApp: Entry(
            status: 429, title: "Too many requests for this app.", retry: .after,
            .init(
                .operator,
                "raise limits.requestsPerSecondPerApp if the load is real; the app waits as long as Retry-After says")),
        .limitKeys: Entry(
            status: 429, title: "Too many new keys.", retry: .after,
            .init(
                .operator,
                "see who makes so many keys; raise limits.newKeysPerUser or limits.newKeysPerAddress if honest phones reach it"
            )),
        .storeClockOff: Entry(
            status: 503, title: "The clock differs too much from the store's.", retry: .after,
            .init(.operator, "correct the node's clock; it then becomes ready again by itself")),
        .challengeRotationPending: Entry(
            status: 409, title: "The previous rotation of the challenge key is still in progress.", retry: .after,
            .init(.operator, "rotate again when the last challenge of the previous key has expired")),
        .storeUnavailable: Entry(
            status: 503, title: "The store cannot be reached.", retry: .after,
            .init(.operator, "check the store and the connection to it; the app waits as long as Retry-After says")),
        .appleUnavailable: Entry(
            status: 503, title: "Apple's service cannot be reached.", retry: .after,
            .init(.operator, "configure `apple`, or see the log for why Apple's service could not be reached")),
        .deviceTokenInvalid: Entry(
            status: 400, title: "The device token is not valid.", retry: .never,
            .init(
                .app,
                "get a new device token for each call and send it at once, in standard base64 on one line; one that was used may be spent, and one from the other environment is never valid: builds from Xcode are development (`devicecheck --environment development`), those from TestFlight and the App Store production"
            )),
        .internalError: Entry(
            status: 500, title: "The service failed.", retry: .after,
            .init(.operator, "look up the answer's correlationId in the log, and report what it says")),
        .assertCounterReplayed: Entry(
            status: 409, title: "The counter is not greater than the last accepted value.", retry: .newChallenge),
        .assertAppIdMismatch: Entry(status: 403, title: "The assertion is for a different app.", retry: .never),
        .attestAppIdMismatch: Entry(status: 403, title: "The attestation is for a different app.", retry: .never),
        .attestEnvironmentMismatch: Entry(
            status: 403, title: "The attestation is for a different environment.", retry: .never),
        .attestPolicyValidationCategory: Entry(
            status: 403, title: "The app's validation category is not allowed.", retry: .never),
        .attestPolicyBundleVersion: Entry(
            status: 403, title: "The app's bundle version is not allowed.", retry: .never),
        .attestPolicyAccessControl: Entry(
            status: 403, title: "The key does not have the required access control.", retry: .never),
    ]
}
