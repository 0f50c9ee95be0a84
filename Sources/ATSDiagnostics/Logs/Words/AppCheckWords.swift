// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

/// What App Check's clients and Google's SDKs for backends write where no status of an answer is named.
enum AppCheckWords {
    static let all: [LogPhrase] =
        [
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
            "App Check token has expired", "App Check verification failed", "AppCheck verification failed",
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

    private static func row(_ words: String, _ code: Code) -> LogPhrase { LogPhrase(words, .system, [code]) }
}
