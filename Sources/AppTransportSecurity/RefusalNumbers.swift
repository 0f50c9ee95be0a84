// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The numbers that an app gets if the client's own judgement refuses a server, by cause: the judge reads the table forwards, and whoever reads a
/// log reads it backwards.
///
/// Source: facts gathered from real nscurl output and Security, base/SecBase.h.
package enum RefusalNumbers {
    /// Trust evaluation under ATS, and pins everywhere: one number for everything.
    static let transportSecurity = -9802
    /// A version below the minimum; with a minimum of TLS 1.3 some systems have ``noMinimum``.
    static let version = -9836
    /// A minimum that the system does not know, and what breaks the protocol.
    static let noMinimum = -9800
    /// Everything else that was negotiated and is not accepted.
    static let negotiation = -9801

    /// Trust evaluation outside ATS.
    private static let plain: [(cause: Code, urlError: Int, stream: Int)] = [
        (.trustUnknownRoot, -1203, -9812), (.trustSelfSigned, -1202, -9813), (.trustMissingIntermediate, -1203, -9812),
        (.trustWrongHost, -1202, -9843), (.trustNoSubjectAlternativeName, -1202, -9843), (.trustExpired, -1201, -9814),
        (.trustNotYetValid, -1204, -9815), (.trustWeakKey, -1202, -9807), (.trustWeakSignature, -1202, -9807),
        (.trustValidityTooLong, -1202, -9807), (.trustWrongKeyUsage, -1202, -9807),
        (.trustNameConstraints, -1202, -9807),
        (.trustRevoked, -1202, -9807), (.ctMissing, -1202, -9807),
    ]

    /// What the client finds wrong in a handshake, by the number with which it ends it.
    private static let handshake: [Int: [Code]] = [
        version: [.tlsVersionTooLow],
        noMinimum: [.tlsHandshakeFailed, .tlsVersionTooLow],
        negotiation: [
            .tlsNoForwardSecrecy, .tlsNoCommonSuite, .tlsNoCommonGroup, .tlsNoCommonSignature,
            .tlsNoExtendedMasterSecret,
            .trustWeakSignature, .tlsVersionTooLow, .tlsHandshakeFailed,
        ],
    ]

    /// The numbers of a cause of trust evaluation outside ATS.
    static func plain(_ cause: Code) -> (urlError: Int, stream: Int) {
        plain.first { $0.cause == cause }.map { ($0.urlError, $0.stream) } ?? (-1202, -9807)
    }

    /// The causes for which trust evaluation refuses a server.
    package static let trust: [Code] = plain.map(\.cause) + [.trustPinMismatch]

    /// The causes that give a number of the CFStream error; empty for numbers that the other side or the network brings about.
    package static func causes(stream: Int) -> [Code] {
        stream == transportSecurity
            ? trust : (handshake[stream] ?? []) + plain.filter { $0.stream == stream }.map(\.cause)
    }

    /// The causes that give a number of the NSURLError.
    package static func causes(urlError: Int) -> [Code] {
        urlError == URLLoadError.secureConnectionFailed(version).code
            ? causes(stream: version) + causes(stream: negotiation) + trust
            : plain.filter { $0.urlError == urlError }.map(\.cause)
    }
}
