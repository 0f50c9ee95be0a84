// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import HTTPService
import TrustStores
import TrustTokens
import Vocabulary

/// A word of the service's answers that is no code, and what it means.
package struct AnswerWord: Sendable {
    package let word: String
    /// The member or header whose value it is.
    package let place: String
    /// Without a full stop, as the instruction.
    package let meaning: String
    package let action: String

    package init(word: String, place: String, meaning: String, action: String) {
        (self.word, self.place, self.meaning, self.action) = (word, place, meaning, action)
    }

    /// Every word, by the places in the order of the contract.
    package static let all: [AnswerWord] =
        TrustTier.allCases.map { word($0, in: "tier", $0.explanation) }
        + [
            AnswerWord(
                word: "none", place: "tier",
                meaning: "the token is of a caller that could not attest: nothing is proved",
                action: "permit what anybody may do; only `/v1/authorize?tier=none` lets it through")
        ]
        + TrustReason.allCases.map { word($0, in: "reasons", $0.explanation) }
        + ProofHandler.Reason.allCases.map { word($0, in: "reasons", ($0.meaning, "permit what anybody may do")) }
        + ObservedClass.allCases.map { word($0, in: "X-Sealward-Class", $0.explanation) }
        + Problem.Retry.allCases.map { word($0, in: "retry", ($0.meaning, $0.usual.action)) }
        + table.map { AnswerWord(word: $0.word, place: $0.place, meaning: $0.meaning, action: $0.action) }

    private static func word(
        _ word: some RawRepresentable<String>, in place: String, _ says: (meaning: String, action: String)
    ) -> AnswerWord {
        AnswerWord(word: word.rawValue, place: place, meaning: says.meaning, action: says.action)
    }

    private static let table: [(word: String, place: String, meaning: String, action: String)] = [
        (
            "refuse", "decision",
            "the app's `mode` is `monitor`: with `enforce` this proof would be refused for the code beside it",
            "explain that code, and enforce when only what should be refused is"
        ),
        ("off", "decision", "the app's `mode` is `off`: the proof was not judged", "set `mode` to monitor or enforce"),
        (EventKind.attested, "kind", "the key was registered", "nothing"),
        (EventKind.revoked, "kind", "the key was revoked; its proofs are refused", "nothing, if that was right"),
        (EventKind.restored, "kind", "an operator restored the key within a day", "nothing, if that was right"),
        (EventKind.receipt, "kind", "a receipt of the key was renewed, or refused for the code", "explain the code"),
        (EventKind.refused, "kind", "a proof of the key was refused, or would have been", "explain the code"),
        (
            EventKind.alert, "kind", "the device has attested many more keys than is usual",
            "read docs/risk-metric.md, and decide what such a device may do"
        ),
        (
            EventKind.clientError, "kind", "an app reported an error of App Attest; its word proves nothing",
            "compare the code with your last release"
        ),
        (
            EventKind.unsupported, "kind", "an app reported that it cannot attest; its word proves nothing",
            "look at the share of such reports: GET /v1/apps/{app}/risk"
        ),
        (
            "alreadyConsumed", "verifyAppCheckToken", "the App Check token was spent before: it came a second time",
            "refuse the request, and let the app ask for a limited-use token for each"
        ),
        ("offset", "clockFault", clock + "is off against the store's", clockAction),
        ("jump", "clockFault", clock + "jumped", clockAction),
        (
            "horizon-ahead", "clockFault", clock + "is behind what the store has seen, or that was wrong",
            "set the clock by NTP; if it is right, `sealward store check --confirm-clock`"
        ),
        (
            "INVALID_ARGUMENT", "status", "App Check 400: the request can never become right",
            "compare it with docs/app-check.md"
        ),
        (
            "NOT_FOUND", "status", "App Check 404: the project or the app is unknown",
            "compare both with `appCheck.apps`"
        ),
        (
            "UNAUTHENTICATED", "status", "App Check 401: the bearer token is missing or may not do this",
            "send a token of the scope `server`"
        ),
        (
            "PERMISSION_DENIED", "status",
            "App Check 403: the proof or the token is refused; the client makes a new key",
            "explain the code in `message` or `details`"
        ),
        (
            "RESOURCE_EXHAUSTED", "status", "App Check 429: a limit was reached",
            "wait as long as Retry-After says"
        ),
        ("UNAVAILABLE", "status", "App Check 503: the service or its store cannot answer now", "try again later"),
    ]

    private static let clock = "the last sweep removed nothing, because the clock of the service "
    private static let clockAction = "set the clocks of the service and the database by NTP"
}

extension ProofHandler.Reason {
    fileprivate var meaning: String {
        let says =
            switch self {
            case .unsupported: "DCAppAttestService has no support here"
            case .extension: "it is an extension without App Attest"
            case .simulator: "it runs in the Simulator"
            case .ramp: "the ramp has not let it attest yet"
            }
        return "a caller without proof says that \(says)"
    }
}

extension ObservedClass {
    fileprivate var explanation: (meaning: String, action: String) {
        let pass = "`mode=observe` refuses nothing; enforced, "
        return switch self {
        case .verified: (pass + "the request would pass", "nothing")
        case .untrusted:
            (
                pass + "a token without an attested device, or of a tier below the one asked for, would be refused",
                "decide what such callers may do: `tier=none` lets them through"
            )
        case .outdated:
            (
                pass + "a token that has ended, or of an app version that is not accepted, would be refused",
                "wait for the users of old versions, or look at how the app renews tokens"
            )
        case .invalid:
            (
                pass + "a token of another signer, app or environment would be refused",
                "compare issuer, app and environment; if they are right, somebody tries tokens"
            )
        case .reused: (pass + "a single-use token that was spent would be refused", "ask for a token for each request")
        case .none:
            (pass + "a request without a token would be refused", "wait until the versions without App Attest are gone")
        case .unknown: ("the store did not answer, so the token was not judged", "look at /readyz and the log")
        }
    }
}

extension Problem.Retry {
    fileprivate var meaning: String {
        switch self {
        case .never: "the same request will never be accepted"
        case .newChallenge: "the request may be accepted with a new challenge"
        case .newKey: "the key is of no use any more; a new one may be accepted"
        case .after: "the same request may be accepted later"
        }
    }
}
