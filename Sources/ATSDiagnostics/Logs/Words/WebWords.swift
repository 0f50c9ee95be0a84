// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What web views, scripts and players write: rules of their own, and words that hide the error of the load.
enum WebWords {
    static let rules: [LogPhrase] = pages + views

    private static let pages: [LogPhrase] = [
        rule("is not allowed by Access-Control-Allow", cors), rule("blocked by CORS policy", cors),
        rule("No 'Access-Control-Allow-Origin' header", cors),
        rule("Preflight response is not successful", cors),
        rule("Cross origin requests are only supported for HTTP", cors),
        rule("Content Security Policy directive", security, fix: directive),
        rule("directive of the Content Security Policy", security, fix: directive),
    ]

    private static let views: [LogPhrase] = ErrorNumber.webKitErrors.flatMap { error in
        let words = [
            "WebKitErrorDomain Code=\(error.number) ", "WebKitErrorDomain error \(error.number).", error.sentence,
        ]
        return words.map { rule($0, "\(error.name): \(error.meaning).", fix: navigation) }
    }

    /// Behind all others: they say only that a load failed.
    static let unsaid: [LogPhrase] = [
        vague("Network request failed", "React Native's fetch says no more than that the load failed."),
        vague("Error: Network Error", "axios says no more than that the load failed."),
        vague("\"Network Error\"", "axios says no more than that the load failed."),
        vague("Error: Load failed", "The web view tells the page no more than that the load failed."),
        vague("Error: Failed to fetch", "The web view tells the page no more than that the load failed."),
        vague("Exception: Failed to fetch", "The web view tells the page no more than that the load failed."),
        vague("TLS handshake error from", "A server in Go saw the handshake end: the app's own log says why."),
        vague(
            "due to access control checks",
            "WebKit writes this for CORS and where the load or its preflight failed: the line before it says which."),
        vague("0 Unknown Error", "Angular says no more than that the load failed: often it is CORS."),
        vague("error sending request for url", "reqwest (Rust) hides the error beneath: print its source()."),
        vague("RCTErrorDomain", "React Native says no more than that the load failed."),
        vague("XMLHttpRequest error", "The browser tells the page no more than that the load failed."),
        vague("ERR_FAILED", "Chromium says no more than that the load failed: often it is CORS."),
        vague(
            "Failed to load video",
            "The player hides the error beneath: \"Operation Stopped\" is often a server without ranges."),
        vague(
            "be opened.\" UserInfo={NSURL=http",
            "Data(contentsOf:) and String(contentsOf:) hide the error of the load: URLSession gives it."),
    ]

    private static let cors =
        "The web view refused the answer of <host> by the rules for other origins (CORS): the server does not allow the origin of the page."
    private static let security = "The page's own Content Security Policy forbids the load."
    private static let directive = "name the host in the directive that the line quotes (connect-src, img-src, ...)"
    private static let navigation =
        "look at decidePolicyFor of the navigation delegate, or at the plugin that has it, and at the URL"

    private static func rule(_ words: String, _ sentence: String, fix: String? = nil) -> LogPhrase {
        LogPhrase(
            words, .system, [.httpWebRule], sentence,
            fix: fix ?? LogExplanations.explanation(of: .httpWebRule)?.action)
    }

    private static func vague(_ words: String, _ sentence: String) -> LogPhrase {
        LogPhrase(words, .system, [.causeNotSaid], sentence)
    }
}

/// What the other side writes when a handshake fails: proxies that read TLS, and servers.
enum InterceptionWords {
    static let all: [LogPhrase] =
        [
            "trust the proxy's certificate", "trust the Charles Root", "SSL handshake with client failed",
            "Client SSL handshake failed",
        ].map { LogPhrase($0, .system, [.trustUnknownRoot, .trustRefusedByDelegate], proxy, fix: root) }
        + [
            "Received fatal alert: unknown_ca", "Received fatal alert: certificate_unknown",
            "alert number 48) while SSL handshaking", "alert number 46) while SSL handshaking",
            "alert number 42) while SSL handshaking", "remote error: tls: unknown certificate",
            "remote error: tls: bad certificate",
        ].map {
            LogPhrase(
                $0, .system, [.trustUnknownRoot, .trustMissingIntermediate, .trustRefusedByDelegate], server, fix: root)
        } + handshakes

    private static let handshakes = [
        LogPhrase("no shared cipher", .system, [.tlsNoCommonSuite]),
        LogPhrase("no cipher suite supported by both client and server", .system, [.tlsNoCommonSuite]),
        LogPhrase("client offered only unsupported versions", .system, [.tlsVersionTooLow]),
        LogPhrase("unsupported protocol) while SSL handshaking", .system, [.tlsVersionTooLow]),
    ]

    private static let proxy =
        "The app refuses the certificate that the proxy made for <host>: the proxy's root is not trusted on the device, or the app pins."
    private static let server =
        "The app refuses the certificate that it was shown: this line is from the other side, a server or a proxy that reads TLS."
    private static let root =
        "a proxy's root: install it, and switch it on in Settings > General > About > Certificate Trust Settings; an app that pins refuses it all the same. A server: check the chain that it sends"
}
