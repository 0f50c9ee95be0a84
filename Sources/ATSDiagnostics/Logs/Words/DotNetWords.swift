// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// Exceptions of .NET's managed handler, which judges certificates itself. Those of NSUrlSessionHandler carry the system's own error.
enum DotNetWords {
    static let all: [LogPhrase] = [
        row("RemoteCertificateNameMismatch", [.trustWrongHost]), row("UntrustedRoot", [.trustUnknownRoot]),
        row("NotTimeValid", [.trustExpired]), row("PartialChain", [.trustMissingIntermediate, .trustUnknownRoot]),
        row("RemoteCertificateChainErrors", [.trustUnknownRoot, .trustMissingIntermediate, .trustExpired]),
        row("by the provided RemoteCertificateValidationCallback", [.trustRefusedByDelegate]),
        row("The remote certificate is invalid", [.trustUnknownRoot, .trustWrongHost, .trustExpired]),
        row("nodename nor servname provided", [.netDNS]), row("Name or service not known", [.netDNS]),
        // WebException of Mono and Xamarin.
        row("Error: NameResolutionFailure", [.netDNS]), row("Error: ConnectFailure", [.netRefused]),
        row("Error: TrustFailure", [.trustUnknownRoot, .trustMissingIntermediate, .trustWrongHost]),
        row("Error: SecureChannelFailure", [.tlsHandshakeFailed, .tlsVersionTooLow]),
        row("AuthenticationException", [.tlsHandshakeFailed]),
        row("The SSL connection could not be established", [.tlsHandshakeFailed]),
    ]

    private static func row(_ words: String, _ codes: [Code]) -> LogPhrase { LogPhrase(words, .dotNet, codes) }
}
