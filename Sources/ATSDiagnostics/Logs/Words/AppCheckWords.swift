// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// What App Check's clients and Google's SDKs for backends write where no status of an answer is named.
enum AppCheckWords {
    static let all: [LogPhrase] =
        tokens.flatMap { token in
            token.words.map {
                LogPhrase($0, .system, [.appCheckRefused], token.sentence, fix: token.fix)
            }
        }
        + [
            "No AppCheckProvider installed", "Cannot instantiate `FIRAppCheck`", "Cannot instantiate `GACAppCheck`",
            "App Check is being used before", "use-before-activation", "App Check token is missing",
            "App Check token missing", "missing App Check token", "No App Check token", "AppCheck token is missing",
            "AppCheck token missing", "missing AppCheck token", "No AppCheck token", "missing X-Firebase-AppCheck",
            "outdated client requests", "unknown origin requests", "\"app\":\"MISSING\"", "\"app\": \"MISSING\"",
            "app: \"MISSING\"",
        ].map { row($0, .appCheckMissing) }
        + [
            "app-check-token-is-invalid", "app-check-token-expired", "app-check/invalid-argument",
            "App Check token is malformed", "Invalid App Check token", "App Check token expired",
            "provided App Check token has", "App Check verification failed", "AppCheck verification failed",
            // The placeholder, base64 of {"error":"UNKNOWN_ERROR"}.
            "eyJlcnJvciI6IlVOS05PV05fRVJST1IifQ", "Unverified: invalid requests",
        ].map { row($0, .appCheckRefused) }
        + ["appCheck/fetch-network-error", "appCheck/fetch-parse-error"].map { row($0, .appCheckUnavailable) }
        + ["appCheck/recaptcha-error", "AppCheck: ReCAPTCHA error"].map { words in
            LogPhrase(
                words, .system, [.appCheckRefused],
                "On the web reCAPTCHA gave App Check no proof: its site key, the type of the key or the list of its domains does not fit the page.",
                fix:
                    "compare the site key with the registration of the web app in App Check, use the provider of the key's type (v3 or Enterprise), and add the domain of the page (also localhost) to the key"
            )
        }
        + [
            LogPhrase(
                "Failed to generate a new cryptographic key for use with the App Attest", .system,
                [.deviceUnknown, .deviceUnsupported],
                "generateKey failed on the device, before App Check was asked. The text does not say which DCError it was.",
                fix:
                    "look for the DCError behind it (NSUnderlyingErrorKey), and ask isSupported first: it is false in the Simulator and on Macs before macOS 27"
            )
        ]

    /// What the Admin SDK of a backend says of a token, in several languages; quotes may be escaped.
    private static let tokens: [(words: [String], sentence: String, fix: String)] = [
        (
            ["App Check token has expired"],
            "The token that the backend got has ended, or the clock of the backend is ahead.",
            "set the clock, and let the app ask its client for the token before each request: it keeps one that lives"
        ),
        (
            ["incorrect \"aud\"", "incorrect \\\"aud\\\""].map { "App Check token has \($0)" }
                + ["incorrect \"aud\"", "incorrect \\\"aud\\\""].map { "App Check token has an \($0)" },
            "The token is for another Firebase project than the backend's.",
            "initialize the Admin SDK with the project number of the app: compare GoogleService-Info.plist with the backend's credentials"
        ),
        (
            ["App Check token has incorrect \"iss\"", "App Check token has incorrect \\\"iss\\\""],
            "Another service issued the token: it is no App Check token, or one of a service of your own.",
            "pass what is in the header X-Firebase-AppCheck; an ID token of Firebase Auth is in Authorization"
        ),
        (
            ["App Check token has incorrect algorithm"],
            "It is no App Check token of Google's, which are signed with RS256.",
            "pass what is in the header X-Firebase-AppCheck; the placeholder of the client and tokens of other services are signed otherwise"
        ),
        (
            ["App Check token has \"kid\" claim", "App Check token has \\\"kid\\\" claim"],
            "No key that App Check publishes now signed the token: mostly it is old.",
            "let the app ask for a new token, and fetch the keys again; a simulator and a service of your own have keys of their own"
        ),
        (
            ["App Check token has invalid signature", "App Check token has an invalid signature"],
            "The token was changed or cut on its way, or somebody else made it.",
            "pass the header X-Firebase-AppCheck whole and unchanged"
        ),
        (
            ["Decoding App Check token failed"], "The text is no token: it is cut, empty, or the client's placeholder.",
            "pass the header X-Firebase-AppCheck whole; if it begins with eyJlcnJvciI6, the app got no token: look for the first App Check error in its log"
        ),
    ]

    private static func row(_ words: String, _ code: Code) -> LogPhrase { LogPhrase(words, .system, [code]) }
}
