// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What the system's own loading writes: CFNetwork, Network, boringssl and Security, whatever the language of the device.
enum SystemWords {
    static let strict = "strict TLS Trust evaluation failed"
    static let systemTrust = "ATS failed system trust"
    /// What device management says of a certificate that it refuses, as the device writes it and as people type it.
    static let management = ["The server certificate for \u{201C}", "The server certificate for \"https:"]
    static let reset = "received ECONNRESET with incomplete TLS handshake"

    static let all: [LogPhrase] = services + named + proxies + numbers + sockets + sentences + TranslatedWords.all

    /// Numbers of dns_sd.h and NSNetServices, with what stands before them: the digits alone may be those of a UUID.
    private static let services: [LogPhrase] = serviceNumbers.flatMap { number, code in
        [" ", "(", "=", ":"].map { row("\($0)-\(number)", [code]) }
    }

    private static let serviceNumbers: [(Int, Code)] = [
        // kDNSServiceErr_PolicyDenied, kDNSServiceErr_NoAuth, NSNetServicesMissingRequiredConfigurationError: Bonjour without the user's consent,
        // or without NSBonjourServices.
        (65570, .netLocalNetwork), (65555, .netLocalNetwork), (72008, .netLocalNetwork),
        // kDNSServiceErr_NoSuchRecord and kDNSServiceErr_NoSuchName.
        (65554, .netDNS), (65538, .netDNS),
    ]

    private static let named: [LogPhrase] = [
        row("Local network prohibited", [.netLocalNetwork]),
        row("Sandbox is preventing this process", [.netSandbox]),
        row("deny(1) network-outbound", [.netSandbox]), row("deny network-outbound", [.netSandbox]),
        row("[1: Operation not permitted]", [.netSandbox]),
        row("Operation not permitted, errno = 1,", [.netSandbox]),
        row("Operation not permitted, errno = 1)", [.netSandbox]),
        row("DNSServiceCreateDelegateConnection failed: ServiceNotRunning", [.netSandbox]),
        row(
            "Denied over cellular", [.netOffline],
            "Cellular data is switched off for this app, and there is no other network."),
        row("Denied over Wi-Fi", [.netOffline], "Wi-Fi is not allowed for this app, and there is no other network."),
        row("unsatisfied (No network route)", [.netOffline], "The device has no route to any network."),
        row("was not allowed to display insecure content", [.cleartextOwnRule], mixed, fix: "load it over https"),
        row("was not allowed to run insecure content", [.cleartextOwnRule], mixed, fix: "load it over https"),
        row("[blocked] The page at ", [.cleartextOwnRule], mixed, fix: "load it over https"),
        row("the content must be served over HTTPS", [.cleartextOwnRule], mixed, fix: "load it over https"),
        // What checks of the app write that pin.
        row("Pin validation failed for", [.trustRefusedByDelegate], pinned, fix: pins),
        row("SSL Pin not found for", [.trustRefusedByDelegate], pinned, fix: pins),
        row("certificatePinningFailed", [.trustRefusedByDelegate], pinned, fix: pins),
        row("noRequiredEvaluator", [.trustRefusedByDelegate], evaluator, fix: evaluators),
        row("A ServerTrustEvaluating value is required", [.trustRefusedByDelegate], evaluator, fix: evaluators),
        row(
            "TrustKit was initialized with", [.trustRefusedByDelegate],
            "TrustKit's own configuration is wrong: it asks for two pins or more, each SHA-256 of a public key in base64.",
            fix: pins),
        row("publicKeyPinningFailed", [.trustRefusedByDelegate], pinned, fix: pins),
        row("TSKTrustEvaluationFailedNoMatchingPin", [.trustRefusedByDelegate], pinned, fix: pins),
        row("TSKTrustEvaluationFailedInvalidCertificateChain", refusals),
        // Starscream and SocketRocket, the latter under -1205.
        row("Invalid SSL certificate", [.trustRefusedByDelegate, .trustUnknownRoot], webSocket, fix: pins),
        row("Invalid server certificate", [.trustRefusedByDelegate, .trustUnknownRoot], webSocket, fix: pins),
        row("CertificateNotVerifiedException", [.trustRefusedByDelegate], plugin, fix: pins),
        row("CONNECTION_NOT_SECURE", [.trustRefusedByDelegate], plugin, fix: pins),
        // MailCore, Realm and Couchbase Lite, which have sockets of their own and let the system judge.
        row("MCOErrorDomain Code=4 ", refusals), row("SSL handshake failed: invalid certificate chain", refusals),
        row(
            "Server has self-signed or unknown root SSL certificate",
            [.trustSelfSigned, .trustUnknownRoot, .trustMissingIntermediate]),
        row("SSL cert is not trustworthy", refusals),
        row(
            "server SSL certificate failed to verify", [.trustUnknownRoot, .trustMissingIntermediate],
            "Xcode refused the certificate of <host> when it fetched a package, often that of a company's proxy which reads TLS. The app and its ATS have no part in it.",
            fix:
                "trust the proxy's root in the keychain of the Mac, or fetch with git (xcodebuild -scmProvider system) and give git the root (http.sslCAInfo)"
        ),
        row("hostValidationFailed(", [.trustWrongHost]), row("defaultEvaluationFailed(", refusals),
        row(
            "No certificates were found or provided for evaluation", [.trustRefusedByDelegate],
            "The app's own check found no certificate to compare with: the .cer file is not in the app's bundle (Copy Bundle Resources), or it is not DER.",
            fix: "add the certificate as DER to the app's bundle"
        ),
        row(
            "No public keys were found or provided for evaluation", [.trustRefusedByDelegate],
            "The app's own check found no key to compare with: the .cer file is not in the app's bundle (Copy Bundle Resources), or it is not DER.",
            fix: "add the certificate as DER to the app's bundle"
        ),
        // Security's own words for what a policy refuses, and its sentences for them (SecFrameworkStrings.h).
        row("SSLHostname", [.trustWrongHost]), row("SSL hostname does not match name(s)", [.trustWrongHost]),
        row("Certificate exceeds maximum temporal validity", [.trustValidityTooLong]),
        row("Extended key usage does not match certificate usage", [.trustWrongKeyUsage]),
        row("Key usage does not match certificate usage", [.trustWrongKeyUsage]),
        row("Certificate is using a broken key size", [.trustWeakKey]),
        row("Key size is not permitted for this use", [.trustWeakKey]),
        row("Certificate is using a broken signature algorithm", [.trustWeakSignature]),
        row("Signature hash algorithm is not permitted for this use", [.trustWeakSignature]),
        row("Certificate is not temporally valid", [.trustExpired]),
        row("Root is not temporally valid", [.trustExpired]),
        row("possible missing intermediate", [.trustMissingIntermediate, .trustUnknownRoot]),
        row("Certificate Transparency validation required", [.ctMissing]),
        row("Public key does not match pinned value", [.trustPinMismatch]),
        row("certificates do not meet pinning requirements", [.trustPinMismatch]),
        row("Name constraints violated", [.trustNameConstraints]), row("Certificate is blocked", [.trustRevoked]),
        row("Root is not trusted", [.trustUnknownRoot, .trustSelfSigned]),
        row("ValidityPeriodMaximums", [.trustValidityTooLong]), row("TemporalValidity", [.trustExpired]),
        row("SystemTrustedCTRequired", [.ctMissing]), row("MissingIntermediate", [.trustMissingIntermediate]),
        row("ServerAuthEKU", [.trustWrongKeyUsage]), row("WeakKeySize", [.trustWeakKey]),
        row("WeakSignature", [.trustWeakSignature]), row("BlackListedLeaf", [.trustRevoked]),
        row("NameConstraints", [.trustNameConstraints]), row("AnchorTrusted", [.trustUnknownRoot]),
        row("ExtendedKeyUsage", [.trustWrongKeyUsage]),
        // What it says of the whole, and Keychain Access.
        row(
            "certificate name does not match input", [.trustWrongHost, .trustNoSubjectAlternativeName], namesOther: true
        ),
        row("certificate is expired", [.trustExpired]), row("certificate is revoked", [.trustRevoked]),
        row("(expired root)", [.trustExpired]),
        row("certificate is not permitted for this usage", [.trustWrongKeyUsage]),
        row("certificate was signed by an unknown authority", [.trustUnknownRoot]),
        row("certificate was signed by an untrusted issuer", [.trustUnknownRoot]),
        row("certificate has an invalid issuer", [.trustMissingIntermediate, .trustUnknownRoot]),
        row("root certificate is not trusted", [.trustUnknownRoot]),
        row("certificate is not trusted", [.trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate]),
        row(
            "certificate is not standards compliant",
            [.trustValidityTooLong, .trustWrongKeyUsage, .trustWeakKey, .trustWeakSignature]),
        row("CSSMERR_TP_NOT_TRUSTED", [.trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate]),
        row("signed certificate timestamps (SCTs) from approved logs", [.ctMissing]),
        row("CSSMERR_TP_CERT_EXPIRED", [.trustExpired]), row("CSSMERR_APPLETP_HOSTNAME_MISMATCH", [.trustWrongHost]),
        row(
            "WRONG_VERSION_NUMBER", [.netNotTLS],
            "<host> answers with something that is not TLS: plain HTTP on this port, or a proxy."),
        row("UNSUPPORTED_PROTOCOL", [.tlsVersionTooLow]),
        row(reset, [.netReset], "The connection to <host> was reset during the TLS handshake."),
        row("NSPOSIXErrorDomain Code=100", [.httpNoAnswer], frames, fix: upgrade),
        row("NSPOSIXErrorDomain:100", [.httpNoAnswer], frames, fix: upgrade),
        row("name: [upgrade], value: [h2", [.httpNoAnswer], frames, fix: upgrade),
        row("be completed. Protocol error", [.httpNoAnswer], frames, fix: upgrade),
        row("received bad response code from server", [.httpNoAnswer], opening, fix: status),
        row("Invalid HTTP upgrade", [.httpNoAnswer], opening, fix: status),
        row("handshake: Unexpected response code", [.httpNoAnswer], opening, fix: status),
        row("failed: Unexpected response code", [.httpNoAnswer], opening, fix: status),
        row("Channel shutdown due to tls negotiation timeout", [.netTimeout, .tlsLargeHello], negotiation),
        row(
            "Invalid Sec-WebSocket-Accept", [.httpNoAnswer],
            "What answered the opening of the WebSocket does not speak it: a proxy or another box in between, or the server; this is not ATS.",
            fix:
                "try from another network, and look whether the server computes Sec-WebSocket-Accept from the key of the request"
        ),
        row(
            "was not upgraded to websocket", [.httpNoAnswer],
            "The server answered the opening of the WebSocket, and did not go on to it: what is at this path speaks no WebSocket, asks for a login, or is behind a proxy that passes none; this is not ATS.",
            fix:
                "compare with `curl -i -H 'Upgrade: websocket' -H 'Connection: Upgrade' URL`: a server of WebSockets answers with status 101 or says what it misses"
        ),
        row(
            "Could not connect to development server", [.netRefused],
            "The app does not reach the development server (Metro) of React Native; this is not ATS.",
            fix:
                "start it, give a device the address of the computer in the same network, and allow the app in Settings > Privacy & Security > Local Network"
        ),
        // SecTrustResultType.recoverableTrustFailure in a plugin's words, and device management's for a trust that fails.
        row("trust policy failure which can be overridden", refusals),
        row(management[0], refusals), row(management[1], refusals),
        // App Check's client, where it does not say which DCError it got.
        row(
            "Failed to attest the validity of the generated cryptographic key", lostKey,
            "attestKey failed on the device, before App Check was asked: often the key is lost after a reinstallation, a restored backup or a move to another device. The text does not say which DCError it was.",
            fix: lostKeyFix),
        row(
            "Failed to create a block of data that demonstrates the legitimacy", lostKey,
            "generateAssertion failed on the device, before App Check was asked: often the key is lost after a reinstallation, a restored backup or a move to another device. The text does not say which DCError it was.",
            fix: lostKeyFix),
        // Who judged; the cause comes from the chain and the numbers.
        row(systemTrust, []), row(strict, []), row("system TLS Trust evaluation failed", []),
        row("default TLS Trust evaluation failed", []), row("TLS Trust encountered error", []),
        row("CERTIFICATE_VERIFY_FAILED:/", []), row("[ATS Violation]", []), row("error ATS violation", []),
    ]

    private static let negotiation =
        "The TLS handshake with <host> did not end in time. AWS's own stack (CRT) wrote this, of which ATS asks nothing: the first suspect is the network between."
    private static let opening =
        "The server answered the opening of a WebSocket with another status than 101; this is not ATS."
    private static let status =
        "look at the status: a redirect, an authorization that fails, or a proxy that does not pass Upgrade on"
    private static let refusals: [Code] = [
        .trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate, .trustWrongHost, .trustExpired,
    ]
    private static let lostKeyFix =
        "look for the DCError behind it (NSUnderlyingErrorKey); after serverUnavailable keep the key and try again later, after any other forget the key and make a new one, once"
    private static let lostKey: [Code] = [.deviceInvalidKey, .deviceInvalidInput, .deviceUnavailable, .deviceUnknown]

    private static let frames =
        "The answer of <host> breaks HTTP/2; this is not ATS. Often a server behind the proxy sends the header Upgrade: h2, which HTTP/2 forbids."
    private static let upgrade =
        "`curl --http2 -v URL` names the header; hide it in the proxy (nginx: proxy_hide_header Upgrade;), or switch HTTP/2 off there"
    private static let mixed =
        "The web view blocks mixed content: a page of https, or of a scheme of the app, may not load http, whatever ATS allows."
    private static let pinned =
        "The app's own check refused <host>: none of the keys or certificates that the app pins is in the chain."
    private static let webSocket =
        "The library of the WebSocket refused the certificate of <host>: it is not the one that the app pins, or its chain is not trusted. ATS asks nothing of sockets."
    private static let plugin =
        "The plugin http_certificate_pinning refused <host>: its certificate has none of the app's fingerprints. On iOS it says so of other failures too."
    private static let evaluator = "Alamofire's ServerTrustManager refused <host>: it has no evaluator for this host."
    private static let evaluators =
        "give ServerTrustManager an evaluator for the host, written as in the URL, or set allHostsMustBeEvaluated to false"
    private static let pins =
        "compare the app's pins with the keys that the server has now (`sealward ats pins HOST` prints them): a renewed certificate has another"

    /// Proxies of the system's settings, in the two ways in which an error is printed.
    private static let proxies: [LogPhrase] = ErrorNumber.cfNetworkErrors.flatMap { error in
        ["kCFErrorDomainCFNetwork Code=\(error.number) ", "kCFErrorDomainCFNetwork error \(error.number)."].map {
            LogPhrase(
                $0, .system, error.codes, error.sentence.uppercasedFirst + ".",
                fix: error.codes.first == .netRefused
                    ? "try without the proxy, and look at its settings on the device (Wi-Fi > HTTP Proxy) and at its log"
                    : nil
            )
        }
    }

    /// Numbers of SecTrust.
    private static let numbers: [LogPhrase] = ErrorNumber.securityErrors.map {
        LogPhrase(String($0.number), .system, $0.codes)
    }

    /// What an error of NSPOSIXErrorDomain says of itself, where its number was not copied, and a socket of CocoaAsyncSocket.
    private static let sockets: [LogPhrase] =
        [
            ("Connection refused", [Code.netRefused]), ("No route to host", [.netRefused]),
            ("Host is down", [.netRefused]), ("Connection reset by peer", [.netReset]),
            ("Socket is not connected", [.netClosed]), ("Software caused connection abort", [.netClosed]),
            ("Broken pipe", [.netClosed]), ("Operation timed out", [.netTimeout]), ("Network is down", [.netOffline]),
            ("Network is unreachable", [.netOffline]),
        ].map { row("be completed. \($0)", $1) } + [row("Socket closed by remote peer", [.netClosed])]

    /// Apple's sentences for numbers, where the number itself was not copied.
    private static let sentences: [LogPhrase] =
        ErrorNumber.urlErrors.filter { $0.sentence.hasSuffix(".") }.map { error in
            // The name of the host stands behind the first words of some.
            let words = error.sentence.hasPrefix("The server ") ? error.sentence.dropFirst(10) : error.sentence[...]
            return LogPhrase(String(words), .system, [], urlError: error.number)
        }
        + [
            // In two spellings of the apostrophe that stands before them.
            ("A TLS error caused the secure connection to fail", -1200), ("An SSL error has occurred", -1200),
            ("t establish a secure connection to the server", -1200), ("t find the server", -1003),
            ("unexpectedly dropped the connection", -1005), ("t connect to the server", -1004),
            ("the server stopped responding", -1001),
            // The number in words of the app's own.
            ("code: -1022", -1022), ("code -1022", -1022), ("code=-1022", -1022), ("error -1022", -1022),
            ("error: -1022", -1022), ("(-1022)", -1022),
            // Inspectors cut the middle out of a long sentence.
            ("could not be loaded because the App T", -1022),
        ].map { LogPhrase($0, .system, [], urlError: $1) }

    private static func row(
        _ words: String, _ codes: [Code], _ sentence: String? = nil, fix: String? = nil, namesOther: Bool = false
    ) -> LogPhrase {
        LogPhrase(words, .system, codes, sentence, fix: fix, namesOther: namesOther)
    }
}
