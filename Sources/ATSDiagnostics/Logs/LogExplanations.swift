// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import Vocabulary

/// What the codes mean that only logs and numbers give.
package enum LogExplanations {
    /// In the order of the documents.
    package static let all: [CodeExplanation] =
        [
            CodeExplanation(
                .netLocalNetwork,
                "the system denies the app the local network (iOS 14, macOS 15 and later); this is privacy, not ATS, and no key of NSAppTransportSecurity changes it",
                .developer,
                "put NSLocalNetworkUsageDescription (and NSBonjourServices for Bonjour) into Info.plist, and have the user allow the app in Settings > Privacy & Security > Local Network (Apple TN3179)"
            ),
            CodeExplanation(
                .netSandbox, "the sandbox of the app forbids connections; this is not ATS", .developer,
                "on a Mac set com.apple.security.network.client to YES in the app's .entitlements (Xcode: Signing & Capabilities > App Sandbox > Outgoing Connections), and sign again; on Apple Watch use tasks of URLSession: sockets, Network and WebSockets are for audio and calls only (Apple TN3135)"
            ),
            CodeExplanation(
                .netOffline, "the device has no network that the app may use; this is not ATS", .network,
                "check Wi-Fi, cellular data and airplane mode, and whether cellular data is allowed for the app"),
            CodeExplanation(
                .tlsClientCertificateRejected, "the server refuses the certificate that the app sent as its own",
                .server,
                "compare the issuer and the dates of the app's certificate with the list of CAs and the clock of the server"
            ),
            CodeExplanation(
                .cleartextOwnRule, "a library of the app refuses cleartext by a setting of its own, which is not ATS",
                .developer,
                "load https, or change that setting: in Unity Player Settings > Allow downloads over HTTP, in Flutter a current version (2.0 takes NSAllowsArbitraryLoads and NSExceptionDomains of the Info.plist for it, no other key), on Android the network security configuration"
            ),
            CodeExplanation(
                .httpWebRule,
                "a rule of web pages or the app's own navigation refused the load (CORS, Content Security Policy, a cancelled navigation); this is not ATS",
                .developer,
                "CORS: \(WebWords.origins). Content Security Policy: \(WebWords.directive). A cancelled navigation: \(WebWords.navigation)"
            ),
            CodeExplanation(
                .httpMedia,
                "the player got an answer that it cannot play: a status of HTTP, a range, a playlist or a format; this is not ATS",
                .server,
                "compare with `curl -v -r 0-1 URL`: the server must answer 206 with Content-Range, Content-Length and the Content-Type of the media, to the headers that the app sends"
            ),
            CodeExplanation(
                .causeNotSaid, "a load failed, and the words or the number do not say why; ATS may be the cause",
                .developer,
                "read the console of the device (Console, Xcode) at that moment, or print the error with its NSUnderlyingError: -1022 is ATS, -1200, -1202 and -98xx are TLS and certificates"
            ),
        ] + deviceErrors + [
            CodeExplanation(
                .appCheckMissing,
                "App Check is not set up in the app: it has no provider, or got it after the first use, so that its requests have no token or a placeholder; or an older version of the app, or another client, sent a request without a token",
                .developer,
                "set the provider before anything of Firebase is used: AppCheck.setAppCheckProviderFactory before FirebaseApp.configure() (React Native: RNFBAppCheckModule.sharedInstance() before it; Flutter: await activate() directly after initializeApp, without a FirebaseApp.configure() of your own, which since firebase-ios-sdk 12.15 keeps DeviceCheck), installAppCheckProviderFactory on Android, initializeAppCheck on the web. As long as App Check is not enforced it is a warning; before you enforce it, wait until the older versions are gone"
            ),
            CodeExplanation(
                .appCheckRefused,
                "App Check answers 403 (or 401), `App attestation failed`: the proof was refused; the app forgets its key, attests once more and then pauses up to 4 hours (`Too many attempts`): the first error is the cause",
                .developer,
                "App Attest: compare Team ID and bundle ID with the registration in App Check, and set the entitlement appattest-environment to production, which Google asks for. DeviceCheck: upload a key of the developer account that has DeviceCheck enabled, with its key ID and the Team ID. Simulator and CI: use the debug provider and register the debug token that it prints. If a backend says that the token is invalid: it is the placeholder that the client sends after such a refusal, it has expired, or it is for another project"
            ),
            CodeExplanation(
                .appCheckStopped,
                "App Check answers 400 or 404, or Google blocks the API key or the project (403 `are blocked`, `has not been used in project`): the request can never become right; after 400 and 404 the client is silent for a day",
                .developer,
                "check the project number, the app ID and the API key, that the project has the Firebase App Check API enabled and the key is allowed to call it (Google Cloud console > Credentials), and that App Check has the provider switched on"
            ),
            CodeExplanation(
                .appCheckUnavailable,
                "App Check answers 429, 503 or another status, or a backend cannot fetch its keys (`Error fetching Json Web Keys`): the service cannot answer now; the client tries again after growing pauses",
                .app,
                "wait; with 429 look at the quota and at how often tokens are asked for; let a backend keep the keys for hours"
            ),
        ]

    /// What `DCAppAttestService` and `DCDevice` throw, by number: the numbers are the indices.
    package static let deviceErrors: [CodeExplanation] = [
        CodeExplanation(
            .deviceUnknown, "DCError 0, unknownSystemFailure: DeviceCheck failed for a reason that it does not say",
            .app,
            "try generateAssertion once more with the same key, then once with a new key; after generateKey or attestKey make a new key, once; try generateToken of DCDevice later: it needs the network"
        ),
        CodeExplanation(
            .deviceUnsupported,
            "DCError 1, featureUnsupported: no App Attest here: the Simulator, Macs before macOS 27, and most extensions. App Check says `not supported on current platform and OS version`",
            .developer,
            "ask isSupported first, and let the server decide about callers without proof; with App Check use the debug provider in the Simulator, and DeviceCheck where it is supported"
        ),
        CodeExplanation(
            .deviceInvalidInput,
            "DCError 2, invalidInput: an argument is wrong: the hash is not 32 bytes of SHA-256, or the key ID is not one that generateKey gave; for some users generateAssertion says it of right arguments when the key is lost",
            .developer,
            "pass SHA-256 of the client data, 32 bytes, and the key ID as it was given; if both are right, forget the key and make a new one, once"
        ),
        CodeExplanation(
            .deviceInvalidKey,
            "DCError 3, invalidKey: the key is unknown on this device, was attested already, or was never attested (a reinstall, a restored backup)",
            .app,
            "forget the key and make a new one, once; apps that were installed under iOS 17.0 or earlier may stay so (Apple confirms it, forums 812308)"
        ),
        CodeExplanation(
            .deviceUnavailable,
            "DCError 4, serverUnavailable: Apple's attestation server did not answer, or the device did not reach it",
            .app,
            "try again later with the same key and the same clientDataHash; a new key would count against the device. If only some networks have it, look for a VPN, a proxy or a firewall there"
        ),
    ]

    /// The names of DCError, by number.
    package static let deviceErrorNames = [
        "unknownSystemFailure", "featureUnsupported", "invalidInput", "invalidKey", "serverUnavailable",
    ]

    /// What is said of any other number of that domain.
    package static let undocumentedDeviceError =
        "no number that Apple documents: DCError has \(deviceErrorNames.enumerated().map { "\($0) \($1)" }.joined(separator: ", ")) (up to iOS 27)"
    package static let undocumentedDeviceAction =
        "print the whole error with its NSUnderlyingErrorKey; as long as it is not known, do what unknownSystemFailure asks for"

    /// What App Check's client throws, by number: the numbers are the indices (FIRAppCheckErrors.h).
    package static let appCheckErrors: [(name: String, meaning: String, action: String)] = [
        (
            "unknown", "a failure that the client does not name: attestKey, generateAssertion or the exchange failed",
            "look at the text behind it or at NSUnderlyingErrorKey: a DCError or an HTTP status, and give that to `sealward explain`"
        ),
        ("serverUnreachable", "Google's App Check could not be reached", "check the network, and try again"),
        (
            "invalidConfiguration", "the configuration of the app is not one of App Check",
            "compare GoogleService-Info.plist with the project, and set the provider factory before FirebaseApp.configure()"
        ),
        (
            "keychain", "the Keychain cannot be read or written",
            "give the app access to its Keychain group (a Mac app needs Keychain Sharing), and try again when the device is unlocked"
        ),
        (
            "unsupported", "the provider is not supported here: the Simulator, Macs before macOS 27, most extensions",
            "use the debug provider in the Simulator, and DeviceCheck where App Attest is not supported"
        ),
    ]

    /// What a status of App Check's HTTP interface means for an app; nil for success and for no status.
    package static func appCheck(status: Int) -> CodeExplanation? {
        let code: Code
        switch status {
        case 401, 403: code = .appCheckRefused
        case 400, 404: code = .appCheckStopped
        case 402...599: code = .appCheckUnavailable
        default: return nil
        }
        return all.first { $0.code == code }
    }

    /// What a sentence of DeviceCheck or of App Check's client says; nil for other texts.
    package static func attest(in text: String) -> CodeExplanation? {
        let scan = Scan(bytes: Array(text.utf8.prefix(2048))[...])
        if let number = scan.deviceError, deviceErrors.indices.contains(number) { return deviceErrors[number] }
        return scan.appCheckStatus.flatMap(appCheck)
    }

    /// What a code means: one of these, or a cause of a load.
    package static func explanation(of code: Code) -> CodeExplanation? {
        all.first { $0.code == code } ?? CauseTable.current[code]?.explanation
    }

    /// What to do about a code, where nothing is known beside the host.
    static func action(of code: Code, at host: String?) -> String? {
        Remediation(for: code, at: host)?.server ?? explanation(of: code)?.action
    }
}
