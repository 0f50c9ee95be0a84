// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// A number that an app gets for a failed load: its name, its words and what it means. The only table of these numbers.
///
/// Source: NSURLError.h; Security, base/SecBase.h; CFNetworkErrors.h, CFHTTPStream.h; the sentences are those that URLSession gives.
package struct ErrorNumber: Sendable {
    /// Where Apple counts these numbers.
    package enum Domain: String, Sendable {
        case url = "NSURLErrorDomain"
        /// Numbers of Secure Transport, which are an OSStatus too.
        case stream = "kCFStreamErrorDomainSSL (3) and OSStatus"
        case cfNetwork = "kCFErrorDomainCFNetwork"
        /// Numbers of SecTrust.
        case security = "OSStatus of Security, NSOSStatusErrorDomain"
        /// Numbers of the Keychain, in the same domain; none is of a load.
        case keychain = "OSStatus of the Keychain, NSOSStatusErrorDomain"
        /// Numbers of AVFoundation.
        case player = "AVFoundationErrorDomain"
        case coreMedia = "CoreMediaErrorDomain"
        case webKit = "WebKitErrorDomain"
        /// Numbers of the stream beneath a load, beside an error of a load that says the same.
        case httpStream = "kCFStreamErrorDomainHTTP (4)"
        case netServices = "kCFStreamErrorDomainNetServices (10)"
        /// Numbers of the socket (errno).
        case posix = "NSPOSIXErrorDomain"
    }

    package let domain: Domain
    /// As Apple writes it: those of ``Domain/cfNetwork``, ``Domain/webKit`` and ``Domain/posix`` are positive, all others negative.
    package let number: Int
    /// As in Apple's headers.
    package let name: String
    /// Apple's sentence, or the words of the header.
    package let sentence: String
    /// What it means for an app, without a full stop; empty where the sentence says all.
    package private(set) var meaning = ""
    /// What the other side and the network bring about, and what the number says by itself; what the client refuses itself is in ``RefusalNumbers``.
    package let others: [Code]
    /// What to do, where no code says it.
    package private(set) var action: String?

    /// The causes that this number can have, each once, those of the client's own judgement first.
    package var codes: [Code] {
        let own: [Code] =
            switch domain {
            case .url: RefusalNumbers.causes(urlError: number)
            case .stream: RefusalNumbers.causes(stream: number)
            case .cfNetwork, .security, .keychain, .player, .coreMedia, .webKit, .httpStream, .netServices, .posix: []
            }
        return (own + others).reduce(into: []) { codes, code in if !codes.contains(code) { codes.append(code) } }
    }

    // The row of a number in each domain; nil for numbers that are none, or have nothing to do with loads.
    package static func url(_ number: Int) -> ErrorNumber? { row(number, urlErrors) }
    package static func stream(_ number: Int) -> ErrorNumber? { row(number, streamErrors) }
    package static func cfNetwork(_ number: Int) -> ErrorNumber? { row(number, cfNetworkErrors) }
    package static func httpStream(_ number: Int) -> ErrorNumber? { row(number, httpStreamErrors) }
    package static func posix(_ number: Int) -> ErrorNumber? { row(number, posixErrors) }
    package static func keychain(_ number: Int) -> ErrorNumber? { row(number, keychainErrors) }
    package static func security(_ number: Int) -> ErrorNumber? { row(number, securityErrors) }
    package static func player(_ number: Int) -> ErrorNumber? { row(number, playerErrors) }
    package static func webKit(_ number: Int) -> ErrorNumber? { row(number, webKitErrors) }

    private static func row(_ number: Int, _ rows: [ErrorNumber]) -> ErrorNumber? { rows.first { $0.number == number } }

    private static let anchors: [Code] = [.trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate]
    private static let suites: [Code] = [
        .tlsNoForwardSecrecy, .tlsNoCommonSuite, .tlsNoCommonGroup, .tlsNoCommonSignature,
    ]
    /// Alerts about a certificate of the app. A server that asked for none means something else.
    private static let ofApp: [Code] = [.tlsClientCertificateRejected, .tlsHandshakeFailed]

    /// The errors of NSURLErrorDomain.
    package static let urlErrors: [ErrorNumber] = [
        ErrorNumber(url: -1, "Unknown", "unknown error"),
        ErrorNumber(
            url: -995, "BackgroundSessionRequiresSharedContainer", "a background session needs a shared container",
            "an app extension has to set sharedContainerIdentifier of its background session; not ATS"),
        ErrorNumber(
            url: -996, "BackgroundSessionInUseByAnotherProcess", "the background session is in use",
            "the app and its extension use a background session of the same identifier; not ATS"),
        ErrorNumber(
            url: -997, "BackgroundSessionWasDisconnected", "the background session was disconnected",
            "the system ended the process that loads in the background, or the app was; not ATS"),
        ErrorNumber(
            url: -999, "Cancelled", "cancelled",
            "the app cancelled the load, or its own check of the certificate did (cancelAuthenticationChallenge)"),
        ErrorNumber(url: -1000, "BadURL", "bad URL"),
        ErrorNumber(
            url: -1001, "TimedOut", "The request timed out.", "nothing answered in time; this says nothing about ATS",
            [.netTimeout, .tlsLargeHello, .httpNoAnswer, .httpIncompleteAnswer]),
        ErrorNumber(url: -1002, "UnsupportedURL", "unsupported URL"),
        ErrorNumber(
            url: -1003, "CannotFindHost", "A server with the specified hostname could not be found.",
            "the name was not resolved: a wrong name, no DNS, or a sandboxed Mac app without com.apple.security.network.client",
            [.netDNS]),
        ErrorNumber(
            url: -1004, "CannotConnectToHost", "Could not connect to the server.",
            "nothing listens there, or a firewall refuses; this comes before TLS, so it is not ATS", [.netRefused]),
        ErrorNumber(
            url: -1005, "NetworkConnectionLost", "The network connection was lost.",
            "the connection ended after the handshake; this is not ATS",
            [.netReset, .netClosed, .httpNoAnswer, .httpIncompleteAnswer]),
        ErrorNumber(url: -1006, "DNSLookupFailed", "DNS lookup error", "the name was not resolved", [.netDNS]),
        ErrorNumber(url: -1007, "HTTPTooManyRedirects", "too many HTTP redirects", "", [.httpRedirectLoop]),
        ErrorNumber(url: -1008, "ResourceUnavailable", "resource unavailable"),
        ErrorNumber(
            url: -1009, "NotConnectedToInternet", "The Internet connection appears to be offline.",
            "no network, or since iOS 14 the user denied the app the local network (the log then says \"Local network prohibited\"); not ATS",
            [.netOffline]),
        ErrorNumber(url: -1010, "RedirectToNonExistentLocation", "a redirect without a target"),
        ErrorNumber(url: -1011, "BadServerResponse", "bad server response"),
        ErrorNumber(
            url: -1012, "UserCancelledAuthentication", "the authentication was cancelled",
            "often the app's own check of the certificate or of its pins, which cancelled the challenge"),
        ErrorNumber(url: -1013, "UserAuthenticationRequired", "authentication is required"),
        ErrorNumber(url: -1014, "ZeroByteResource", "zero byte resource"),
        ErrorNumber(url: -1015, "CannotDecodeRawData", "cannot decode raw data"),
        ErrorNumber(url: -1016, "CannotDecodeContentData", "cannot decode content data"),
        ErrorNumber(
            url: -1017, "CannotParseResponse", "cannot parse response",
            "the server's answer is not HTTP, or breaks HTTP/2 or HTTP/3: try with HTTP/3 switched off on the server; not ATS"
        ),
        ErrorNumber(url: -1018, "InternationalRoamingOff", "international roaming is off", "", [.netOffline]),
        ErrorNumber(url: -1019, "CallIsActive", "a phone call is active", "", [.netOffline]),
        ErrorNumber(
            url: -1020, "DataNotAllowed", "cellular data is not allowed", "cellular data is off for this app; not ATS",
            [.netOffline]),
        ErrorNumber(url: -1021, "RequestBodyStreamExhausted", "request body stream exhausted"),
        ErrorNumber(
            url: -1022, "AppTransportSecurityRequiresSecureConnection",
            "The resource could not be loaded because the App Transport Security policy requires the use of a secure connection.",
            "ATS blocked a cleartext URL, before anything was sent; of an https URL the server redirects to http, or iOS 9 or OS X 10.11 blocks an address or a local name",
            [.cleartextBlocked]),
        ErrorNumber(
            url: -1100, "FileDoesNotExist", "file does not exist",
            "no such file; of media the player makes it of an answer 404; not ATS"),
        ErrorNumber(url: -1101, "FileIsDirectory", "file is a directory"),
        ErrorNumber(
            url: -1102, "NoPermissionsToReadFile", "no permission to read the file",
            "the file may not be read; of media the player makes it of an answer 403: a missing header, cookie or signature; not ATS"
        ),
        ErrorNumber(url: -1103, "DataLengthExceedsMaximum", "resource exceeds maximum size"),
        ErrorNumber(url: -1104, "FileOutsideSafeArea", "the file is outside of the safe area"),
        ErrorNumber(
            url: -1200, "SecureConnectionFailed",
            "An SSL error has occurred and a secure connection to the server cannot be made.",
            "TLS failed, or ATS refused what was negotiated or the certificate; the stream code beside it (_kCFStreamErrorCodeKey, -98xx) says more",
            [.netClosed, .netReset, .tlsLargeHello, .netNotTLS]),
        ErrorNumber(
            url: -1201, "ServerCertificateHasBadDate", "The certificate for this server has expired.",
            "plain trust evaluation refuses the certificate for its dates"),
        ErrorNumber(
            url: -1202, "ServerCertificateUntrusted", "The certificate for this server is invalid.",
            "plain trust evaluation refuses the certificate: an exception of ATS alone does not help",
            [.trustUnknownRoot, .trustSelfSigned, .trustMissingIntermediate]),
        ErrorNumber(
            url: -1203, "ServerCertificateHasUnknownRoot",
            "The certificate for this server was signed by an unknown certifying authority.",
            "the chain ends in no root that the device trusts"),
        ErrorNumber(
            url: -1204, "ServerCertificateNotYetValid", "The certificate for this server is not yet valid.",
            "the certificate's dates, or the clock of the device"),
        ErrorNumber(
            url: -1205, "ClientCertificateRejected", "The server did not accept the certificate.",
            "the server refused the certificate that the app sent as its own", [.tlsClientCertificateRejected]),
        ErrorNumber(
            url: -1206, "ClientCertificateRequired", "The server requires a client certificate.",
            "the server asked for a client certificate; CFNetwork also makes -1206 of a 403 from a server that only asks for one",
            [.tlsClientCertificateRequired]),
        ErrorNumber(url: -2000, "CannotLoadFromNetwork", "cannot load from network"),
        ErrorNumber(url: -3000, "CannotCreateFile", "cannot create the file of a download"),
        ErrorNumber(url: -3001, "CannotOpenFile", "cannot open the file of a download"),
        ErrorNumber(url: -3002, "CannotCloseFile", "cannot close the file of a download"),
        ErrorNumber(
            url: -3003, "CannotWriteToFile", "cannot write to the file of a download",
            "no space, no permission, or data to resume with that does not fit; not ATS"),
        ErrorNumber(url: -3004, "CannotRemoveFile", "cannot remove the file of a download"),
        ErrorNumber(url: -3005, "CannotMoveFile", "cannot move the file of a download"),
        ErrorNumber(
            url: -3006, "DownloadDecodingFailedMidStream", "a download could not be decoded half way through"),
        ErrorNumber(
            url: -3007, "DownloadDecodingFailedToComplete", "a download could not be decoded to its end"),
    ]

    /// The errors of kCFStreamErrorDomainHTTP (4) and of names, which stand as `_kCFStreamErrorCodeKey` beside an NSURLError.
    ///
    /// Sources: CFHTTPStream.h and CFNetServices.h. Headers name no number below -3 of HTTP: those here are known from the error
    /// beside them, each in two independent public logs.
    package static let httpStreamErrors: [ErrorNumber] = [
        ErrorNumber(
            httpStream: -1, "kCFStreamErrorHTTPParseFailure", "the server's answer is not HTTP; it comes with -1017",
            [.httpNoAnswer]),
        ErrorNumber(
            httpStream: -2, "kCFStreamErrorHTTPRedirectionLoop", "the redirects go in a circle", [.httpRedirectLoop]),
        ErrorNumber(httpStream: -3, "kCFStreamErrorHTTPBadURL", "the URL is malformed"),
        ErrorNumber(
            httpStream: -4, "CFStream error",
            "it comes with -1005: the connection ended before the answer did; not ATS", [.netClosed, .netReset]),
        ErrorNumber(
            httpStream: -2096, "_kCFStreamErrorHTTPSProxyFailure",
            "it comes with 310 of kCFErrorDomainCFNetwork: the proxy does not open the tunnel to the host",
            [.netRefused]),
        ErrorNumber(
            httpStream: -2102, "CFStream error",
            "it comes with -1001: nothing answered in time; this says nothing about ATS", [.netTimeout]),
        ErrorNumber(
            httpStream: -2103, "CFStream error",
            "it comes with -1001: nothing answered in time; this says nothing about ATS", [.netTimeout]),
        ErrorNumber(
            httpStream: -2201, "CFStream error",
            "it comes with 303 of kCFErrorDomainCFNetwork: the server's answer breaks HTTP/2", [.httpNoAnswer]),
        ErrorNumber(
            domain: .netServices, number: -72000, name: "kCFNetServicesErrorUnknown",
            sentence: "it comes with -1003: the name was not resolved", meaning: "", others: [.netDNS]),
    ]

    /// The errors of kCFStreamErrorDomainSSL (3), which are numbers of Secure Transport.
    package static let streamErrors: [ErrorNumber] = [
        ErrorNumber(stream: -9800, "Protocol", "protocol error", [.netNotTLS]),
        ErrorNumber(stream: -9801, "Negotiation", "no common cipher suite, or what was negotiated is not accepted"),
        ErrorNumber(
            stream: -9802, "FatalAlert",
            "fatal alert; under ATS the client itself refused the certificate or its chain"),
        ErrorNumber(stream: -9803, "WouldBlock", "the call would block"),
        ErrorNumber(stream: -9804, "SessionNotFound", "unknown session"),
        ErrorNumber(stream: -9805, "ClosedGraceful", "the connection was closed in order", [.netClosed]),
        ErrorNumber(stream: -9806, "ClosedAbort", "the connection was closed by an error", [.netClosed]),
        ErrorNumber(stream: -9807, "XCertChainInvalid", "the certificate chain is invalid", anchors),
        ErrorNumber(
            stream: -9808, "BadCert",
            "bad certificate format; Network also writes it where the certificate is refused, by the system or by the app's own check",
            anchors + [.trustWrongHost, .trustExpired, .trustRefusedByDelegate, .tlsHandshakeFailed]),
        ErrorNumber(stream: -9809, "Crypto", "cryptographic error", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9810, "Internal", "internal error", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9811, "ModuleAttach", "module attach failure"),
        ErrorNumber(stream: -9812, "UnknownRootCert", "valid chain, untrusted root"),
        ErrorNumber(stream: -9813, "NoRootCert", "the chain is not verified by a root", anchors),
        ErrorNumber(stream: -9814, "CertExpired", "the chain has an expired certificate"),
        ErrorNumber(stream: -9815, "CertNotYetValid", "the chain has a certificate that is not valid yet"),
        ErrorNumber(
            stream: -9816, "ClosedNoNotify",
            "the connection was cut without an end of TLS; during the handshake by a reset or a close",
            [.netClosed, .netReset, .tlsLargeHello]),
        ErrorNumber(stream: -9817, "BufferOverflow", "a buffer is too small"),
        ErrorNumber(stream: -9818, "BadCipherSuite", "bad cipher suite", suites),
        ErrorNumber(stream: -9819, "PeerUnexpectedMsg", "alert: unexpected message", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9820, "PeerBadRecordMac", "alert: bad record MAC", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9821, "PeerDecryptionFail", "alert: decryption failed", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9822, "PeerRecordOverflow", "alert: record overflow", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9823, "PeerDecompressFail", "alert: decompression failed", [.tlsHandshakeFailed]),
        ErrorNumber(
            stream: -9824, "PeerHandshakeFail",
            "alert: handshake failure; the server found no version, suite, group or signature in common",
            suites + [.tlsVersionTooLow]),
        ErrorNumber(
            stream: -9825, "PeerBadCert",
            "alert: bad certificate; the server refuses the app's own certificate, if the app sent one", ofApp),
        ErrorNumber(stream: -9826, "PeerUnsupportedCert", "alert: unsupported certificate", ofApp),
        ErrorNumber(stream: -9827, "PeerCertRevoked", "alert: certificate revoked", ofApp),
        ErrorNumber(stream: -9828, "PeerCertExpired", "alert: certificate expired", ofApp),
        ErrorNumber(stream: -9829, "PeerCertUnknown", "alert: certificate unknown", ofApp),
        ErrorNumber(stream: -9830, "IllegalParam", "alert: illegal parameter", [.tlsHandshakeFailed]),
        ErrorNumber(
            stream: -9831, "PeerUnknownCA",
            "alert: unknown CA; the server does not know the CA of the app's certificate, if the app sent one", ofApp),
        ErrorNumber(stream: -9832, "PeerAccessDenied", "alert: access denied", ofApp),
        ErrorNumber(stream: -9833, "PeerDecodeError", "alert: decode error", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9834, "PeerDecryptError", "alert: decrypt error", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9835, "PeerExportRestriction", "alert: export restriction", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9836, "PeerProtocolVersion", "alert: protocol version; no common TLS version"),
        ErrorNumber(stream: -9837, "PeerInsufficientSecurity", "alert: insufficient security", suites),
        ErrorNumber(
            stream: -9838, "PeerInternalError", "alert: internal error; the server failed", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9839, "PeerUserCancelled", "alert: user canceled", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9840, "PeerNoRenegotiation", "alert: no renegotiation", [.tlsHandshakeFailed]),
        ErrorNumber(
            stream: -9841, "PeerAuthCompleted", "the server's certificate passed or is to be judged by the app",
            RefusalNumbers.trust),
        ErrorNumber(
            stream: -9842, "ClientCertRequested", "the server asked for a client certificate",
            [.tlsClientCertificateRequired]),
        ErrorNumber(stream: -9843, "HostNameMismatch", "the certificate names other hosts"),
        ErrorNumber(
            stream: -9844, "ConnectionRefused", "the peer dropped the connection before it answered", [.netClosed]),
        ErrorNumber(stream: -9845, "DecryptionFail", "decryption failure", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9846, "BadRecordMac", "bad record MAC", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9847, "RecordOverflow", "record overflow", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9848, "BadConfiguration", "bad configuration"),
        ErrorNumber(stream: -9849, "UnexpectedRecord", "unexpected record", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9850, "WeakPeerEphemeralDHKey", "weak ephemeral Diffie-Hellman key", [.tlsNoCommonSuite]),
        ErrorNumber(stream: -9851, "ClientHelloReceived", "a ClientHello was received"),
        ErrorNumber(stream: -9852, "TransportReset", "the connection was reset", [.netReset, .netClosed]),
        ErrorNumber(stream: -9853, "NetworkTimeout", "network timeout", [.netTimeout]),
        ErrorNumber(stream: -9854, "ConfigurationFailed", "configuration failed"),
        ErrorNumber(stream: -9855, "UnsupportedExtension", "unsupported TLS extension", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9856, "UnexpectedMessage", "unexpected message", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9857, "DecompressFail", "decompression failed", [.tlsHandshakeFailed]),
        ErrorNumber(
            stream: -9858, "HandshakeFail",
            "handshake failed; Network also writes it where the certificate is refused",
            suites + [.tlsHandshakeFailed] + anchors + [.trustRefusedByDelegate]),
        ErrorNumber(stream: -9859, "DecodeError", "decode failed", [.tlsHandshakeFailed]),
        ErrorNumber(
            stream: -9860, "InappropriateFallback",
            "alert: inappropriate fallback; a first try failed, and the server refuses the second one with an older TLS version",
            [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9861, "MissingExtension", "missing extension", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9862, "BadCertificateStatusResponse", "bad OCSP response", [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9863, "CertificateRequired", "certificate required", [.tlsClientCertificateRequired]),
        ErrorNumber(stream: -9864, "UnknownPSKIdentity", "unknown PSK identity", [.tlsHandshakeFailed]),
        ErrorNumber(
            stream: -9865, "UnrecognizedName", "unrecognized name; the server has no site of that name",
            [.tlsHandshakeFailed]),
        ErrorNumber(stream: -9880, "ATSViolation", "ATS violation", RefusalNumbers.trust),
        ErrorNumber(
            stream: -9881, "ATSMinimumVersionViolation", "ATS: the TLS version is too low", [.tlsVersionTooLow]),
        ErrorNumber(stream: -9882, "ATSCiphersuiteViolation", "ATS: the cipher suite is not accepted", suites),
        ErrorNumber(
            stream: -9883, "ATSMinimumKeySizeViolation", "ATS: the certificate's key is too small", [.trustWeakKey]),
        ErrorNumber(
            stream: -9884, "ATSLeafCertificateHashAlgorithmViolation", "ATS: the hash of the leaf is too weak",
            [.trustWeakSignature]),
        ErrorNumber(
            stream: -9885, "ATSCertificateHashAlgorithmViolation", "ATS: a hash of the chain is too weak",
            [.trustWeakSignature]),
        ErrorNumber(
            stream: -9886, "ATSCertificateTrustViolation", "ATS: the chain is not trusted", RefusalNumbers.trust),
        ErrorNumber(stream: -9890, "EarlyDataRejected", "the peer rejected early data"),
    ]

    /// The errors of NSPOSIXErrorDomain, and those of Linux that Dart and Node print on Android.
    package static let posixErrors: [ErrorNumber] = [
        ErrorNumber(posix: 1, "EPERM", "operation not permitted", [.netSandbox]),
        ErrorNumber(
            posix: 9, "EBADF", "the socket was closed on the device, often while the app was in the background",
            [.netClosed]),
        ErrorNumber(posix: 32, "EPIPE", "broken pipe: the other side has closed the connection", [.netClosed]),
        ErrorNumber(posix: 50, "ENETDOWN", "the network is down", [.netOffline]),
        ErrorNumber(posix: 51, "ENETUNREACH", "the network cannot be reached", [.netOffline]),
        ErrorNumber(posix: 53, "ECONNABORTED", "the connection was aborted by the device", [.netClosed]),
        ErrorNumber(posix: 54, "ECONNRESET", "the connection was reset", [.netReset]),
        ErrorNumber(posix: 57, "ENOTCONN", "the socket is not connected", [.netClosed]),
        ErrorNumber(posix: 60, "ETIMEDOUT", "nothing answered in time", [.netTimeout]),
        ErrorNumber(posix: 61, "ECONNREFUSED", "the connection was refused", [.netRefused]),
        ErrorNumber(posix: 64, "EHOSTDOWN", "the host is down", [.netRefused]),
        ErrorNumber(posix: 65, "EHOSTUNREACH", "no route to the host", [.netRefused]),
        ErrorNumber(posix: 89, "ECANCELED", "the app itself cancelled it", [.netClosed]),
        ErrorNumber(posix: 100, "EPROTO", "the server's answer breaks HTTP/2", [.httpNoAnswer]),
        ErrorNumber(posix: 101, "ENETUNREACH", "the network cannot be reached (Linux)", [.netOffline]),
        ErrorNumber(posix: 103, "ECONNABORTED", "the connection was aborted by the device (Linux)", [.netClosed]),
        ErrorNumber(posix: 104, "ECONNRESET", "the connection was reset (Linux)", [.netReset]),
        ErrorNumber(posix: 110, "ETIMEDOUT", "nothing answered in time (Linux)", [.netTimeout]),
        ErrorNumber(posix: 111, "ECONNREFUSED", "the connection was refused (Linux)", [.netRefused]),
        ErrorNumber(posix: 113, "EHOSTUNREACH", "no route to the host (Linux)", [.netRefused]),
    ]

    /// The errors of kCFErrorDomainCFNetwork that are not those of NSURLErrorDomain too.
    package static let cfNetworkErrors: [ErrorNumber] = [
        ErrorNumber(cfNetwork: 1, "HostErrorHostNotFound", "the name was not resolved", [.netDNS]),
        ErrorNumber(cfNetwork: 2, "HostErrorUnknown", "the name was not resolved", [.netDNS]),
        ErrorNumber(
            cfNetwork: 302, "ErrorHTTPConnectionLost", "the connection ended before the answer did", [.netClosed]),
        ErrorNumber(
            cfNetwork: 303, "ErrorHTTPParseFailure", "the server's answer is not HTTP: another protocol on this port",
            [.httpNoAnswer]),
        ErrorNumber(
            cfNetwork: 304, "ErrorHTTPRedirectionLoopDetected", "the redirects go in a circle", [.httpRedirectLoop]),
        ErrorNumber(
            cfNetwork: 306, "ErrorHTTPProxyConnectionFailure", "the proxy of the system's settings cannot be reached",
            [.netRefused]),
        ErrorNumber(
            cfNetwork: 307, "ErrorHTTPBadProxyCredentials",
            "the proxy of the system's settings refuses the user name or the password", [.netRefused]),
        ErrorNumber(
            cfNetwork: 308, "ErrorPACFileError", "the file that configures the proxy (PAC) cannot be used",
            [.netRefused]),
        ErrorNumber(
            cfNetwork: 309, "ErrorPACFileAuth", "the file that configures the proxy (PAC) asks for a password",
            [.netRefused]),
        ErrorNumber(
            cfNetwork: 310, "ErrorHTTPSProxyConnectionFailure",
            "the proxy of the system's settings cannot be reached, or refuses the tunnel to the host", [.netRefused]),
        ErrorNumber(
            cfNetwork: 311, "StreamErrorHTTPSProxyFailureUnexpectedResponseToCONNECTMethod",
            "the proxy of the system's settings does not open the tunnel to the host", [.netRefused]),
    ]

    /// The errors of SecTrust.
    package static let securityErrors: [ErrorNumber] = [
        ErrorNumber(security: -67602, "HostNameMismatch", "the certificate names other hosts", [.trustWrongHost]),
        ErrorNumber(
            security: -67609, "InvalidExtendedKeyUsage", "the certificate's purpose is not that of a server",
            [.trustWrongKeyUsage]),
        ErrorNumber(
            security: -67818, "CertificateExpired", "a certificate has expired or is not valid yet", [.trustExpired]),
        ErrorNumber(
            security: -67819, "CertificateNotValidYet", "a certificate is not valid yet", [.trustNotYetValid]),
        ErrorNumber(security: -67820, "CertificateRevoked", "a certificate is revoked", [.trustRevoked]),
        ErrorNumber(
            security: -67843, "NotTrusted", "the chain ends in no root that the device trusts", anchors),
        ErrorNumber(
            security: -67901, "CertificateValidityPeriodTooLong",
            "the certificate is valid for more days than allowed", [.trustValidityTooLong]),
        ErrorNumber(
            security: -25318, "CreateChainFailed", "no chain to a root could be built",
            [.trustMissingIntermediate, .trustUnknownRoot]),
    ]

    /// The errors of SecItem, SecKey and SecPKCS12Import that apps meet where they keep a key ID of App Attest, a token or a client certificate.
    package static let keychainErrors: [ErrorNumber] = [
        ErrorNumber(
            keychain: -50, "Param", "One or more parameters passed to a function were not valid.",
            "the query is not one that the function takes: a member is missing, or has a value of another type",
            "look at kSecClass and at the types of the values: Data for kSecValueData, no two of kSecReturn... where one is taken"
        ),
        ErrorNumber(
            keychain: -128, "UserCanceled", "User canceled the operation.",
            "the user closed the prompt for a passcode, a face or a passphrase", "ask again only if the user wants it"),
        ErrorNumber(
            keychain: -2070, "InternalComponent", "An internal component failed.",
            "on a Mac codesign may not use the private key: a shell by ssh or a build machine, whose Keychain is locked",
            "unlock it in the same shell (security unlock-keychain), and permit codesign (security set-key-partition-list)"
        ),
        ErrorNumber(
            keychain: -25257, "UnknownFormat", "Unknown format in import.",
            "the bytes are no certificate or key of the format that was named: often PEM where DER is taken",
            "decode the base64 between the lines of PEM, and pass the bytes"),
        ErrorNumber(
            keychain: -25260, "PassphraseRequired", "Passphrase is required for import/export.",
            "a PKCS #12 file is imported without a passphrase", "pass kSecImportExportPassphrase; it may be empty text"),
        ErrorNumber(
            keychain: -25264, "Pkcs12VerifyFailure", "MAC verification failed during PKCS12 import (wrong password?)",
            "the passphrase is wrong, or OpenSSL 3 wrote the file with algorithms that older systems do not read",
            "try the passphrase with openssl pkcs12 -info; export again with -legacy"),
        ErrorNumber(
            keychain: -25291, "NotAvailable", "No keychain is available. You may need to restart your computer.",
            "the process has no Keychain: a daemon, a shell by ssh, or a build machine where nobody has signed in",
            "run it in the session of a user"),
        ErrorNumber(
            keychain: -25293, "AuthFailed", "The user name or passphrase you entered is not correct.",
            "the passphrase of a PKCS #12 file or of the Keychain is wrong, or the user was not recognized",
            "try the passphrase with openssl pkcs12 -info, and let the user try again; what is stored stays"),
        ErrorNumber(
            keychain: -25299, "DuplicateItem", "The specified item already exists in the keychain.",
            "SecItemAdd found an item of the same class, account, service and access group, also of an installation before",
            "call SecItemUpdate for it, or SecItemDelete first"),
        ErrorNumber(
            keychain: -25300, "ItemNotFound", "The specified item could not be found in the keychain.",
            "nothing is stored that the query describes: the first start, a device that was restored or replaced, or another account, service or access group than when it was stored",
            "if it is the key ID of App Attest, make a new key, once, and attest it; else compare the query with that of SecItemAdd"
        ),
        ErrorNumber(
            keychain: -25303, "NoSuchAttr", "The specified attribute does not exist.",
            "the query has an attribute that items of this class do not have",
            "look the class up in Apple's list of item class keys, and remove the attribute"),
        ErrorNumber(
            keychain: -25304, "InvalidItemRef",
            "The specified item is no longer valid. It may have been deleted from the keychain.",
            "a reference to an item that is gone", "ask for the item again with SecItemCopyMatching"),
        ErrorNumber(
            keychain: -25308, "InteractionNotAllowed", "User interaction is not allowed.",
            "the device is locked, or was not unlocked since it started, and the item may be read only then; on a Mac the process may show no prompt (ssh, a build machine). The item is still there",
            "make no new key: try again when the device is unlocked, and store the key ID with kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly"
        ),
        ErrorNumber(
            keychain: -25315, "InteractionRequired", "User interaction is required.",
            "the item asks for a passcode, a face or a finger, and the call may show no prompt",
            "read it while the app is in front, or store what the background needs without access control"),
        ErrorNumber(
            keychain: -26275, "Decode", "Unable to decode the provided data.",
            "the bytes are no certificate, key or PKCS #12 file: PEM where DER is taken, base64 that was not decoded, a file that was cut or that is a page of HTML",
            "print the first bytes: DER begins with 0x30; a file of PKCS #12 that OpenSSL 3 wrote may need -legacy"),
        ErrorNumber(
            keychain: -26276, "Internal", "An internal error occurred in the Security framework.",
            "Security failed for a reason that it does not say",
            "try again; print the whole error with its NSUnderlyingErrorKey"),
        ErrorNumber(
            keychain: -34018, "MissingEntitlement", "A required entitlement isn't present.",
            "the process is not signed with an App ID, or not for the access group that it asks for: tests without a host app, tools, a build without signing, a Mac app without Keychain Sharing",
            "give the target a team and the capability Keychain Sharing, and run tests in a host app"),
    ]
}

extension ErrorNumber {
    fileprivate init(url number: Int, _ name: String, _ sentence: String, _ meaning: String = "", _ others: [Code] = [])
    {
        self.init(
            domain: .url, number: number, name: "NSURLError" + name, sentence: sentence, meaning: meaning,
            others: others)
    }

    fileprivate init(cfNetwork number: Int, _ name: String, _ sentence: String, _ others: [Code]) {
        self.init(domain: .cfNetwork, number: number, name: "kCF" + name, sentence: sentence, others: others)
    }

    fileprivate init(security number: Int, _ name: String, _ sentence: String, _ others: [Code]) {
        self.init(domain: .security, number: number, name: "errSec" + name, sentence: sentence, others: others)
    }

    fileprivate init(keychain number: Int, _ name: String, _ sentence: String, _ meaning: String, _ action: String) {
        self.init(
            domain: .keychain, number: number, name: "errSec" + name, sentence: sentence, meaning: meaning, others: [],
            action: action)
    }

    fileprivate init(httpStream number: Int, _ name: String, _ sentence: String, _ others: [Code] = []) {
        self.init(domain: .httpStream, number: number, name: name, sentence: sentence, others: others)
    }

    fileprivate init(posix number: Int, _ name: String, _ sentence: String, _ others: [Code]) {
        self.init(domain: .posix, number: number, name: name, sentence: sentence, others: others)
    }

    fileprivate init(stream number: Int, _ name: String, _ sentence: String, _ others: [Code] = []) {
        self.init(domain: .stream, number: number, name: "errSSL" + name, sentence: sentence, others: others)
    }
}
