// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What web views, scripts and players write: rules of their own, and words that hide the error of the load.
enum WebWords {
    static let rules: [LogPhrase] = pages + views

    private static let pages: [LogPhrase] = [
        rule("is not allowed by Access-Control-Allow", cors, origins, namesOther: true),
        rule("blocked by CORS policy", cors, origins),
        rule("No 'Access-Control-Allow-Origin' header", cors, origins),
        rule("Preflight response is not successful", cors, origins),
        rule("Cross origin requests are only supported for HTTP", cors, origins),
        rule("Content Security Policy directive", security, directive),
        rule("directive of the Content Security Policy", security, directive),
        rule(
            "Not allowed to request resource",
            "WebKit does not let the page load this: http from a page of https or of a scheme of the app, or a file.",
            "load it over https"),
        rule(
            "not allowed on the configured scope",
            "The app's own list of URLs (Tauri's capabilities) does not have this one.",
            "add the URL to the scope of http in the capabilities of the app"),
    ]

    /// A number without a cause says that nothing failed.
    private static let views: [LogPhrase] = ErrorNumber.webKitErrors.filter { !$0.codes.isEmpty }.flatMap { error in
        let words = [
            "WebKitErrorDomain Code=\(error.number) ", "WebKitErrorDomain error \(error.number).", error.sentence,
        ]
        return words.map { rule($0, error.said, navigation) }
    }

    /// Behind all others: they say only that a load failed.
    static let unsaid: [LogPhrase] =
        [
            "Network request failed", "Error: Network Error", "\"Network Error\"", "Error: Load failed",
            "Error: Failed to fetch", "Exception: Failed to fetch",
            "\"Failed to fetch\"", "\"Load failed\"", "XMLHttpRequest error", "0 Unknown Error",
            "ERR_FAILED", "TypeError: fetch failed", "RCTErrorDomain", "error sending request for url",
            "TLS handshake error from", ": SSL handshake failure",
        ].map { vague($0, "What wrote this says no more than that the load failed; in a web view it is often CORS.") }
        + [
            vague(
                "SSL_HANDSHAKE_FAILURE",
                "A TLS handshake had failed or was given up before this line was written, which does not say why: lines before it may."
            ),
            vague(
                "due to access control checks",
                "WebKit writes this for CORS and where the load or its preflight failed: the line before it says which."
            ),
            vague(
                "NSCocoaErrorDomain Code=3840",
                "The answer of the server is not JSON, often an error page: the load itself may have worked."),
            vague(
                "com.alamofire.error.serialization",
                "The server answered, and AFNetworking does not take the answer for its status or its type: the load itself worked."
            ),
            vague("unacceptableStatusCode(code:", status), vague("Response status code was unacceptable", status),
            vague("Http status error [", status),
            vague("DioException [bad response]", status),
            vague(
                "\"http_status\":0",
                "Cordova's FileTransfer got no answer and hides the error: of an http URL it is often ATS."),
            vague(
                "A stable connection to the server could not be established",
                "MailCore hides the error of its socket, with which ATS has nothing to do: a line of CFNetwork before it may have the number (-98xx). A wrong port or connection type (TLS, STARTTLS) looks the same."
            ),
            vague(
                "CertificateCouldNotBeVerifiedException",
                "The plugin http_certificate_pinning got no certificate to compare: the load failed before, often for want of a network."
            ),
            vague(
                "Failed to load video",
                "The player hides the error beneath: \"Operation Stopped\" is often a server without ranges."),
            vague(
                "be opened.\" UserInfo={NSURL=http",
                "Data(contentsOf:) and String(contentsOf:) hide the error of the load: URLSession gives it."),
        ]

    private static let cors =
        "The web view refused the answer of <host> by the rules for other origins (CORS): the server does not allow the origin of the page."
    private static let status =
        "The server answered with a status that the app takes for an error: the load itself worked, and ATS allowed it."
    private static let security = "The page's own Content Security Policy forbids the load."
    static let origins =
        "let the server answer with Access-Control-Allow-Origin for the origin of the page (capacitor://localhost, ionic://localhost, https://localhost), to OPTIONS too, or load with native code, as CapacitorHttp does"
    static let directive = "name the host in the directive that the line quotes (connect-src, img-src, ...)"
    static let navigation =
        "look at decidePolicyFor of the navigation delegate, or at the plugin that has it, and at the URL"

    private static func rule(
        _ words: String, _ sentence: String, _ fix: String, namesOther: Bool = false
    ) -> LogPhrase {
        LogPhrase(words, .system, [.httpWebRule], sentence, fix: fix, namesOther: namesOther)
    }

    private static func vague(_ words: String, _ sentence: String) -> LogPhrase {
        LogPhrase(words, .system, [.causeNotSaid], sentence)
    }
}
