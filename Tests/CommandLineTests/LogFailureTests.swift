// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import sealward

/// `failures` of `sealward ats log`: one failure for each load, with its cause, whatever program wrote the log.
@Suite struct LogFailureTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// In this process, because a program for each of these texts takes ten times as long.
    private func log(_ text: String, _ format: String) async throws -> (status: Int32, output: String) {
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: folder.path("log")))
        let run = await CommandCapture.run(["ats", "log", folder.path("log"), "--format", format])
        return (run.status, String(decoding: run.output, as: UTF8.self))
    }

    /// - Parameter status: that of the command; nil for that of causes, or of none where there are no failures.
    private func failures(_ text: String, status: Int32? = nil) async throws -> [[String: Any]] {
        let run = try await log(text, "json")
        let json = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        let failures = try #require(json?["failures"] as? [[String: Any]], "\(run.output)")
        #expect(run.status == status ?? (failures.isEmpty ? 2 : 1), "\(failures)")
        return failures
    }

    /// `host kind first-code`, in the order of the report.
    private func summary(_ failures: [[String: Any]]) -> [String] {
        failures.map { failure in
            let codes = (failure["because"] as? [[String: Any]])?.compactMap { $0["code"] as? String } ?? []
            return "\(failure["host"] as? String ?? "-") \(failure["kind"] as? String ?? "-") \(codes.first ?? "-")"
        }
    }

    /// One line each, of every program whose logs are read. Lists outside the attribute, with their type: the compiler is faster.
    static let lines: [(String, String)] = [
        // Network and Sandbox
        (
            "Demo[812:40211] nw_endpoint_flow_failed_with_error [C1 192.168.0.12:8000 in_progress socket-flow (unsatisfied (Local network prohibited), interface: en0)]",
            "192.168.0.12 local-network ats.net.local-network-denied"
        ),
        (
            "NetServiceBrowser didNotSearch: NSNetServicesErrorCode = -72008",
            "- local-network ats.net.local-network-denied"
        ),
        ("Sandbox: mdworker(3648) deny network-outbound /private/var/run/mDNSResponder", "- sandbox ats.net.sandbox"),
        ("Sandbox: Demo(900) deny(1) network-outbound 192.0.2.1:443", "- sandbox ats.net.sandbox"),
        (
            "nw_socket_handle_socket_event [C1.1.1:2] Socket SO_ERROR [61: Connection refused]",
            "- network ats.net.refused"
        ),
        (
            "Fehler: Der Vorgang konnte nicht abgeschlossen werden. (NSURLErrorDomain-Fehler -1009.) https://a.example/",
            "a.example network ats.net.offline"
        ),
        ("操作が完了できませんでした。（NSURLErrorDomainエラー-1022）", "- ats ats.cleartext.blocked"),
        (
            "{\"code\":-1022,\"domain\":\"NSURLErrorDomain\",\"url\":\"http://a.example/x\"}",
            "a.example ats ats.cleartext.blocked"
        ),
        (
            "Error Domain=NSOSStatusErrorDomain Code=-67818 \"“a.example” ist abgelaufen\"",
            "a.example trust ats.trust.expired"
        ),
        ("Trust evaluate failure: [leaf SSLHostname]", "- trust ats.trust.wrong-host"),
        ("TLS failed with error: -9808", "- trust ats.trust.unknown-root"),
        // Alerts
        (
            "boringssl_context_handle_fatal_alert(2091) [C1.1.1:2][0x15be] read alert, level: fatal, description: internal error",
            "- tls ats.tls.handshake-failed"
        ),
        (
            "[C4:1][0x1] write alert, level: fatal, description: certificate expired", "- trust ats.trust.expired"
        ),
        (
            "error:10000460:SSL routines:OPENSSL_internal:TLSV1_ALERT_PROTOCOL_VERSION:tls_record.cc",
            "- tls ats.tls.version-too-low"
        ),
        // Dart
        (
            "HandshakeException: Handshake error in client (OS Error:\n\tCERTIFICATE_VERIFY_FAILED: self signed certificate(handshake.cc:393))",
            "- not-apple ats.trust.self-signed"
        ),
        (
            "SocketException: Failed host lookup: 'a.example.com' (OS Error: nodename nor servname provided, or not known, errno = 8)",
            "a.example.com network ats.net.dns"
        ),
        (
            "SocketException: Connection refused (OS Error: Connection refused, errno = 61), address = a.example.com, port = 80",
            "a.example.com network ats.net.refused"
        ),
        (
            "SocketException: Connection failed (OS Error: Operation not permitted, errno = 1), address = a.example.com, port = 443",
            "a.example.com sandbox ats.net.sandbox"
        ),
        (
            "HttpException: Connection closed before full header was received, uri = https://a.example/login",
            "a.example network ats.net.closed"
        ),
        (
            "SocketException: Software caused connection abort (OS Error: Software caused connection abort, errno = 53), address = a.example, port = 51000",
            "a.example network ats.net.closed"
        ),
        ("WebException: Error: NameResolutionFailure", "- network ats.net.dns"),
        ("WebException: Error: TrustFailure (Authentication failed)", "- not-apple ats.trust.unknown-root"),
        ("WebException: Error: SecureChannelFailure", "- not-apple ats.tls.handshake-failed"),
        ("发生了 SSL错误，无法建立与该服务器的安全连接。", "- tls ats.tls.version-too-low"),
        ("TLS 错误导致安全连接失败", "- tls ats.tls.version-too-low"),
        // As a translator leaves it
        (
            "finished with error [-1200] Error Domain = NSURLErrorDomain Code = -1200 \"x\" UserInfo = {_ kCFStreamErrorCodeKey = -9816, NSErrorFailingURLKey = https: //a.example/b}",
            "- network ats.net.closed"
        ),
        // Rust, Go, Python, curl
        (
            "error sending request for url (https://a.example/): error trying to connect: invalid peer certificate: UnknownIssuer",
            "a.example not-apple ats.trust.unknown-root"
        ),
        (
            "reqwest::Error { url: \"https://a.example/\", source: Custom { error: InvalidCertificate(Expired) } }",
            "a.example not-apple ats.trust.expired"
        ),
        (
            "invalid peer certificate: certificate not valid for name \"10.0.0.5\"; certificate is only valid for DnsName(\"localhost\")",
            "- not-apple ats.trust.wrong-host"
        ),
        ("received corrupt message of type InvalidContentType", "- network ats.net.not-tls"),
        (
            "Get \"https://192.168.1.5/\": tls: failed to verify certificate: x509: cannot validate certificate for 192.168.1.5 because it doesn't contain any IP SANs",
            "192.168.1.5 not-apple ats.trust.wrong-host"
        ),
        (
            "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: 268436502 error:10000416:SSL routines:OPENSSL_internal:SSLV3_ALERT_CERTIFICATE_UNKNOWN]))",
            "- trust ats.trust.unknown-root"
        ),
        ("NIOSSLExtraError: failedToValidateHostname Couldn't find <none>", "- not-apple ats.trust.wrong-host"),
        ("x509: certificate signed by unknown authority", "- not-apple ats.trust.unknown-root"),
        (
            "x509: certificate relies on legacy Common Name field, use SANs instead",
            "- not-apple ats.trust.no-subject-alternative-name"
        ),
        (
            "SSLError: HTTPSConnectionPool(host='a.example', port=443): Max retries exceeded (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer certificate (_ssl.c:1129)')))",
            "a.example not-apple ats.trust.missing-intermediate"
        ),
        (
            "curl: (35) LibreSSL SSL_connect: SSL_ERROR_SYSCALL in connection to a.example:443",
            "a.example network ats.net.reset"
        ),
        // .NET, Unity, Electron, Node
        (
            "AuthenticationException: The remote certificate is invalid because of errors in the certificate chain: NotTimeValid",
            "- not-apple ats.trust.expired"
        ),
        ("Curl error 60: Cert verify failed: UNITYTLS_X509VERIFY_FLAG_CN_MISMATCH", "- not-apple ats.trust.wrong-host"),
        ("InvalidOperationException: Insecure connection not allowed", "- not-apple ats.cleartext.own-rule"),
        (
            "Failed to load URL: https://a.example/ with error: ERR_CERT_DATE_INVALID",
            "a.example not-apple ats.trust.expired"
        ),
        (
            "ERROR:ssl_client_socket_impl.cc(996)] handshake failed; returned -1, net_error -201",
            "- not-apple ats.trust.expired"
        ),
        ("Error: getaddrinfo ENOTFOUND a.example.com", "a.example.com network ats.net.dns"),
        // Sentences of the system without a number, and its own words for what SecTrust refuses
        (
            "An SSL error has occurred and a secure connection to the server cannot be made.",
            "- tls ats.tls.version-too-low"
        ),
        ("Error: Could not connect to the server.", "- network ats.net.refused"),
        (
            "The certificate for this server is invalid. You might be connecting to a server that is pretending to be “a.example.com” which could put your confidential information at risk.",
            "a.example.com trust ats.trust.unknown-root"
        ),
        (
            "Server trust evaluation failed due to reason: SecTrust evaluation failed with error: “*.example.org” certificate name does not match input",
            "- trust ats.trust.wrong-host"
        ),
        (
            "Error Domain=NSOSStatusErrorDomain Code=-67901 \"“dev.example” certificate is not standards compliant\"",
            "dev.example trust ats.trust.validity-too-long"
        ),
        ("Certificate 0 “a” has errors: Root is not trusted;", "- trust ats.trust.unknown-root"),
        (
            "Server trust evaluation failed due to reason: A ServerTrustEvaluating value is required for host a.example but none was found.",
            "a.example network ats.trust.refused-by-delegate"
        ),
        (
            "Error {message: \"The resource could not be loaded because the App T\u{2026}y policy requires the use of a secure connection.\"}",
            "- ats ats.cleartext.blocked"
        ),
        (
            "Safari can\u{2019}t open the page because the server unexpectedly dropped the connection.",
            "- network ats.net.reset"
        ),
        ("=== TrustKit: Pin validation failed for a.example", "a.example network ats.trust.refused-by-delegate"),
        (
            "The page at capacitor://localhost was not allowed to run insecure content from http://192.168.1.5:8080/api.",
            "192.168.1.5 network ats.cleartext.own-rule"
        ),
        ("The operation couldn’t be completed. (kCFErrorDomainCFNetwork error 310.)", "- network ats.net.refused"),
        ("Error Domain=kCFStreamErrorDomainSSL Code=-9807 \"x\"", "- trust ats.trust.unknown-root"),
        // Bonjour, and Network's own errors
        (
            "nw_browser_fail_on_dns_error_locked [B1] DNSServiceBrowse failed: PolicyDenied(-65570)",
            "- local-network ats.net.local-network-denied"
        ),
        ("(Network.NWError error 61 - Connection refused)", "- network ats.net.refused"),
        ("(Network.NWError error -9807 - invalid certificate chain)", "- trust ats.trust.unknown-root"),
        ("The operation couldn’t be completed. (kCFErrorDomainCFNetwork error 303.)", "- network ats.http.no-answer"),
        (
            "Error Domain=NSPOSIXErrorDomain Code=100 \"Protocol error\" UserInfo={_kCFStreamErrorCodeKey=100, _kCFStreamErrorDomainKey=1, NSErrorFailingURLKey=https://a.example/}",
            "a.example network ats.http.no-answer"
        ),
        (
            "Failed to load resource: The operation couldn’t be completed. Protocol error",
            "- network ats.http.no-answer"
        ),
        // Players: the error of the load beneath decides, then what the player says of the answer
        (
            "Error Domain=AVFoundationErrorDomain Code=-11800 \"The operation could not be completed\" UserInfo={NSLocalizedFailureReason=An unknown error occurred (-1022), NSUnderlyingError=0x281 {Error Domain=NSOSStatusErrorDomain Code=-1022 \"(null)\"}}",
            "- ats ats.cleartext.blocked"
        ),
        (
            "PlatformException(VideoError, Failed to load video: The operation couldn’t be completed. (kCFErrorDomainCFNetwork error -1022.), null, null)",
            "- ats ats.cleartext.blocked"
        ),
        (
            "Error Domain=AVFoundationErrorDomain Code=-11850 \"Operation Stopped\" UserInfo={NSUnderlyingError=0x1 {Error Domain=CoreMediaErrorDomain Code=-12939 \"byte range and no content length - error code is 200\"}}",
            "- network ats.http.media"
        ),
        (
            "{\"error\": {\"code\": -11850, \"domain\": \"AVFoundationErrorDomain\"}, \"target\": 4792}",
            "- network ats.http.media"
        ),
        (
            "{\n  \"error\": {\n    \"code\": -11828,\n    \"domain\": \"AVFoundationErrorDomain\"\n  }\n}",
            "- network ats.http.media"
        ),
        (
            "(CoreMediaErrorDomain error -12938.)", "- network ats.http.media"
        ),
        (
            "Error Domain=AVFoundationErrorDomain Code=-11800 \"x\" UserInfo={NSUnderlyingError=0x1 {Error Domain=NSPOSIXErrorDomain Code=54 \"Connection reset by peer\"}}",
            "- network ats.net.reset"
        ),
        // Rules of web pages
        (
            "Origin capacitor://localhost is not allowed by Access-Control-Allow-Origin. Status code: 200",
            "- network ats.http.web-rule"
        ),
        ("Origin http://localhost:3000 is not allowed by Access-Control-Allow-Origin.", "- network ats.http.web-rule"),
        (
            "[Error] Fetch API cannot load https://a.example/api due to access control checks.\n[Error] Failed to load resource: A server with the specified hostname could not be found.",
            "a.example network ats.net.dns"
        ),
        (
            "Access to fetch at 'https://a.example/x' from origin 'http://localhost:8100' has been blocked by CORS policy",
            "a.example network ats.http.web-rule"
        ),
        (
            "Error Domain=WebKitErrorDomain Code=102 \"Frame load interrupted\" UserInfo={NSErrorFailingURLKey=https://a.example/}",
            "a.example network ats.http.web-rule"
        ),
        (
            "{\"Domain\":\"WebKitErrorDomain\",\"Description\":\"Frame load interrupted\",\"Code\":102}",
            "- network ats.http.web-rule"
        ),
        // The other side: proxies that read TLS, and servers, see the app refuse
        (
            "Client TLS handshake failed. The client does not trust the proxy's certificate for a.example (OpenSSL Error([('SSL routines', '', 'tlsv1 alert unknown ca')]))",
            "a.example trust ats.trust.unknown-root"
        ),
        ("SSLHandshake: Received fatal alert: unknown_ca", "- trust ats.trust.unknown-root"),
        (
            "http: TLS handshake error from 192.0.2.1:51416: remote error: tls: unknown certificate authority",
            "- trust ats.trust.unknown-root"
        ),
        (
            "SSL_do_handshake() failed (SSL: error:14094418:SSL routines:ssl3_read_bytes:tlsv1 alert unknown ca:SSL alert number 48) while SSL handshaking, client: 192.0.2.1, server: 0.0.0.0:443",
            "- trust ats.trust.unknown-root"
        ),
        (
            "http: TLS handshake error from 192.0.2.1:5141: tls: client offered only unsupported versions: [302 301]",
            "- tls ats.tls.version-too-low"
        ),
        (
            "SSL_do_handshake() failed (SSL: error:1417A0C1:SSL routines:tls_post_process_client_hello:no shared cipher) while SSL handshaking, client: 192.0.2.1",
            "- tls ats.tls.no-common-suite"
        ),
        (
            "Error: 1407:error:14094418:SSL routines:ssl3_read_bytes:tlsv1 alert unknown ca:../deps/openssl/ssl/s3_pkt.c:1472:SSL alert number 48",
            "- trust ats.trust.unknown-root"
        ),
        (
            "The client failed to negotiate a TLS connection to a.example:443: Received fatal alert: certificate_unknown",
            "a.example trust ats.trust.unknown-root"
        ),
        (
            "OpenSSL Error: error:140890C7:SSL routines:SSL3_GET_CLIENT_CERTIFICATE:peer did not return a certificate",
            "- tls ats.tls.client-certificate-required"
        ),
        (
            "TLSv1.2 Record Layer: Alert (Level: Fatal, Description: Certificate Unknown)",
            "- trust ats.trust.unknown-root"
        ),
        (
            "TLSv1.2 Record Layer: Alert (Level: Fatal, Description: Protocol Version)",
            "- tls ats.tls.version-too-low"
        ),
        // Other programs that load the same
        (
            "SSL_connect returned=1 errno=0 state=SSLv3 read server hello A: sslv3 alert handshake failure (OpenSSL::SSL::SSLError)",
            "- tls ats.tls.no-forward-secrecy"
        ),
        ("SSL_connect SYSCALL returned=5 errno=0 state=SSLv3 read server hello A", "- network ats.net.reset"),
        (
            "curl: (60) Peer's Certificate issuer is not recognized. SEC_ERROR_UNKNOWN_ISSUER",
            "- not-apple ats.trust.unknown-root"
        ),
        ("  Unable to locally verify the issuer's authority.", "- not-apple ats.trust.missing-intermediate"),
        (
            "* http2 error: Invalid HTTP header field was received: frame type: 1, stream: 1, name: [upgrade], value: [h2,h2c]",
            "- network ats.http.no-answer"
        ),
        (
            "Error Domain=SRWebSocketErrorDomain Code=2132 \"received bad response code from server 403\"",
            "- network ats.http.no-answer"
        ),
        (
            "sslError: {code: 5, message: Indicates a trust policy failure which can be overridden by the user.}",
            "- trust ats.trust.unknown-root"
        ),
        (
            "Desc   : The server certificate for “https://mdm.a.example/enroll” is invalid.",
            "mdm.a.example trust ats.trust.unknown-root"
        ),
        (
            "LogHttp: Warning: request failed, libcurl error: 60 (SSL peer certificate or SSH remote key was not OK)",
            "- not-apple ats.trust.unknown-root"
        ),
        (
            "LogHttp: Warning: request failed libcurl error: 77( x)\nlibcurl error: 6 (Couldn't resolve host name)",
            "- network ats.net.dns"
        ),
        ("flutter: Error: SSL peer certificate or SSH remote key was not OK", "- not-apple ats.trust.unknown-root"),
        ("SSL handshake failed: The certificate is self-signed, and untrusted", "- not-apple ats.trust.self-signed"),
        ("E 0:00:14:0222   _do_handshake: TLS handshake error: -9984", "- not-apple ats.trust.unknown-root"),
        ("Client SSL handshake failed - no cipher suites in common", "- tls ats.tls.no-common-suite"),
        (
            "handshakeFailed(NIOSSL.BoringSSLError.sslError([Error: EOF during handshake]))",
            "- trust ats.trust.unknown-root"
        ),
        ("Error code: -1022 (App Transport Security)", "- ats ats.cleartext.blocked"),
        (
            "[blocked] The page at https://app.example/ was not allowed to display insecure content from http://a.example/a.png.",
            "a.example network ats.cleartext.own-rule"
        ),
        ("curl: (35) error:1408F10B:SSL routines:ssl3_get_record:wrong version number", "- network ats.net.not-tls"),
        ("error:140770FC:SSL routines:SSL23_GET_SERVER_HELLO:unknown protocol", "- network ats.net.not-tls"),
        ("Received fatal alert: protocol_version", "- tls ats.tls.version-too-low"),
        (
            "ssl.SSLError: [SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert protocol version (_ssl.c:1129)",
            "- tls ats.tls.version-too-low"
        ),
        ("error: Optional(-9807: Optional(invalid certificate chain))", "- trust ats.trust.unknown-root"),
        ("<title>400 No required SSL certificate was sent</title>", "- tls ats.tls.client-certificate-required"),
        // Older words, and those of WebKit
        (
            "Application Transport Security has blocked a cleartext HTTP (http://) resource load since it is insecure.",
            "- ats ats.cleartext.blocked"
        ),
        (
            "[pageID=8, frameID=4294967297, resourceID=57 SubResourceLoader::didFail: (type=1, code=-1022)",
            "- ats ats.cleartext.blocked"
        ),
        // One error on several lines
        ("Domain: kCFStreamErrorDomainSSL\nCode: -9843\nUserInfo: {\n}", "- trust ats.trust.wrong-host"),
        (
            "{ domain: 'NSURLErrorDomain',\n  localizedFailureReason: '',\n  code: -1022 },",
            "- ats ats.cleartext.blocked"
        ),
        ("{\n  \"code\": -1004,\n  \"domain\": \"NSURLErrorDomain\"\n}", "- network ats.net.refused"),
        (
            "{\n  \"domain\": \"NSURLErrorDomain\",\n  \"code\": -1004\n}", "- network ats.net.refused"
        ),
        // Archives of requests
        (
            "{\n \"log\": {\n  \"entries\": [\n   {\"request\": {\"method\": \"GET\", \"url\": \"https://a.example/x\"},\n    \"response\": {\"status\": 0, \"_error\": \"net::ERR_CERT_AUTHORITY_INVALID\"}}\n  ]\n }\n}",
            "a.example not-apple ats.trust.unknown-root"
        ),
        (
            #"{"log":{"entries":[{"request":{"url":"https://b.example/"},"response":{"status":200}},{"request":{"url":"http://a.example/"},"response":{"_error":"The resource could not be loaded because the App Transport Security policy requires the use of a secure connection."}}]}}"#,
            "a.example ats ats.cleartext.blocked"
        ),
        // Colours, quotation and numbers of lines
        ("\u{1B}[31mNSURLErrorDomain Code=\u{1B}[1m-1022\u{1B}[0m", "- ats ats.cleartext.blocked"),
        (
            "> Task <A>.<1> finished with error [-1202] Error Domain=NSURLErrorDomain Code=-1202 \"x\" UserInfo={NSErrorPeerCertificateChainKey=(\n>     \"<cert(0x7f) s: self.example i: self.example>\"\n> ), NSErrorFailingURLKey=https://self.example/, _kCFStreamErrorCodeKey=-9807}",
            "self.example trust ats.trust.self-signed"
        ),
        ("  12 | NSURLErrorDomain Code=-1022", "- ats ats.cleartext.blocked"),
        // The app ended the load itself
        (
            "Error Domain=NSURLErrorDomain Code=-999 \"cancelled\" UserInfo={NSErrorFailingURLKey=https://pinned.example/}",
            "pinned.example network ats.trust.refused-by-delegate"
        ),
        // OpenSSL's tools and Android
        ("verify error:num=20:unable to get local issuer certificate", "- not-apple ats.trust.missing-intermediate"),
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)",
            "- not-apple ats.trust.self-signed"
        ),
        (
            "java.security.cert.CertPathValidatorException: Trust anchor for certification path not found.",
            "- not-apple ats.trust.unknown-root"
        ),
        ("java.security.cert.CertPathValidatorException: validity check failed", "- not-apple ats.trust.expired"),
        // App Attest and App Check
        (
            "The operation couldn’t be completed. (com.apple.devicecheck.error error 3.)",
            "- app-attest attest.device.invalid-key"
        ),
        ("Error Domain=com.apple.devicecheck.error Code=4 \"(null)\"", "- app-attest attest.device.server-unavailable"),
        ("DCError.featureUnsupported", "- app-attest attest.device.feature-unsupported"),
        (
            "[AppCheck] URL: https://firebaseappcheck.googleapis.com/v1/x - HTTP status code: 403",
            "- app-attest attest.app-check.refused"
        ),
        ("    \"message\": \"App attestation failed.\",", "- app-attest attest.app-check.refused"),
        ("[Error: [appCheck/token-error] Too many attempts.]", "- app-attest attest.app-check.refused"),
        ("    message = \"Firebase App Check token is invalid.\";", "- app-attest attest.app-check.refused"),
        (
            "The attestation provider AppAttestProvider is not supported on current platform and OS version.",
            "- app-attest attest.device.feature-unsupported"
        ),
        (
            "Failed to attest the validity of the generated cryptographic key (`attestKey:clientDataHash:completionHandler:`); keyId.length = 44",
            "- app-attest attest.device.invalid-key"
        ),
        (
            "Failed to create a block of data that demonstrates the legitimacy of the app instance (`generateAssertion:`); DCErrorInvalidInput",
            "- app-attest attest.device.invalid-input"
        ),
        ("Error Domain=DCErrorDomain Code=2", "- app-attest attest.device.invalid-input"),
        ("Decoding App Check token failed. Make sure you passed a token.", "- app-attest attest.app-check.refused"),
        (
            "AppCheckError: The provided App Check token has incorrect \"aud\" claim.",
            "- app-attest attest.app-check.refused"
        ),
        (
            "FirebaseAppCheckError: Error fetching Json Web Keys: Too Many Requests",
            "- app-attest attest.app-check.unavailable"
        ),
        (
            "AppCheck: Requests throttled due to 403 error. Attempts allowed again after 24h:00m:00s (appCheck/throttled).",
            "- app-attest attest.app-check.refused"
        ),
        ("App check failed: invalid_token (Could not parse token.)", "- app-attest attest.app-check.refused"),
        (
            "AppCheck failed: 'Too many attempts. Underlying error: The server responded with an error:\n - HTTP status code: 400\n - Response body: {\n  \"message\": \"App not registered: 1:26:ios:48.\"",
            "- app-attest attest.app-check.stopped"
        ),
        (
            "W/StorageUtil(28897): Error getting App Check token; using placeholder token instead. Error: com.google.firebase.FirebaseException: No AppCheckProvider installed.",
            "- app-attest attest.app-check.missing"
        ),
        ("AppCheck: ReCAPTCHA error. (appCheck/recaptcha-error).", "- app-attest attest.app-check.refused"),
        (
            #"{"message":"Callable request verification passed","verifications":{"app":"INVALID","auth":"VALID"}}"#,
            "- app-attest attest.app-check.refused"
        ),
        // Google's gateway refused the key or the project, and no proof was looked at.
        (
            "URL: https://firebaseappcheck.googleapis.com/v1/x - HTTP status code: 403 - Requests to this API firebaseappcheck.googleapis.com method google.firebase.appcheck.v1.TokenExchangeService.ExchangeAppAttestAttestation are blocked.",
            "- app-attest attest.app-check.stopped"
        ),
        (
            "status code: 403: Firebase App Check API has not been used in project 1 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/firebaseappcheck.googleapis.com/overview?project=1",
            "- app-attest attest.app-check.stopped"
        ),
    ]

    @Test(arguments: lines)
    func eachFormIsRead(_ text: String, _ expected: String) async throws {
        let found = try await failures(text)
        #expect(summary(found) == [expected], "\(found)")
        for failure in found {
            #expect((failure["fix"] as? [String])?.isEmpty == false || (failure["next"] as? [String])?.isEmpty == false)
            #expect((failure["quote"] as? String)?.isEmpty == false)
        }
    }

    /// App Attest is no load, and what a number means that Apple documents nowhere is not known.
    @Test func aNumberOfAppAttestThatNobodyDocuments() throws {
        let error = "Error Domain=com.apple.devicecheck.error Code=5 \"(null)\"\n"
        let run = try ProgramRun(["ats", "log", "-"], input: error)
        #expect(run.status == 2 && run.output.hasPrefix("App Attest failed with a number"), "\(run.output)")
        let known = try ProgramRun(["ats", "log", "-"], input: error.replacingOccurrences(of: "=5", with: "=3"))
        #expect(known.status == 1 && known.output.hasPrefix("App Attest or App Check failed"), "\(known.output)")
    }

    /// The client's sentence does not name the DCError: the line that does is the whole answer, and only that one's advice is right.
    @Test func aSentenceBesideItsErrorIsOneFailure() async throws {
        let sentence = "Message: Failed to attest the validity of the generated cryptographic key."
        for (error, code) in [
            ("Error: DCErrorServerUnavailable", "server-unavailable"), ("Error: DCErrorInvalidKey", "invalid-key"),
        ] {
            let found = try await failures("\(error)\nAttempts: 4\n\(sentence)\n")
            #expect(summary(found) == ["- app-attest attest.device.\(code)"], "\(found)")
        }
        let alone = try await failures(sentence)
        #expect((alone.first?["fix"] as? [String])?.first?.contains("after serverUnavailable keep the key") == true)
    }

    @Test(
        "Words that say only that a load failed are no cause, say what to look for, and give way to a line that has one",
        arguments: [
            "TypeError: Network request failed", "[AxiosError: Network Error]",
            "{\"message\":\"Network Error\",\"name\":\"AxiosError\",\"code\":\"ERR_NETWORK\"}",
            "TypeError: Load failed",
            "TypeError: Failed to fetch", "TypeError: fetch failed",
            "Error Domain=NSCocoaErrorDomain Code=3840 \"Invalid value around character 0.\"",
            "Error Domain=com.alamofire.error.serialization.response Code=-1016 \"Request failed: unacceptable content-type: text/html\"",
            "ClientException: XMLHttpRequest error., uri=https://a.example/",
            "{ error: { domain: 'AVFoundationErrorDomain', code: -11800 },",
            "Error Domain=CoreMediaErrorDomain Code=-15622 \"See -[AVPlayerItem errorLog] for 43 events\"",
            "PlatformException(VideoError, Failed to load video: Operation Stopped, null)",
            "XMLHttpRequest cannot load http://192.168.1.5:8080/api due to access control checks.",
            "Http failure response for http://192.168.1.5:3000/api: 0 Unknown Error",
            "error sending request for url (https://api.example.com/): client error (Connect)",
        ])
    func wordsWithoutACause(_ text: String) async throws {
        let found = try await failures(text, status: 2)
        #expect(found.count == 1 && found.first?["certain"] as? Bool == false, "\(found)")
        #expect(summary(found).first?.hasSuffix("network ats.log.cause-not-said") == true, "\(found)")
        #expect((found.first?["fix"] as? [String])?.first?.contains("-1022 is ATS") == true, "\(found)")
        let page = try await log(text, "text").output
        let said = page.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(said.contains("nothing here says why") && !said.contains("no key of"), "\(page)")
        let blocked =
            "App Transport Security has blocked a cleartext HTTP connection to plain.example since it is insecure."
        // A file that begins like one of JSON is one.
        let isJSON = text.hasPrefix("{\"")
        for both in (isJSON ? [] : [text + "\n" + blocked]) + [blocked + "\n" + text] {
            #expect(try await summary(failures(both)) == ["plain.example ats ats.cleartext.blocked"], "\(both)")
        }
        let doctor = try ProgramRun(["doctor", "--format", "json", "-"], input: text)
        #expect(doctor.status == 2 && doctor.output.contains("ats.log.cause-not-said"), "\(doctor.output)")
    }

    @Test(
        "What .NET and Android say of one exception is one failure",
        arguments: [
            """
            System.Net.Http.HttpRequestException: The SSL connection could not be established, see inner exception.
             ---> System.Security.Authentication.AuthenticationException: Authentication failed, see inner exception.
             ---> Interop+AndroidCrypto+SslException: Exception of type 'Interop+AndroidCrypto+SslException' was thrown.
            """,
            """
            Javax.Net.Ssl.SSLHandshakeException: java.security.cert.CertPathValidatorException: Trust anchor for certification path not found.
            \(String(repeating: "   at Java.Interop.JniEnvironment.CallVoidMethod()\n", count: 20))
              --- End of managed Javax.Net.Ssl.SSLHandshakeException stack trace ---
            \(String(repeating: "   at com.android.okhttp.internal.io.RealConnection.connectTls(RealConnection.java:196)\n", count: 20))
            Caused by: java.security.cert.CertPathValidatorException: Trust anchor for certification path not found.
            """,
        ])
    func oneExceptionIsOneFailure(_ text: String) async throws {
        #expect(try await summary(failures(text)) == ["- not-apple ats.trust.unknown-root"])
    }

    @Test("Each error of an array is one, with its own host; what stands in one error is not taken apart")
    func arraysOfErrors() async throws {
        func error(_ code: Int, _ url: String) -> String {
            #"{"code":\#(code),"domain":"NSURLErrorDomain","userInfo":{"a":[1],"NSErrorFailingURLStringKey":"\#(url)"}}"#
        }
        let two = [error(-1022, "http://a.example/]"), error(-1003, "https://b.example/")].joined(separator: ",")
        for text in ["[\(two)]", #"{"errors": [ \#(two)], "more": {}}"#] {
            #expect(
                try await summary(failures(text)).sorted() == [
                    "a.example ats ats.cleartext.blocked", "b.example network ats.net.dns",
                ])
        }
        let one = error(-1200, "https://a.example/").dropLast() + #","details":[{"x":1},{"y":2}]}"#
        #expect(try await summary(failures("[\(one)]")).count == 1)
    }

    @Test(
        "A host on a line of its own belongs to the error above or below it, and to no other",
        arguments: [
            (
                """
                I/flutter ( 12): Error: HandshakeException: Handshake error in client (OS Error:
                I/flutter ( 12): \tCERTIFICATE_VERIFY_FAILED: certificate has expired(handshake.cc:393))
                I/flutter ( 12): uri: https://a.example/v1
                """, "a.example not-apple ats.trust.expired"
            ),
            (
                "fail: Api[0]\n GET https://a.example/items failed\n System.Net.Http.HttpRequestException: The SSL connection could not be established, see inner exception.\n  ---> AuthenticationException: The remote certificate is invalid according to the validation procedure: RemoteCertificateNameMismatch",
                "a.example not-apple ats.trust.wrong-host"
            ),
            (
                "System.Net.Http.HttpRequestException: Connection refused (a.example:5001)\n ---> System.Net.Sockets.SocketException (61): Connection refused",
                "a.example network ats.net.refused"
            ),
            (
                "Foundation.NSErrorException: Error Domain=NSURLErrorDomain Code=-1202 \"x\"\n UserInfo={NSLocalizedDescription=x,\n NSErrorFailingURLStringKey=https://a.example/}",
                "a.example trust ats.trust.unknown-root"
            ),
            (
                "Non-secure network connections disabled in Player Settings\nInvalidOperationException: Insecure connection not allowed\nUrl: http://a.example/score",
                "a.example not-apple ats.cleartext.own-rule"
            ),
            // Done, too far away, or of a load that is known
            (
                "SocketException: Connection refused, errno = 61, address = a.example, port = 80\nuri: https://a.example/\nInvalidOperationException: Insecure connection not allowed",
                "a.example network ats.net.refused, - not-apple ats.cleartext.own-rule"
            ),
            (
                "GET https://b.example/logo.png 200\nInvalidOperationException: Insecure connection not allowed",
                "- not-apple ats.cleartext.own-rule"
            ),
            (
                "uri: https://b.example/\na\nb\nc\nInvalidOperationException: Insecure connection not allowed",
                "- not-apple ats.cleartext.own-rule"
            ),
            (
                "Demo[1:a] Task <A>.<1> finished with error [-1022] Error Domain=NSURLErrorDomain Code=-1022\nuri: https://b.example/",
                "- ats ats.cleartext.blocked"
            ),
        ])
    func hostsOnTheirOwnLines(_ text: String, _ expected: String) async throws {
        #expect(try await summary(failures(text)).joined(separator: ", ") == expected)
    }

    @Test("The place of a script of React Native is not where it loads from")
    func scriptsAreNoHosts() throws {
        let run = try ProgramRun(
            ["ats", "log", "-", "--format", "json"],
            input:
                "TypeError: Network request failed at onerror (http://localhost:8081/index.bundle?platform=ios:1:2)\n")
        #expect((run.json["failures"] as? [[String: Any]])?.first?["host"] is NSNull, "\(run.output)")
    }

    @Test("Lines of two loads that fail at once stay with their own load, by the number of the stream and the process")
    func linesAreJoined() async throws {
        let found = try await failures(
            """
            Demo[1:a] Connection 5: strict TLS Trust evaluation failed(-9802)
            Demo[1:a] Connection 6: received ECONNRESET with incomplete TLS handshake - generating errSSLClosedNoNotify
            Demo[1:a] Connection 6: encountered error(3:-9816)
            Other[2:b] Connection 5: system TLS Trust evaluation failed(-9802)
            Demo[1:a] Task <A>.<1> finished with error [-1200] Error Domain=NSURLErrorDomain Code=-1200 "x" UserInfo={NSErrorFailingURLKey=https://cut.example/, _kCFStreamErrorCodeKey=-9816}
            Demo[1:a] Task <B>.<1> finished with error [-1200] Error Domain=NSURLErrorDomain Code=-1200 "x" UserInfo={NSErrorFailingURLKey=https://strict.example/, _kCFStreamErrorCodeKey=-9802}
            """)
        let hosts = Dictionary(uniqueKeysWithValues: found.map { ($0["host"] as? String ?? "-", $0) })
        #expect((hosts["cut.example"]?["quote"] as? String)?.contains("ECONNRESET") == true, "\(found)")
        #expect((hosts["strict.example"]?["quote"] as? String)?.contains("strict TLS") == true, "\(found)")
        #expect(found.count == 2, "\(found)")
    }

    /// What a server does that has only old versions or suites: an exception made it load (forums.developer.apple.com/message/57669).
    @Test(arguments: [
        "Error Domain=NSURLErrorDomain Code=-1200 \"x\" UserInfo={_kCFStreamErrorCodeKey=-9806, NSErrorFailingURLKey=https://a.example/}",
        "[boringssl] boringssl_context_handle_fatal_alert(1991) [C1.1:2][0x1] read alert, level: fatal, description: close notify",
        "received ECONNRESET with incomplete TLS handshake - generating errSSLClosedNoNotify",
    ])
    func aCutHandshakeMayBeATS(_ line: String) throws {
        let text = try ProgramRun(["ats", "log", "-"], input: line).output
        #expect(text.contains("ats.net.") && text.contains("then an exception helps"), "\(text)")
        #expect(!text.contains("no key of NSAppTransportSecurity"), "\(text)")
    }

    /// ATS judges loads of URLs, and no sockets: where one is named, no exception is advised. One failure, whatever its lines name.
    @Test(arguments: [
        ("Error Domain=NSOSStatusErrorDomain Code=-9807 \"(null)\"", true),
        ("CFNetwork SSLHandshake failed (-9806)\nSocketStream write error [0x600000165040]: 3 -9806", true),
        (
            "boringssl_context_error_print(1862) ctx 0x6: OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:/BuildRoot/ssl\nerror: Optional(-9858: Optional(handshake failed))",
            true
        ),
        ("Error Domain=MCOErrorDomain Code=4 \"The certificate for this server is invalid.\"", true),
        (
            "CFNetwork SSLHandshake failed (-9807)\nError Domain=MCOErrorDomain Code=1 \"A stable connection to the server could not be established.\"",
            true
        ),
        ("NSURLSession/NSURLConnection HTTP load failed (kCFStreamErrorDomainSSL, -9807)", false),
        (
            "Error Domain=NSURLErrorDomain Code=-1202 UserInfo={NSUnderlyingError=0x1 {Error Domain=NSOSStatusErrorDomain Code=-9807}}",
            false
        ),
    ])
    func socketsAreNoMatterOfATS(_ lines: String, _ isSocket: Bool) throws {
        let text = try ProgramRun(["ats", "log", "-"], input: lines).output
        #expect(text.contains("no key of NSAppTransportSecurity changes this") == isSocket, "\(text)")
        #expect(text.contains("NSExceptionDomains") != isSocket, "\(text)")
        #expect(text.components(separatedBy: "    cause").count == 2, "\(text)")
    }

    /// Words of OpenSSL in the lines of a library that brings it: the advice is for that library. A quotation does not cut words.
    @Test(arguments: [
        (
            "E0509 12:01:50.737562000 123145499365376 ssl_transport_security.cc:1407] Handshake failed with fatal error SSL_ERROR_SSL: error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED.",
            "gRPC or SwiftNIO does TLS"
        ),
        (
            "Handshake error in client (OS Error: Certificate Verify Failed Application Verification Failure Handshake.cc:393)",
            "Dart (Flutter) does TLS"
        ),
        ("Curl error 60: Cert verify failed. Certificate has expired. UnityTls error code: 7", "Unity does TLS"),
    ])
    func theLibraryIsNamed(_ line: String, _ words: String) throws {
        let text = try ProgramRun(["ats", "log", "-"], input: line).output
        #expect(text.contains(words) && !text.contains("--cacert"), "\(text)")
        #expect(text.contains("log    \"\(line.prefix(20))") || text.contains("log    \"...routines:"), "\(text)")
    }

    /// A root that is installed brings no cipher suite and no pin.
    @Test(arguments: ["SEC_E_ALGORITHM_MISMATCH", "curl: (90) SSL: public key does not match pinned public key"])
    func rootsAreForWhomNoRootIsTrusted(_ line: String) throws {
        let text = try ProgramRun(["ats", "log", "-"], input: line).output
        #expect(text.contains("does TLS with a library of its own") && !text.contains("root of your own"), "\(text)")
    }

    @Test func aResetAloneDoesNotSayWhenItCame() throws {
        let text = try ProgramRun(
            ["ats", "log", "-"], input: "The operation could not be completed. Connection reset by peer"
        ).output
        #expect(text.contains("ats.net.reset") && !text.contains("handshake"), "\(text)")
    }

    @Test func flutterReadsTheDictionaryByItself() throws {
        let dart = "Bad state: Insecure HTTP is not allowed by platform: http://a.example/"
        let android = "Cleartext HTTP traffic to a.example not permitted"
        for (line, isOther) in [(dart, false), (android, true)] {
            let text = try ProgramRun(["ats", "log", "-"], input: line).output
            #expect(text.contains("ats.cleartext.own-rule"), "\(text)")
            #expect(text.contains("no key of NSAppTransportSecurity changes this") == isOther, "\(text)")
        }
    }

    /// A root that is installed does not make a certificate name another host.
    @Test func aWrongNameIsNoMatterOfRoots() async throws {
        let line = "NSURLConnection/CFURLConnection HTTP load failed (kCFStreamErrorDomainSSL, -9843)"
        let fix = try await failures(line).first?["fix"] as? [String] ?? []
        #expect(fix.contains { $0.contains("names this host") } && !fix.contains { $0.contains("root") }, "\(fix)")
    }

    @Test func aWebViewHasAKeyOfItsOwn() async throws {
        let line = "WebPageProxy::didFailProvisionalLoadForFrame: frameID=1, domain=NSURLErrorDomain, code=-1022"
        let fix = try await failures(line).first?["fix"] as? [String]
        #expect(fix?.contains { $0.contains("NSAllowsArbitraryLoadsInWebContent") } == true, "\(fix ?? [])")
    }

    @Test(
        "The number of cleartext for an https URL is a redirect, and the key that is named is one that counts for the host"
    )
    func whatPermitsCleartext() async throws {
        func failure(_ url: String) async throws -> [String: Any]? {
            try await failures("Error Domain=NSURLErrorDomain Code=-1022 \"x\" UserInfo={NSErrorFailingURLKey=\(url)}")
                .first
        }
        let found = try await failure("https://a.example/x")
        let redirected = try #require(found)
        #expect(summary([redirected]) == ["a.example ats ats.http.redirect-blocked"], "\(redirected)")
        for (host, key) in [
            ("a.example", "NSExceptionDomains > a.example"), ("192.168.1.5", "NSAllowsLocalNetworking"),
            ("100.64.1.2", "NSExceptionDomains > 100.64.0.0/10"), ("nas.local", "NSAllowsLocalNetworking"),
        ] {
            let fix = try await failure("http://\(host)/")?["fix"] as? [String]
            #expect(fix?.contains { $0.contains(key) } == true, "\(fix ?? [])")
        }
        let local = try await failure("http://192.168.1.5/")?["fix"] as? [String]
        #expect(local?.contains { $0.contains("> 192.168.1.5 >") } == false, "\(local ?? [])")
    }

    @Test("The computer's address of Android's emulator is named also where ATS blocks it")
    func theAddressOfTheEmulator() async throws {
        let found = try await failures(
            "Error Domain=NSURLErrorDomain Code=-1022 \"x\" UserInfo={NSErrorFailingURLKey=http://10.0.2.2:5000/}")
        let fix = found.first?["fix"] as? [String]
        #expect(fix?.contains { $0.contains("only in Android's emulator") } == true, "\(found)")
    }

    @Test("A load that the app cancelled is no answer where another failed")
    func cancelledLoadsAreNoise() async throws {
        let found = try await failures(
            """
            Error Domain=NSURLErrorDomain Code=-999 "cancelled" UserInfo={NSErrorFailingURLKey=https://old.example/}
            Error Domain=NSURLErrorDomain Code=-1022 "x" UserInfo={NSErrorFailingURLKey=http://plain.example/}
            """)
        #expect(summary(found) == ["plain.example ats ats.cleartext.blocked"], "\(found)")
    }

    @Test("Of several things that Security names none is left out, and a root that is not trusted decides")
    func allReasonsAreNamed() async throws {
        let found = try await failures(
            """
            Trust evaluate failure: [leaf AnchorTrusted SSLHostname]
            boringssl_session_errorlog(224) [C1:2] Error [ATS Violation]
            nw_connection [C1] reporting state cancelled error ATS violation
            Task <A>.<1> finished with error [-1200] Error Domain=NSURLErrorDomain Code=-1200 "x" UserInfo={NSErrorFailingURLKey=https://100.101.102.103:8443/}
            """)
        #expect(summary(found) == ["100.101.102.103 trust ats.trust.unknown-root"], "\(found)")
        let failure = try #require(found.first)
        let cause = (failure["because"] as? [[String: Any]])?.first?["message"] as? String
        #expect(cause?.contains("Besides, the certificate names other hosts") == true, "\(failure)")
        let fix = failure["fix"] as? [String] ?? []
        #expect(fix.contains("get a certificate that names this host"), "\(fix)")
        #expect(fix.contains { $0.contains("NSExceptionAllowsInsecureHTTPLoads") }, "\(fix)")
    }

    @Test func aChainInTheLogDecides() async throws {
        let found = try await failures(
            """
            Task <A>.<1> finished with error [-1202] Error Domain=NSURLErrorDomain Code=-1202 "x" UserInfo={NSErrorPeerCertificateChainKey=(
                "<cert(0x7f8b3b00a600) s: self.example i: self.example>"
            ), NSErrorFailingURLKey=https://self.example/, _kCFStreamErrorCodeKey=-9807}
            """)
        #expect(summary(found) == ["self.example trust ats.trust.self-signed"])
        #expect((found.first?["because"] as? [Any])?.count == 1)
    }

    private static func transcript(_ passing: [String], header: Bool = true) -> String {
        let names = [
            "ATS Default Connection", "Allow All Loads", "TLSv1.3", "TLSv1.2", "TLSv1.1", "TLSv1.0",
            "Disabling Perfect Forward Secrecy", "Disabling Perfect Forward Secrecy and Allowing Insecure HTTP",
        ]
        let rows = names.map { "---\n\($0)\nResult : \(passing.contains($0) ? "PASS" : "FAIL")\n---\n" }
        return "Starting ATS Diagnostics\n"
            + (header
                ? "Configuring ATS Info.plist keys and displaying the result of HTTPS loads to https://a.example/.\n"
                : "")
            + "Configuring TLS exceptions for a.example\n" + rows.joined(separator: "\n")
    }

    @Test(
        "Rows of nscurl are evidence",
        arguments: [
            (["Allow All Loads", "TLSv1.0"], "a.example tls ats.tls.version-too-low"),
            (
                [
                    "Allow All Loads", "Disabling Perfect Forward Secrecy",
                    "Disabling Perfect Forward Secrecy and Allowing Insecure HTTP",
                ],
                "a.example tls ats.tls.no-forward-secrecy"
            ),
            (
                ["Allow All Loads", "Disabling Perfect Forward Secrecy and Allowing Insecure HTTP"],
                "a.example trust ats.trust.unknown-root"
            ),
            ([], "a.example network ats.net.timeout"),
        ])
    func rowsOfNSCurl(_ passing: [String], _ expected: String) async throws {
        for header in [true, false] {
            let text = Self.transcript(passing, header: header)
            // As a page shows it, which has made rules and headings of the lines between.
            for text in [text, text.replacing("---\n", with: "").replacing("Result", with: "## Result")] {
                let found = try await failures(text)
                #expect(summary(found) == [expected], "\(found)")
            }
        }
    }

    @Test func aTranscriptThatPassesIsHealth() throws {
        let run = try ProgramRun(
            ["ats", "log", "-"], input: Self.transcript(["ATS Default Connection", "Allow All Loads"]))
        #expect(run.status == 0 && run.output.contains("under the default rules"), "\(run.output)")
    }
}
