// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

extension LogFailureTests {
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
            "curl: (56) OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
            "- tls ats.tls.client-certificate-required"
        ),
        ("ssl.SSLEOFError: EOF occurred in violation of protocol (_ssl.c:997)", "- network ats.net.closed"),
        (
            "[SSL: UNSAFE_LEGACY_RENEGOTIATION_DISABLED] unsafe legacy renegotiation disabled (_ssl.c:1006)",
            "- not-apple ats.tls.handshake-failed"
        ),
        (
            "CommandError: Failed to fetch http://192.0.2.5:8081: The resource could not be loaded because the App Transport Security policy requires the use of a secure connection.",
            "192.0.2.5 ats ats.cleartext.blocked"
        ),
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
        (
            "[blocked] The page at https://app.example/ requested insecure content from http://a.example/a.png. This content was blocked and must be served over HTTPS.",
            "a.example network ats.cleartext.own-rule"
        ),
        (
            "Mixed Content: The page at 'https://app.example/' was loaded over HTTPS, but requested an insecure XMLHttpRequest endpoint 'http://a.example/x'. This request has been blocked; the content must be served over HTTPS.",
            "a.example network ats.cleartext.own-rule"
        ),
        (
            "nw_endpoint_flow_failed_with_error [C1.1.1 a.example:443 in_progress channel-flow (satisfied (Path is satisfied), viable)] already failing, returning\nConnection 1: encountered error(3:-9807)\nTask <A>.<1> HTTP load failed, 0/0 bytes (error code: -1202 [3:-9807])",
            "a.example trust ats.trust.unknown-root"
        ),
        (
            "boringssl_context_handle_fatal_alert(1991) [C12.1:2][0x7f] read alert, level: fatal, description: handshake failure\n[C12.1 a.example:443 failed channel-flow (satisfied)] event: flow:failed_connect",
            "a.example tls ats.tls.no-forward-secrecy"
        ),
        (
            "WebSocketException: Connection to 'https://a.example:443/socket.io/#' was not upgraded to websocket",
            "a.example network ats.http.no-answer"
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
        (
            #"{"code":"3","domain":"com.apple.devicecheck.error","message":"The operation could not be completed"}"#,
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
}
