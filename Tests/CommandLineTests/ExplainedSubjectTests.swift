// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import sealward

/// `sealward explain` of what people have: numbers, names and keys.
@Suite struct ExplainedSubjectTests {
    static let subjects: [([String], String)] = [
        (["-1022"], "NSURLErrorAppTransportSecurityRequiresSecureConnection"), (["9824"], "errSSLPeerHandshakeFail"),
        (["--", "-9802"], "errSSLFatalAlert"), (["-9808", "--format", "text"], "errSSLBadCert"),
        (["NSURLErrorDomain -1200"], "NSURLErrorSecureConnectionFailed"), (["-1200"], "ats.tls.large-hello"),
        (["-1200"], "ats.net.not-tls"), (["-1005"], "ats.http.no-answer"), (["-1001"], "ats.http.incomplete-answer"),
        (["-1022"], "redirects"),
        (["NSURLErrorDomain", "-1205"], "ClientCertificateRejected"),
        (["NSAllowsLocalNetworking"], "100.64.0.0/10"), (["com.apple.devicecheck.error 3"], "DCError.invalidKey"),
        (["serverUnavailable"], "DCError.serverUnavailable"), (["NSURLErrorSecureConnectionFailed"], "-1200"),
        (["App Check 403"], "attest.app-check.refused"), (["unrecognized_name"], "TLS alert 112"),
        (["alert 112"], "has no site"), (["alert 80"], "failed itself"),
        (["alert 42"], "ats.tls.client-certificate-rejected, ats.tls.handshake-failed"), (["alert 42"], "-9825"),
        (["alert 116"], "ats.tls.client-certificate-required"), (["-9825"], "ats.tls.handshake-failed"),
        (["alert handshake_failure (40)"], "TLS alert 40"),
        (["SSL alert number 48"], "TLS alert 48"), (["-67843"], "errSecNotTrusted"),
        (["kCFErrorDomainCFNetwork 310"], "the proxy"),
        (["errSecCertificateExpired"], "-67818"), (["-1102"], "403"), (["-2102"], "-1001"), (["--", "-4"], "-1005"),
        (["_kCFStreamErrorCodeKey=-4, _kCFStreamErrorDomainKey=4"], "kCFStreamErrorDomainHTTP"),
        (["_kCFStreamErrorDomainKey=10, _kCFStreamErrorCodeKey=-72000"], "the name was not resolved"),
        (["NSPOSIXErrorDomain Code=100"], "HTTP/2"), (["errno", "61"], "ats.net.refused"), (["ECONNRESET"], "54"),
        (["-997"], "BackgroundSessionWasDisconnected"), (["NSURLErrorDomain error -3003."], "CannotWriteToFile"),
        (["Allow Arbitrary Loads"], "NSAllowsArbitraryLoads"), (["NSBonjourServices"], "-65555"),
        (["SPKI-SHA256-BASE64"], "base64"), (["com.apple.security.network.client"], "sandboxed"),
        (["-11800"], "NSAllowsArbitraryLoadsForMedia"), (["AVFoundationErrorDomain", "-11850"], "ranges"),
        (["AVErrorFileFormatNotRecognized"], "-11828"), (["CoreMediaErrorDomain error -12660"], "HTTP 403: Forbidden"),
        (["-16840"], "HTTP 401"), (["WebKitErrorDomain 102"], "FrameLoadInterruptedByPolicyChange"),
        (["WebKitErrorDomain 102"], "decidePolicyFor"),
        (["TypeError: Load failed"], "-1022"),
        (["Error Domain=WebKitErrorDomain Code=204"], "PlugInWillHandleLoad"),
        (["kCFErrorDomainCFNetwork 303"], "HTTPParseFailure"),
        (["The operation couldn’t be completed. (com.firebase.appCheck error 0.)"], "NSUnderlyingErrorKey"),
        (["Error Domain=com.google.app_check_core Code=4"], "AppCheckErrorCode.unsupported"),
        (["[Firebase/AppCheck][I-FAA001001] AppCheck failed: Too many attempts."], "the first error is the cause"),
        (["App Check: Too many attempts"], "the first error is the cause"), (["App attestation failed."], "Team ID"),
        (["401 Unable to verify authorization token"], "devicecheck.authorization.refused"),
        (["Missing or badly formatted authorization token"], "App Store Connect"),
        (["Error 400: Missing or incorrectly formatted device token payload"], "deviceToken.invalid"),
        (["Bad Device Token"], "builds from Xcode"), (["Failed to find bit state"], "never set"),
        (["Bit State Not Found"], "never set"), (["Missing or badly formatted bits"], "bit0 and bit1"),
        (["DeviceCheck 401"], "devicecheck.authorization.refused"), (["DeviceCheck", "400"], "deviceToken.invalid"),
        (["exchangeDeviceCheckToken 403"], "attest.app-check.refused"), (["appattestdevelop"], "from TestFlight"),
        (["com.apple.developer.devicecheck.appattest-environment"], "from TestFlight"),
        (["receipt 404"], "receipt.refresh.no-data"), (["receipt refresh status 304"], "field 19"),
        (["https://data.appattest.apple.com/v1/attestationData", "401"], "receipt.refresh.unauthorized"),
        (["attestationData", "400"], "receipt.refresh.bad-payload, receipt.refresh.wrong-environment"),
        (["appattestsandbox"], "from TestFlight"), (["ERR_APP_INTEGRITY_INVALID_KEY"], "attest.device.invalid-key"),
        (["generateAssertion", "invalidInput"], "attest.device.invalid-input"),
        (["attestKey invalidInput clientDataHash"], "attest.device.invalid-input"),
        (["firebase_app_check/code-unsupported"], "attest.device.feature-unsupported"),
        (["attestation: KEY_ID_MISMATCH"], "attest.key-id.mismatch"),
        (["pyattest.exceptions.InvalidNonceException"], "attest.nonce.mismatch"),
        (["appattest: rpIdHash mismatch"], "attest.app-id.mismatch"),
        (["App Attest assertion: counter did not increase"], "assert.counter.replayed"),
        (["The assertion's signature is invalid"], "assert.signature.invalid"),
        (["App Attest x509: certificate has expired"], "attest.chain.expired"),
        (["App Attest: key already attested"], "attest.device.invalid-key"),
        (["com.apple.devicecheck.error3"], "DCError.invalidKey"),
        (["Expected AAGUID of either 'appattestdevelop' or 'appattest'"], "attest.environment.mismatch"),
        (["fail_keyId_mismatch"], "attest.key-id.mismatch"),
        (["{\"error\":\"fail_rpId_mismatch\"}"], "attest.app-id.mismatch"),
        (["fail_signCount_nonZero"], "attest.counter.not-zero"), (["keyId does not match"], "attest.key-id.mismatch"),
        (["Error: appId does not match"], "attest.app-id.mismatch"),
        (["signCount is not 0"], "attest.counter.not-zero"),
        (["Missing or badly formatted time stamp"], "devicecheck.request.refused"),
        (["ExchangeAppAttestAttestation", "403", "PERMISSION_DENIED"], "attest.app-check.refused"),
        (["generateAppAttestChallenge 400 INVALID_ARGUMENT"], "attest.app-check.stopped"),
        (["App not registered: 1:1234:ios:abc"], "attest.app-check.stopped"),
        (["[firebase_app_check/too-many-requests] Too many requests"], "attest.app-check.refused"),
        (["query_two_bits 401"], "devicecheck.authorization.refused"),
        (["validate_device_token 400"], "deviceToken.invalid"),
        (["617070617474657374646576656c6f70"], "from TestFlight"), (["YXBwYXR0ZXN0ZGV2ZWxvcA=="], "from TestFlight"),
        (["61707061-7474-6573-7400-000000000000"], "from TestFlight"), (["rpIdHash"], "SHA-256 of the App ID"),
        (["1.2.840.113635.100.8.2"], "attest.nonce.mismatch"), (["signCount"], "assert.counter.replayed"),
        (["apple_validation_category_01"], "2 (TestFlight)"), (["validation_category 4"], "4 (App Store)"),
        (["https://data.appattest.apple.com/v1/attestation 404"], "/v1/attestationData"),
        (["when your app provides data that isn’t formatted correctly."], "attest.device.invalid-input"),
        (
            ["A failed attempt to contact the App Attest service during an attestation"],
            "attest.device.server-unavailable"
        ),
        (["errno=0: sslv3 alert handshake failure"], "alert handshake_failure, 40"),
        (
            ["W/StorageUtil: Error getting App Check token: FirebaseException: No AppCheckProvider installed."],
            "attest.app-check.missing"
        ),
        (["Cannot instantiate `FIRAppCheck` for app: X without a provider factory."], "setAppCheckProviderFactory"),
        (
            ["App Check is being used before initializeAppCheck() (appCheck/use-before-activation)"],
            "initializeAppCheck"
        ),
        (["Unverified: outdated client requests"], "attest.app-check.missing"),
        (["X-Firebase-AppCheck: eyJlcnJvciI6IlVOS05PV05fRVJST1IifQ=="], "attest.app-check.refused"),
        (["AppCheck: ReCAPTCHA error. (appCheck/recaptcha-error)."], "site key"),
        (["appCheck/token-error"], "AppCheckErrorCode.unknown"),
        (
            [
                "Error Domain=com.firebase.appCheck Code=0 \"Failed to create a block of data that demonstrates the legitimacy of the app instance; keyId.length = 44\""
            ],
            "attest.device.invalid-key"
        ),
        (["FIRAuthErrorDomain Code=17999: Firebase App Check token is invalid."], "attest.app-check.refused"),
        (["API has not been used in project 123 before: firebaseappcheck.googleapis.com"], "attest.app-check.stopped"),
        (["App Attest x509: certificate specifies an incompatible key usage"], "verify-app-attest.md"),
        (["firebase_app_check/server-unreachable"], "AppCheckErrorCode.serverUnreachable"),
        (["auth/firebase-app-check-token-is-invalid"], "attest.app-check.refused"),
        (["fail_parsing_attestation"], "malformed.attestation"), (["fail_parsing_assertion"], "malformed.assertion"),
        (["Error: invalid attestation"], "malformed.attestation"),
        (["[ERROR] invalid assertion"], "malformed.assertion"),
        (["KeyError: 'authData' in pyattest/verifiers/apple_attestation.py"], "malformed.authenticator-data"),
        (["cbor: unexpected end of input in an attestation"], "malformed.cbor"),
        (["appattest: illegal base64 data at input byte 4"], "malformed.base64"),
        (["authData too short, attestation refused"], "malformed.authenticator-data"),
        (["Invalid statement format, App Attest expected"], "attest.format.unknown"),
        (["leaf lacks the App Attest nonce extension"], "attest.nonce.missing"),
        (
            [
                "error: Provisioning profile \"Shop\" doesn't include the com.apple.developer.devicecheck.appattest-environment entitlement."
            ], "add the capability to the App ID"
        ),
        (
            ["Provisioning profile \"Shop\" doesn't support the App Attest capability."],
            "add the capability to the App ID"
        ),
        (["client data hash mismatch (App Attest)"], "attest.nonce.mismatch"),
        (["rpId hash mismatch"], "app-id.mismatch"),
        (["counter must be zero in an attestation"], "attest.counter.not-zero"),
        (["attestation object must be a CBOR map"], "malformed.cbor"),
        (["attest: wrong format"], "attest.format.unknown"),
        (["AppAttestError::ExpectedASN1Node"], "malformed.certificate"),
        (["attest: nonce octet-string not found"], "attest.nonce.missing"),
        // The Keychain, where apps keep their key ID.
        (["-25300"], "errSecItemNotFound"), (["errSecMissingEntitlement"], "-34018"),
        (["OSStatus", "-50"], "kSecClass"),
        (["-25308"], "make no new key"), (["25299"], "SecItemUpdate"), (["-26275"], "DER"),
        (["SecItemCopyMatching failed: -25291"], "errSecNotAvailable"),
        (["Error Domain=NSOSStatusErrorDomain Code=-34018 \"A required entitlement isn't present.\""], "host app"),
        // Words of the service.
        (["receiptOld"], "months old"), (["tier", "none"], "nothing is proved"), (["none"], "X-Sealward-Class"),
        (["reasons: newKey"], "an hour"), (["new-key"], "make a new key, once"), (["outdated"], "would be refused"),
        (["PERMISSION_DENIED"], "403"), (["horizon-ahead"], "--confirm-clock"),
        (["No keychain is available. You may need to restart your computer."], "-25291"),
        (["read failed: errSecInteractionNotAllowed"], "make no new key"),
        (["SecItemCopyMatching returned -25308 while the device was locked"], "make no new key"),
        (["SecPKCS12Import", "-25264"], "OpenSSL 3"),
        (["{\"message\":[\"attestation must be a base64 string\"]}"], "malformed.base64"),
        (
            ["Firebase App Check API has not been used in project 1234 before or it is disabled."],
            "attest.app-check.stopped"
        ),
        (
            ["API key not valid. Please pass a valid API key. firebaseappcheck.googleapis.com"],
            "attest.app-check.stopped"
        ),
        (["riskMetric is missing from my receipt"], "field 17"),
        // What servers and libraries say of the objects of iOS 27, and of others.
        (["launch validation category mismatch: expected 4, got 3"], "attest.policy.validation-category"),
        (["app_attest_bundle_version_mismatch"], "attest.policy.bundle-version"),
        (["app attest assertion rejected: unknown_key"], "key.unknown"),
        (["App Attest: attestKey timed out after 30 seconds"], "attest.device.server-unavailable"),
        (
            ["cbor2.CBORDecodeEOF: premature end of stream (expected to read 164 bytes, got 23 instead)"],
            "malformed.cbor"
        ),
        (["AAGUID 61707061747465737400000000000000 unexpected"], "from TestFlight"),
        (
            ["The provided App Check token has incorrect algorithm. Expected \"RS256\" but got \"ES256\"."],
            "is no App Check token"
        ),
        (
            ["The provided App Check token has an incorrect \"aud\" (audience) claim."],
            "another Firebase project than the backend's"
        ),
        (["The provided App Check token has expired. Get a fresh App Check token"], "set the clock"),
        (["Decoding App Check token failed. Make sure you passed the entire string"], "eyJlcnJvciI6"),
        (["Unsupported attestation format: apple-appattest"], "verifies passkeys"),
        (["fido2-lib: no such format: apple-appattest"], "verifies passkeys"),
        (["User presence flag not set - App Attest assertion rejected"], "no clientDataJSON"),
        (["certificate revocation check failed for Apple App Attestation CA 1"], "no CRL"),
        (["crypto.createPublicKey is not implemented (Cloudflare Workers, App Attest)"], "importKey"),
        (["NotSupportedError: Unrecognized namedCurve P-384 in App Attest chain"], "Deno"),
        (["Leftover bytes detected while parsing authenticator data"], "since iOS 27"),
        (["PartialChain: A certificate chain could not be built. AppAttest"], "attest.chain.untrusted"),
        (["unable to get local issuer certificate (app attest verify)"], "attest.chain.untrusted"),
        (["OpenSSL::PKey::ECError: invalid form (app attest public key)"], "malformed.public-key"),
        (["credCert public key does not match keyId"], "attest.key-id.mismatch"),
        (["App Attest: challenge expired"], "challenge.expired"),
        (["App Attest: challenge already used"], "challenge.used"),
        (["challenge not found (attestation)"], "challenge.unknown"),
        (["PKCS7 receipt signature invalid"], "receipt.signature.invalid"),
        (["receipt creationTime older than 5 minutes"], "receipt.too-old"),
        (["StripeAttest.AttestationError.attestationNotSupported"], "attest.device.feature-unsupported"),
        (
            ["System.Formats.Cbor.CborContentException: Declared definite length of CBOR data item exceeds the buffer"],
            "malformed.cbor"
        ),
        (
            [
                "error: Entitlement com.apple.developer.devicecheck.appattest-environment not found and could not be included in profile."
            ],
            "add the capability to the App ID"
        ),
        (["app attest: failed to extract the nonce extension"], "attest.nonce.missing"),
        (["app attest: the extracted nonce does not match"], "attest.nonce.mismatch"),
        // Keys under an older name, and keys that may help.
        (["NSAllowsArbitraryLoadsInMedia"], "NSAllowsArbitraryLoadsForMedia"),
        (["ats.cleartext.blocked"], "NSExceptionAllowsInsecureHTTPLoads"),
        (["ats.tls.no-forward-secrecy"], "NSExceptionRequiresForwardSecrecy"),
        (["ats.tls.version-too-low"], "NSExceptionMinimumTLSVersion"),
    ]

    /// In this process, because a program for each of them takes ten times as long.
    private static func explained(_ words: [String]) async -> (status: Int32, output: String, notes: [String]) {
        let run = await CommandCapture.run(ExplainCodeCommand.allowingMinus(["explain"] + words))
        return (run.status, String(decoding: run.output, as: UTF8.self), run.notes)
    }

    @Test func severalCodesAreAllExplained() throws {
        let codes = ["assert.counter.replayed", "attest.key-id.mismatch", "receipt.expired"]
        let run = try ProgramRun(["explain"] + codes)
        #expect(run.status == 0)
        for code in codes { #expect(run.output.contains("\(code)\n\nmeans "), "\(run.output)") }
        let document = try ProgramRun(["explain"] + codes + ["--format", "json"])
        #expect((document.json["codes"] as? [[String: Any]])?.compactMap { $0["code"] as? String } == codes)
    }

    @Test(arguments: subjects)
    func whatPeopleHaveIsExplained(_ words: [String], _ expected: String) async {
        let run = await Self.explained(words)
        #expect(run.status == 0 && run.output.contains(expected), "\(run)")
        #expect(run.output.split(separator: "\n").count <= 24)
    }

    /// What `mistake` in an answer or a log says.
    @Test(arguments: [
        "base64-text-hashed", "unhashed", "hashed-twice", "hex-hashed", "other-text", "other-challenge",
        "json-rewritten", "app-id-prefix", "app-id-case", "app-id-suffix", "environment", "single-hash",
        "raw-signature", "other-key",
    ]) func eachMistakeIsExplained(_ name: String) async {
        let run = await Self.explained([name])
        #expect(run.status == 0 && run.output.contains("\ndo "), "\(run)")
    }

    /// Each word of the service's answers that is no code.
    @Test(arguments: [
        "low", "standard", "high", "none", "newKey", "receiptOld", "riskAboveBaseline", "category", "restored",
        "unsupported", "extension", "simulator", "ramp", "verified", "untrusted", "outdated", "invalid", "reused",
        "unknown", "never", "new-challenge", "new-key", "after", "refuse", "off", "attested", "revoked", "receipt",
        "refused", "alert", "clientError", "offset", "jump", "horizon-ahead", "INVALID_ARGUMENT", "NOT_FOUND",
        "UNAUTHENTICATED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "alreadyConsumed", "accepted",
        "undetermined", "no-answer", "ATTEST",
        "production", "sandbox", "app-attest", "note", "developer", "exit status 2",
    ]) func eachWordOfTheServiceIsExplained(_ word: String) async {
        let run = await Self.explained([word])
        #expect(
            run.status == 0 && run.output.contains("a word of answers") && run.output.contains("\ndo "), "\(run)")
    }

    @Test(arguments: [
        ("-1023", "Did you mean '-10"), ("NSAllowArbitraryLoads", "NSAllowsArbitraryLoads"),
        ("77777777", "lists them all"),
        // The digits of a token are no number.
        ("Authorization: Bearer eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ==", "lists them all"),
        ("nonce mismatch in the OpenID token", "lists them all"), ("the latest login: invalid nonce", "lists them all"),
        ("assertion failed: index out of range", "lists them all"),
        ("attestation could not be verified", "lists them all"), ("invalid signature", "assert.signature.invalid"),
    ])
    func unknownWordsGetTheNearest(_ word: String, _ hint: String) throws {
        let run = try ProgramRun(["explain", word])
        #expect(run.status == 64 && run.errors.contains(hint), "\(run.errors)")
    }

    /// Apple's own numbers that it documents nowhere: what is known of the domain is said, and the status is no success.
    @Test(arguments: [
        ("com.apple.devicecheck.error 5", "DCError has 0 unknownSystemFailure"),
        ("Error Domain=com.apple.devicecheck.error Code=12", "NSUnderlyingErrorKey"),
        ("com.apple.devicecheck.error 400", "DCError has 0 unknownSystemFailure"),
        ("Unknown DCError(5)", "DCError has 0 unknownSystemFailure"),
        ("com.firebase.appCheck error 9", "0 unknown"),
        ("com.apple.devicecheck.error.baa -10000", "Virtual machines"),
        ("Error Domain=com.apple.appattest.error Code=-2", "nobody documents"),
    ])
    func aNumberThatNobodyDocumentsIsSaidToBeOne(_ words: String, _ sentence: String) throws {
        let run = try ProgramRun(["explain", words], environment: ["NO_COLOR": "1", "COLUMNS": "400"])
        #expect(run.status == 2 && run.output.contains(sentence), "\(run.output)\(run.errors)")
    }

    /// Ports, lines of sources, statuses of processes, and what is logged for each load.
    @Test(arguments: [
        "Error: connect 127.0.0.1:3000", "Error: listen EADDRINUSE: address already in use :::3000",
        "error at App.swift:1022", "Command CodeSign failed with a nonzero exit code 1",
        "error: connection to 10.0.0.1 port 1200 failed",
        "exit code 128", "50", "LAError Code=-1004 User interaction required",
        "nw_proxy_resolver_create_parsed_array [C1 proxy pac] Evaluation error: NSURLErrorDomain: -1003",
    ])
    func otherNumbersAreNoErrors(_ text: String) {
        #expect(ExplainedSubject(text) == nil)
    }

    @Test(arguments: ["code:1022", "NSURLErrorDomain:1022", "error:-1022", "NSURLErrorDomain Code: 1022"])
    func numbersBehindAColonAre(_ text: String) {
        #expect(ExplainedSubject(text)?.title.contains("-1022") == true)
    }

    @Test(arguments: ["App Check 999", "receipt 1003"]) func aStatusOfAnotherServiceIsNoErrorOfALoad(
        _ words: String
    ) throws {
        let run = try ProgramRun(["explain", words])
        #expect(run.status == 64 && run.output.isEmpty, "\(run.output)\(run.errors)")
    }

    @Test func jsonHasTheSubjectAndItsCodes() throws {
        let run = try ProgramRun(["explain", "-1022", "--format", "json"])
        #expect((run.json["subjects"] as? [[String: Any]])?.first?["codes"] as? [String] == ["ats.cleartext.blocked"])
        #expect((run.json["codes"] as? [[String: Any]])?.count == 1)
    }
}
