// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import TLSModel

/// The error that an app would get from URLSession for a load.
public struct URLLoadError: Error, Sendable, Equatable {
    /// `NSURLErrorDomain`.
    public let domain: String
    /// The NSURLError code, negative.
    public let code: Int
    /// The code of kCFStreamErrorDomainSSL, where TLS failed.
    public let streamCode: Int?
    /// The localized description.
    public let message: String

    package init(code: Int, streamCode: Int? = nil, message: String) {
        domain = "NSURLErrorDomain"
        self.code = code
        self.streamCode = streamCode
        self.message = message
    }

    /// The same with Apple's sentence for the number.
    package init(_ code: Int, streamCode: Int? = nil) {
        self.init(code: code, streamCode: streamCode, message: ErrorNumber.url(code)?.sentence ?? "unknown error")
    }
}

extension URLLoadError {
    /// An error that stands below another one in `NSUnderlyingError`.
    package struct Underlying: Sendable, Equatable {
        /// `kCFErrorDomainCFNetwork`.
        package let domain: String
        /// Its code; the same number as that of the error above it.
        package let code: Int
    }

    /// What `NSUnderlyingError` holds: the error of CFNetwork, from which URLSession makes its own; nil if the load did not come so far.
    ///
    /// Outputs of nscurl show it for -1022 and -1200 (Cocoa Keys, listing 2; gist krunk4ever/936e03b48c030e26a3a6); that the others have the same
    /// form is inferred.
    package var underlying: Underlying? {
        guard URLLoadError.codesOfCFNetwork.contains(code) else { return nil }
        return Underlying(domain: "kCFErrorDomainCFNetwork", code: code)
    }

    /// `_kCFStreamErrorDomainKey`: 3, kCFStreamErrorDomainSSL, where there is a stream code.
    package var streamDomain: Int? { streamCode == nil ? nil : 3 }

    private static let codesOfCFNetwork: Set<Int> = [
        -1001, -1003, -1004, -1005, -1017, -1022, -1200, -1201, -1202, -1203, -1204, -1205, -1206,
    ]

    /// Domain, code and stream code.
    package var number: String { "\(domain) \(code)" + (streamCode.map { ", stream code \($0)" } ?? "") }

    /// One line for people: the numbers, the sentence, and what lies below.
    package var summary: String {
        let below = underlying.map { " (underlying error \($0.domain) \($0.code))" } ?? ""
        return "\(number): \(message)\(below)"
    }
}

extension URLLoadError {
    /// NSURLErrorAppTransportSecurityRequiresSecureConnection: cleartext where the policy asks for TLS.
    package static let requiresSecureConnection = URLLoadError(-1022)

    /// NSURLErrorSecureConnectionFailed with a stream code, which says more.
    package static func secureConnectionFailed(_ streamCode: Int) -> URLLoadError {
        URLLoadError(-1200, streamCode: streamCode)
    }

    /// A certificate that plain trust evaluation refuses.
    package static func certificate(_ code: Int, _ streamCode: Int, host: String) -> URLLoadError {
        URLLoadError(
            code: code, streamCode: streamCode,
            message:
                "The certificate for this server is invalid. You might be connecting to a server that is pretending to be "
                + "“\(host)” which could put your confidential information at risk.")
    }

    /// NSURLErrorClientCertificateRequired.
    package static func clientCertificateRequired(host: String) -> URLLoadError {
        URLLoadError(code: -1206, streamCode: nil, message: "The server “\(host)” requires a client certificate.")
    }

    /// The error of a connection that ended before TLS.
    package static func connection(_ failure: ConnectionFailure) -> URLLoadError {
        switch failure {
        case .refused, .unreachable: URLLoadError(-1004)
        case .timeout: URLLoadError(-1001)
        // errSSLClosedNoNotify: two consoles show it for a reset and for an end before the ServerHello.
        case .reset, .closed: secureConnectionFailed(-9816)
        case .notTLS: secureConnectionFailed(-9800)
        case .nameNotFound: URLLoadError(-1003)
        }
    }

    /// The stream code that a received alert becomes.
    package static func streamCode(ofAlert description: UInt8) -> Int {
        ConnectionCauses.alerts[description]?.streamCode ?? -9800
    }
}
