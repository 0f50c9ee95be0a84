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

    package static func entry(for code: Code) -> Entry {
        own[code] ?? verifiers[code] ?? Entry(500, "The service failed.", .after)
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
            (MalformedInput.explanations, Entry(400, "The object is malformed.", .never)),
            (RefusalExplanations.attestations, Entry(403, "The attestation is refused.", .newKey)),
            (RefusalExplanations.assertions, Entry(403, "The assertion is refused.", .newChallenge)),
            (RefusalExplanations.receipts, Entry(403, "The receipt in the attestation is refused.", .newKey)),
        ]
        let entries = families.flatMap { codes, entry in codes.map { ($0.code, entry) } }
        return Dictionary(entries, uniquingKeysWith: { first, _ in first })
    }()

    private static let own = Problem.entries.merging(service) { first, _ in first }

    private static let service: [Code: Entry] = [
        .challengeMissing: Entry(
            400, "The client data does not contain the challenge exactly once.", .never, .developer,
            "put the challenge, as it was issued, once into the client data as the member `challenge`"),
        .tokenMissing: Entry(
            401, "A bearer token is needed.", nil, .app, "send the token in the Authorization header, as Bearer"),
        .tokenInvalid: Entry(
            401, "The token is not valid.", nil, .app,
            "get a new token with a new assertion; after a revocation none is issued. A debug token's needs debug=allow, and a simulated device's keys are at /simulator/.well-known/jwks.json"
        ),
        .tokenSingleUse: Entry(
            403, "The token is good for one use, and this check does not spend it.", .never, .operator,
            "add once=consume to the gateway's request, or have the backend spend the token at /v1/tokens/consume"),
        .tokenNotSingleUse: Entry(
            400, "The token is not a single-use token.", .never, .app, "ask for the token with singleUse: true"),
        .revocationCount: Entry(
            409, "Another number of keys would be revoked, so none was.", .never, .operator,
            "ask with dryRun (keys revoke --dry-run) how many would be, look at them, and send that number as expect (--expect); more than 100 keys always need it"
        ),
        .tokenSpent: Entry(409, "The token has already been spent.", .newChallenge),
        .requestOtherHost: Entry(
            421, "The console does not answer to this host name.", nil, .operator,
            "open it by its address or as localhost, or add the name to hosts"),
        .requestOtherOrigin: Entry(
            403, "The request did not come from a page of this console.", nil, .operator,
            "open the page again, by typing its address if a link led there; a proxy in front must leave Host as the browser sent it"
        ),
        .callerUnauthorized: Entry(
            401, "The caller's credential is missing or wrong.", nil, .backend,
            "send a bearer token of serverTokenFile, adminTokenFile or tokensFile with the scope that the route needs"),
        .keyRevoked: Entry(
            403, "The key was revoked.", .newKey, .app,
            "make a new key, once, and attest it; the audit says who revoked the key, and an operator can restore it within a day (keys restore)"
        ),
        .keyUnknown: Entry(404, "The key is unknown.", .newKey),
        .keyOtherUser: Entry(409, "The key belongs to another user.", .newKey),
        .keyExists: Entry(409, "The key is already registered.", .newKey),
        .policyApp: Entry(
            403, "The token is for a different app.", .never, .operator,
            "compare the gateway's app parameter with the token's app"),
        .policyEnvironment: Entry(
            403, "The token is for a different environment.", .never, .operator,
            "add env=development or env=any to the gateway's request if development builds may come in"),
        .policyHost: Entry(
            403, "What was signed names another host, or none.", .never, .operator,
            "add the host to hosts if apps send their requests there; set the app's requireHost to false while versions of the app are in use that sign no host"
        ),
        .policyOff: Entry(
            503, "Proofs of this app are currently not judged.", .after, .operator,
            "set the app's `mode` to monitor or enforce: while it is off, App Check gives it no token"),
        .policyQuota: Entry(
            429, "The quota is used up for now.", .after, .operator,
            "wait until the window ends, or raise the quota's limit if honest clients reach it"),
        .policySimulated: Entry(
            403, "The token is a simulated device's.", .never, .operator,
            "say simulated=allow (a gateway) or \"simulated\": \"allow\" (consume) in tests, never in production"),
        .policyUntrusted: Entry(
            403, "Callers that cannot attest get no token.", .never, .operator,
            "set the app's `untrusted` to allow if such callers may use what costs little: their tokens have tier none"),
        .policyUser: Entry(
            403, "The quota counts users, and the key has none.", .never, .backend,
            "have the app attest with a challenge that the backend asked for with `user`; or set the quota's requireUser to false"
        ),
        .policyTier: Entry(
            403, "The trust tier is too low.", .never, .operator,
            "decide what a request of this tier may still do; the tier follows Apple's risk metric and your signals"),
        .pathUnknown: Entry(
            404, "There is nothing at this path.", nil, .developer,
            "compare the path with /openapi.yaml; routes without their token file are off, and those of servers and operators are at internalListen if it is set"
        ),
        .appUnknown: Entry(
            404, "The app is not configured.", .never, .operator, "add the app to `apps`, or correct the id in the path"
        ),
        .promotionPending: Entry(
            503, "Another claim of the same key or user is being decided.", .after, .app,
            "wait as long as Retry-After says, and claim again with the same transactionId"),
        .promotionUnknown: Entry(
            404, "The promotion is not configured.", .never, .operator,
            "add the promotion to the configuration, or correct its name"),
        .methodNotAllowed: Entry(
            405, "This path does not support this method.", nil, .developer, "use a method of the Allow header"),
        .challengeUnknown: Entry(409, "The challenge was not issued here.", .newChallenge),
        .challengeExpired: Entry(409, "The challenge has expired.", .newChallenge),
        .challengeUsed: Entry(409, "The challenge has already been used.", .newChallenge),
        .challengeBinding: Entry(409, "The challenge was issued for another app, purpose, key or user.", .newChallenge),
        .bodyContentType: Entry(
            415, "The body must be application/json.", .never, .developer, "send Content-Type: application/json"),
        .limitAddress: Entry(
            429, "Too many requests from this address.", .after, .app,
            "wait as long as Retry-After says; if it is a proxy of yours, name it in trustedProxies. Wrong tokens of servers and operators have a limit of their own, good ones have none"
        ),
        .limitApp: Entry(
            429, "Too many requests for this app.", .after, .operator,
            "raise limits.requestsPerSecondPerApp if the load is real; the app waits as long as Retry-After says"),
        .limitKeys: Entry(
            429, "Too many new keys.", .after, .operator,
            "see who makes so many keys; raise limits.newKeysPerUser or limits.newKeysPerAddress if honest phones reach it"
        ),
        .storeClockOff: Entry(
            503, "The clock differs too much from the store's.", .after, .operator,
            "correct the node's clock; it then becomes ready again by itself"),
        .challengeRotationPending: Entry(
            409, "The previous rotation of the challenge key is still in progress.", .after, .operator,
            "rotate again when the last challenge of the previous key has expired"),
        .storeUnavailable: Entry(
            503, "The store cannot be reached.", .after, .operator,
            "check the store and the connection to it; the app waits as long as Retry-After says"),
        .appleUnavailable: Entry(
            503, "Apple's service cannot be reached.", .after, .operator,
            "configure `apple`, or see the log for why Apple's service could not be reached"),
        .deviceTokenInvalid: Entry(
            400, "The device token is not valid.", .never, .app,
            "get a new device token for each call and send it at once, in standard base64 on one line; one that was used may be spent, and one from the other environment is never valid: builds from Xcode are development (`devicecheck --environment development`), those from TestFlight and the App Store production"
        ),
        .internalError: Entry(
            500, "The service failed.", .after, .operator,
            "look up the answer's correlationId in the log, and report what it says"),
        .assertCounterReplayed: Entry(409, "The counter is not greater than the last accepted value.", .newChallenge),
        .assertAppIdMismatch: Entry(403, "The assertion is for a different app.", .never),
        .attestAppIdMismatch: Entry(403, "The attestation is for a different app.", .never),
        .attestEnvironmentMismatch: Entry(403, "The attestation is for a different environment.", .never),
        .attestPolicyValidationCategory: Entry(403, "The app's validation category is not allowed.", .never),
        .attestPolicyBundleVersion: Entry(403, "The app's bundle version is not allowed.", .never),
        .attestPolicyAccessControl: Entry(403, "The key does not have the required access control.", .never),
    ]
}
