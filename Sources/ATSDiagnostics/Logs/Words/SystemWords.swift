// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Vocabulary

/// What the system's own loading writes: CFNetwork, Network, boringssl and Security, whatever the language of the device.
enum SystemWords {
    static let strict = "strict TLS Trust evaluation failed"
    static let systemTrust = "ATS failed system trust"
    static let reset = "received ECONNRESET with incomplete TLS handshake"

    static let all: [LogPhrase] = [
        row("Local network prohibited", [.netLocalNetwork]),
        row("Sandbox is preventing this process", [.netSandbox]),
        row("deny(1) network-outbound", [.netSandbox]), row("[1: Operation not permitted]", [.netSandbox]),
        row("Operation not permitted, errno = 1,", [.netSandbox]),
        row("Operation not permitted, errno = 1)", [.netSandbox]),
        row("DNSServiceCreateDelegateConnection failed: ServiceNotRunning", [.netSandbox]),
        row(
            "Denied over cellular", [.netOffline],
            "Cellular data is switched off for this app, and there is no other network."),
        row("Denied over Wi-Fi", [.netOffline], "Wi-Fi is not allowed for this app, and there is no other network."),
        row("unsatisfied (No network route)", [.netOffline], "The device has no route to any network."),
        row(
            "kCFErrorDomainCFNetwork Code=310", [.netRefused],
            "The proxy of the system's settings refuses the tunnel to <host>: look at the proxy first."),
        row(
            "kCFErrorDomainCFNetwork Code=306", [.netRefused],
            "The proxy of the system's settings cannot be reached: look at the proxy first."),
        // Security's own words for what a policy refuses.
        row("SSLHostname", [.trustWrongHost]),
        row("ValidityPeriodMaximums", [.trustValidityTooLong]), row("TemporalValidity", [.trustExpired]),
        row("SystemTrustedCTRequired", [.ctMissing]), row("MissingIntermediate", [.trustMissingIntermediate]),
        row("ServerAuthEKU", [.trustWrongKeyUsage]), row("WeakKeySize", [.trustWeakKey]),
        row("WeakSignature", [.trustWeakSignature]), row("BlackListedLeaf", [.trustRevoked]),
        row("NameConstraints", [.trustNameConstraints]), row("AnchorTrusted", [.trustUnknownRoot]),
        // The same as numbers of the system, SecBase.h.
        row("-67602", [.trustWrongHost]), row("-67609", [.trustWrongKeyUsage]), row("-67818", [.trustExpired]),
        row("-67819", [.trustNotYetValid]), row("-67820", [.trustRevoked]), row("-67901", [.trustValidityTooLong]),
        row("CSSMERR_TP_CERT_EXPIRED", [.trustExpired]), row("CSSMERR_APPLETP_HOSTNAME_MISMATCH", [.trustWrongHost]),
        row(
            "WRONG_VERSION_NUMBER", [.netNotTLS],
            "<host> answers with something that is not TLS: plain HTTP on this port, or a proxy."),
        row("UNSUPPORTED_PROTOCOL", [.tlsVersionTooLow]),
        row(reset, [.netReset], "The connection to <host> was reset during the TLS handshake."),
        // Who judged; the cause comes from the chain and the numbers.
        row(systemTrust, []), row(strict, []), row("system TLS Trust evaluation failed", []),
        row("default TLS Trust evaluation failed", []), row("TLS Trust encountered error", []),
    ]

    private static func row(_ words: String, _ codes: [Code], _ sentence: String? = nil) -> LogPhrase {
        LogPhrase(words, .system, codes, sentence)
    }
}
