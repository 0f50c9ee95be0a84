// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings

/// Status, title and advice of every code that the service can answer with.
package enum ProblemTable {
    package struct Entry: Sendable {
        package let status: Int
        package let title: String
        package let retry: Problem.Retry?
    }

    /// The entry of a code. Codes of the verifiers that are not written out follow their first word.
    package static func entry(for code: Code) -> Entry {
        if let entry = own[code] { return entry }
        switch code.description.prefix(while: { $0 != "." }) {
        case "malformed": return Entry(status: 400, title: "The object is malformed.", retry: .never)
        case "attest": return Entry(status: 403, title: "The attestation is refused.", retry: .newKey)
        case "assert": return Entry(status: 403, title: "The assertion is refused.", retry: .newChallenge)
        case "receipt": return Entry(status: 403, title: "The receipt in the attestation is refused.", retry: .newKey)
        default: return Entry(status: 500, title: "The service failed.", retry: .after)
        }
    }

    /// The codes with an entry of their own, sorted by name.
    package static var codes: [Code] { own.keys.sorted { $0.description < $1.description } }

    private static let own: [Code: Entry] = [
        "request.malformed": Entry(status: 400, title: "The request does not follow the API contract.", retry: .never),
        "challenge.missing": Entry(
            status: 400,
            title: "The client data does not contain the challenge exactly once.",
            retry: .never
        ),
        "token.missing": Entry(status: 401, title: "A bearer token is needed.", retry: nil),
        "token.invalid": Entry(status: 401, title: "The token is not valid.", retry: nil),
        "token.not-single-use": Entry(status: 400, title: "The token is not a single-use token.", retry: .never),
        "token.spent": Entry(status: 409, title: "The token has already been spent.", retry: .newChallenge),
        "caller.unauthorized": Entry(status: 401, title: "The caller's credential is missing or wrong.", retry: nil),
        "key.revoked": Entry(status: 403, title: "The key was revoked.", retry: .newKey),
        "key.unknown": Entry(status: 404, title: "The key is unknown.", retry: .newKey),
        "key.other-user": Entry(status: 409, title: "The key belongs to another user.", retry: .newKey),
        "key.exists": Entry(status: 409, title: "The key is already registered.", retry: .newKey),
        "policy.app": Entry(status: 403, title: "The token is for a different app.", retry: .never),
        "policy.environment": Entry(status: 403, title: "The token is for a different environment.", retry: .never),
        "policy.off": Entry(status: 503, title: "Proofs of this app are not judged now.", retry: .after),
        "policy.tier": Entry(status: 403, title: "The trust tier is too low.", retry: .never),
        "path.unknown": Entry(status: 404, title: "There is nothing at this path.", retry: nil),
        "app.unknown": Entry(status: 404, title: "The app is not configured.", retry: .never),
        "promotion.unknown": Entry(status: 404, title: "The promotion is not configured.", retry: .never),
        "method.not-allowed": Entry(status: 405, title: "This path does not support this method.", retry: nil),
        "challenge.unknown": Entry(status: 409, title: "The challenge was not issued here.", retry: .newChallenge),
        "challenge.expired": Entry(status: 409, title: "The challenge has expired.", retry: .newChallenge),
        "challenge.used": Entry(status: 409, title: "The challenge has already been used.", retry: .newChallenge),
        "challenge.binding": Entry(
            status: 409,
            title: "The challenge was issued for another app, purpose, key or user.",
            retry: .newChallenge
        ),
        "body.too-large": Entry(status: 413, title: "The body is larger than the limit.", retry: .never),
        "body.content-type": Entry(status: 415, title: "The body must be application/json.", retry: .never),
        "limit.address": Entry(status: 429, title: "Too many requests from this address.", retry: .after),
        "limit.app": Entry(status: 429, title: "Too many requests for this app.", retry: .after),
        "store.clock-off": Entry(status: 503, title: "The clock differs too much from the store's.", retry: .after),
        "challenge.rotation-pending": Entry(
            status: 409,
            title: "The previous rotation of the challenge key is still in progress.",
            retry: .after
        ),
        "store.unavailable": Entry(status: 503, title: "The store cannot be reached.", retry: .after),
        "apple.unavailable": Entry(status: 503, title: "Apple's service cannot be reached.", retry: .after),
        "deviceToken.invalid": Entry(status: 400, title: "The device token is not valid.", retry: .never),
        "internal.error": Entry(status: 500, title: "The service failed.", retry: .after),
        "assert.counter.replayed": Entry(
            status: 409,
            title: "The counter is not greater than the last accepted value.",
            retry: .newChallenge
        ),
        "assert.app-id.mismatch": Entry(status: 403, title: "The assertion is for a different app.", retry: .never),
        "attest.app-id.mismatch": Entry(status: 403, title: "The attestation is for a different app.", retry: .never),
        "attest.environment.mismatch": Entry(
            status: 403,
            title: "The attestation is for a different environment.",
            retry: .never
        ),
        "attest.policy.validation-category": Entry(
            status: 403,
            title: "The app's validation category is not allowed.",
            retry: .never
        ),
        "attest.policy.bundle-version": Entry(
            status: 403,
            title: "The app's bundle version is not allowed.",
            retry: .never
        ),
        "attest.policy.access-control": Entry(
            status: 403,
            title: "The key does not have the required access control.",
            retry: .never
        ),
    ]
}
