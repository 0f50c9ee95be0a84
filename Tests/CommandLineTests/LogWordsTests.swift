// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// What libraries, other systems and other languages write, one line or a few for each: `sealward ats log` has one failure with its cause.
@Suite struct LogWordsTests {
    /// A text, and `host kind first-code`.
    static let lines: [(String, String)] = [
        // Windows, Mbed TLS, wget and more numbers of curl
        (
            "schannel: next InitializeSecurityContext failed: SEC_E_UNTRUSTED_ROOT (0x80090325) - The certificate chain was issued by an authority that is not trusted.",
            "- not-apple ats.trust.unknown-root"
        ),
        (
            "System.ComponentModel.Win32Exception (0x80090322): The target principal name is incorrect.",
            "- not-apple ats.trust.wrong-host"
        ),
        ("mbedtls_ssl_handshake returned -0x2700", "- not-apple ats.trust.unknown-root"),
        ("ssl_client: (-29184) SSL - An invalid SSL record was received", "- network ats.net.not-tls"),
        ("curl: (92) HTTP/2 stream 0 was not closed cleanly: PROTOCOL_ERROR (err 1)", "- network ats.http.no-answer"),
        ("curl: (77) error setting certificate verify locations:", "- not-apple ats.trust.unknown-root"),
        (
            "ERROR: cannot verify a.example's certificate, issued by \u{2018}CN=A\u{2019}:\n  Self-signed certificate encountered.\nTo connect to a.example insecurely, use `--no-check-certificate'.",
            "a.example not-apple ats.trust.self-signed"
        ),
        (
            "Connecting to a.example (a.example)|192.0.2.1|:443... failed: Connection refused.",
            "a.example network ats.net.refused"
        ),
        (
            "* Connected to a.example (192.0.2.1) port 443\n* SSL certificate problem: unable to get local issuer certificate",
            "a.example not-apple ats.trust.missing-intermediate"
        ),
        (
            "$ openssl s_client -connect a.example:8443 -showcerts\nverify error:num=18:self-signed certificate",
            "a.example not-apple ats.trust.self-signed"
        ),
        ("$ curl https://b.example/\nNSURLErrorDomain -1004", "- network ats.net.refused"),
        ("wget: unable to resolve host address \u{2018}a.example\u{2019}", "a.example network ats.net.dns"),
        // Network, Mono, WebSockets, Metro
        ("Connection 3 failed with error: -9807: invalid certificate chain", "- trust ats.trust.unknown-root"),
        ("waiting(-9836: bad protocol version)", "- tls ats.tls.version-too-low"),
        ("waiting(-65554: NoSuchRecord)", "- network ats.net.dns"),
        (
            "System.Net.WebException: Error: SecureChannelFailure ---> Mono.Security.Interface.TlsException: Unknown Secure Transport error `PeerProtocolVersion'.",
            "- tls ats.tls.version-too-low"
        ),
        (
            "WebSocket connection to 'wss://a.example/x' failed: The operation could not be completed. Socket is not connected",
            "a.example network ats.net.closed"
        ),
        (
            "Error Domain=SRWebSocketErrorDomain Code=2133 \"Invalid Sec-WebSocket-Accept response\"",
            "- network ats.http.no-answer"
        ),
        (
            "SocketException: Bad file descriptor (OS Error: Bad file descriptor, errno = 9), address = a.example, port = 5",
            "a.example network ats.net.closed"
        ),
        (
            "Error: Could not connect to development server.\nURL: http://192.168.0.10:8081/index.bundle?platform=ios",
            "- network ats.net.refused"
        ),
        (
            "[blocked] The page at https://app.example/ was not allowed to run insecure content from com.shop://localhost/a.js.",
            "- network ats.cleartext.own-rule"
        ),
        // Libraries of apps, sockets, and words of Node, Java, Ruby and Safari
        (
            "serverTrustEvaluationFailed(reason: Alamofire.AFError.ServerTrustFailureReason.defaultEvaluationFailed(output: Output(host: \"a.example\", trust: <SecTrustRef: 0x1>, status: -26276)))",
            "a.example trust ats.trust.unknown-root"
        ),
        ("NWError.tls(-9836)", "- tls ats.tls.version-too-low"),
        (
            "Error: Hostname/IP does not match certificate's altnames: Host: a.example. is not in the cert's altnames: DNS:b.example",
            "a.example not-apple ats.trust.wrong-host"
        ),
        (
            "javax.net.ssl.SSLHandshakeException: PKIX path building failed: unable to find valid certification path to requested target",
            "- not-apple ats.trust.unknown-root"
        ),
        (
            "SSL_connect returned=1 errno=0 state=error: certificate verify failed (unable to get certificate CRL)",
            "- not-apple ats.tls.handshake-failed"
        ),
        (
            "cURL error 60: SSL certificate problem: certificate has expired (see https://curl.haxx.se/libcurl/c/libcurl-errors.html) for https://a.example/api",
            "a.example not-apple ats.trust.expired"
        ),
        ("The operation could not be completed. No route to host", "- network ats.net.refused"),
        ("Error Domain=GCDAsyncSocketErrorDomain Code=7 \"Socket closed by remote peer\"", "- network ats.net.closed"),
        ("_handshake: TLS handshake error: -31232", "- not-apple ats.tls.handshake-failed"),
        (
            "Error: url not allowed on the configured scope: https://a.example/",
            "a.example network ats.http.web-rule"
        ),
        ("[Error] Not allowed to request resource", "- network ats.http.web-rule"),
        // Checks of the app, tools of developers, and a device that was not asked yet
        ("error: TSKTrustEvaluationFailedNoMatchingPin", "- network ats.trust.refused-by-delegate"),
        ("event error with data: [\u{201C}Invalid SSL certificate\u{201D}]", "- network ats.trust.refused-by-delegate"),
        (
            "Websocket failed: Error Domain=NSURLErrorDomain Code=-1205 \"Invalid server certificate.\"",
            "- network ats.trust.refused-by-delegate"
        ),
        // Mail, databases, Qt, and a plugin of Flutter
        (
            "Error Domain=MCOErrorDomain Code=4 \"The certificate for this server is invalid.\" UserInfo=0xb9b78f0 {}",
            "- trust ats.trust.unknown-root"
        ),
        (
            "Sync: Connection[1]: SSL handshake failed: Unknown SecureTransport error (-9807) (securetransport:-9807)",
            "- trust ats.trust.unknown-root"
        ),
        ("Sync: Connection[1]: SSL handshake failed: invalid certificate chain", "- trust ats.trust.unknown-root"),
        (
            "CouchbaseLite WS WARNING: TLS handshake failed: Server has self-signed or unknown root SSL certificate",
            "- trust ats.trust.unknown-root"
        ),
        (
            "qt.network.ssl: QSslSocket::connectToHostEncrypted: TLS initialization failed",
            "- not-apple ats.tls.handshake-failed"
        ),
        (
            "Error: CertificateNotVerifiedException: Connection is not secure",
            "- network ats.trust.refused-by-delegate"
        ),
        (
            "xcodebuild: error: Could not resolve package dependencies:\n  The server SSL certificate failed to verify.",
            "- trust ats.trust.unknown-root"
        ),
        (
            "kotlin.IllegalStateException: TLS sessions are not supported on Native platform.",
            "- not-apple ats.tls.handshake-failed"
        ),
        ("Error: net::ERR_CERT_INVALID", "- not-apple ats.trust.validity-too-long"),
        (
            "HandshakeException: Handshake error in client (OS Error:\n\tWRONG_VERSION_NUMBER(tls_record.cc:231))",
            "- network ats.net.not-tls"
        ),
        (
            "HandshakeException: Handshake error in client (OS Error:\n\tTLSV1_ALERT_PROTOCOL_VERSION(tls_record.cc:587))",
            "- tls ats.tls.version-too-low"
        ),
        (
            "finished with error [-1009] Error Domain=NSURLErrorDomain Code=-1009 UserInfo={NSErrorFailingURLKey=http://10.0.0.248:3000/}",
            "10.0.0.248 network ats.net.local-network-denied"
        ),
        (
            "Unable to evaluate certificate chain for server: The validity period in the certificate exceeds the maximum allowed. (-67901)",
            "- trust ats.trust.validity-too-long"
        ),
        (
            "WebSocket connection to 'wss://a.example/mqtt' failed: Error during WebSocket handshake: Unexpected response code: 400",
            "a.example network ats.http.no-answer"
        ),
        (
            "CRTError.crtError(AWSError(errorCode: 1067, errorMessage: Optional(\"Channel shutdown due to tls negotiation timeout\")))",
            "- network ats.net.timeout"
        ),
        (
            "Profile Installation Failed. The server certificate for \"https://mdm.a.example/enroll\" is invalid.",
            "mdm.a.example trust ats.trust.unknown-root"
        ),
        // Names that were taken out are no hosts
        ("NSURLErrorDomain -1004 https://x.com/", "x.com network ats.net.refused"),
        ("NSURLErrorDomain -1004 https://xxx.example.com/", "- network ats.net.refused"),
        ("NSURLErrorDomain -1004 http://192.168.x.x:3000/", "- network ats.net.refused"),
        ("NSURLErrorDomain -1004 NSErrorFailingURLKey=https://Hostname#1a2b3c4d:443/", "- network ats.net.refused"),
        ("NSURLErrorDomain -1004 NSErrorFailingURLKey=https://REDACTED/path", "- network ats.net.refused"),
        (
            "App Transport Security has blocked a cleartext HTTP connection to IPv4#12ab34cd since it is insecure.",
            "- ats ats.cleartext.blocked"
        ),
        // Apple's sentences in other languages
        (
            "App Transport Security ポリシーによってセキュアな接続の使用が必要とされているため、リソースを読み込めませんでした。",
            "- ats ats.cleartext.blocked"
        ),
        ("Es ist ein SSL-Fehler aufgetreten. Eine sichere Verbindung ...", "- tls ats.tls.version-too-low"),
        (
            "Le certificat de ce serveur n\u{2019}est pas valide. ... \u{AB}\u{A0}a.example\u{A0}\u{BB} ...",
            "a.example trust ats.trust.unknown-root"
        ),
        (
            "Сертификат этого сервера недействителен. ... \u{AB}a.example\u{BB} ...",
            "a.example trust ats.trust.unknown-root"
        ),
    ]

    @Test(arguments: lines)
    func eachIsRead(_ text: String, _ expected: String) throws {
        let run = try ProgramRun(["ats", "log", "-", "--format", "json"], input: text + "\n")
        let failures = try #require(run.json["failures"] as? [[String: Any]], "\(run.errors)")
        let found = failures.map { failure in
            let codes = (failure["because"] as? [[String: Any]])?.compactMap { $0["code"] as? String } ?? []
            return "\(failure["host"] as? String ?? "-") \(failure["kind"] as? String ?? "-") \(codes.first ?? "-")"
        }
        #expect(found == [expected] && run.status == 1, "\(run.output)")
    }

    /// Where the system itself is the client, no app has code or a dictionary that could accept a certificate.
    @Test(arguments: [
        "The server certificate for \u{201C}https://mdm.a.example/enroll\u{201D} is invalid.",
        "The server certificate for \"https://mdm.a.example/enroll\" is invalid.",
        "iPhone mdmclient[312]: Error Domain=NSURLErrorDomain Code=-1202 UserInfo={NSErrorFailingURLKey=https://mdm.a.example/}",
        "dmd: Error Domain=NSURLErrorDomain Code=-1200 UserInfo={NSErrorFailingURLKey=https://mdm.a.example/, _kCFStreamErrorCodeKey=-9807}",
        "iPhone profiled[7]: MC: Cannot install MDM. Error: Domain: MCInstallationErrorDomain NSURLErrorDomain -1202 https://mdm.a.example/",
    ])
    func deviceManagementHasNoDelegate(_ text: String) throws {
        for (line, isManagement) in [(text, true), ("NSURLErrorDomain -1202 https://mdm.a.example/", false)] {
            let run = try ProgramRun(["ats", "log", "-"], input: line + "\n")
            #expect(run.output.contains("device management itself") == isManagement, "\(run.output)")
            #expect(run.output.contains("NSExceptionDomains") != isManagement, "\(run.output)")
        }
    }

    /// Ordinary text that has the words or digits of an error.
    @Test(arguments: [
        "Установлено безопасное соединение с сервером", "이 서버의 인증서가 유효합니다", "Ein TLS-Fehler kann viele Ursachen haben",
        "La connexion Internet semble lente", "offset: -29184", "id 6F9619FF-8B86-D011-B42D-655381234567",
        "a certificate, issued by Let's Encrypt, is free",
    ])
    func ordinaryTextIsNoFailure(_ text: String) throws {
        let run = try ProgramRun(["ats", "log", "-"], input: text + "\n")
        #expect(run.status == 2 && run.output.contains("No failure of a load that is known"), "\(run.output)")
    }

    @Test(arguments: [
        #"{"message":"Failed to fetch","code":"x"}"#, #"{"message":"Load failed"}"#,
        #"FileTransferError {"code":3,"source":"http://files.example.com/a.pdf","http_status":0,"exception":null}"#,
    ])
    func noCauseIsSaid(_ text: String) throws {
        let run = try ProgramRun(["ats", "log", "-"], input: text + "\n")
        #expect(run.status == 2 && run.output.contains("nothing here says why"), "\(run.output)")
    }
}
