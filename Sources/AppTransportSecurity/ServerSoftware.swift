// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Findings

/// The servers whose settings are named line by line.
package enum ServerSoftware: String, Sendable, CaseIterable {
    case nginx, apache, haproxy, iis

    /// For people.
    package var title: String {
        switch self {
        case .nginx: "nginx"
        case .apache: "Apache"
        case .haproxy: "HAProxy"
        case .iis: "IIS"
        }
    }

    /// The line to change for a cause, in the words of this server; nil if no line of it helps.
    package func line(for cause: Cause) -> String? {
        if let line = ServerSoftware.lines[cause.code]?[self] { return line }
        // What is wrong with a certificate is put right by another certificate.
        return cause.code.rawValue.hasPrefix("ats.trust.") ? ServerSoftware.certificate[self] : nil
    }

    private static let suites =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384"
    private static let versions: [ServerSoftware: String] = [
        .nginx: "ssl_protocols TLSv1.2 TLSv1.3;",
        .apache: "SSLProtocol -all +TLSv1.2 +TLSv1.3",
        .haproxy: "ssl-default-bind-options ssl-min-ver TLSv1.2",
        .iis:
            #"HKLM\SYSTEM\CurrentControlSet\Control\SecurityProviders\SCHANNEL\Protocols\TLS 1.2\Server: Enabled = 1, DisabledByDefault = 0"#,
    ]
    private static let ciphers: [ServerSoftware: String] = [
        .nginx: "ssl_ciphers \(suites);",
        .apache: "SSLCipherSuite \(suites)",
        .haproxy: "ssl-default-bind-ciphers \(suites)",
        .iis: "Enable-TlsCipherSuite -Name TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -Position 0",
    ]
    private static let groups: [ServerSoftware: String] = [
        .nginx: "ssl_ecdh_curve X25519:prime256v1:secp384r1;",
        .apache: "SSLOpenSSLConfCmd Groups X25519:P-256:P-384",
        .haproxy: "ssl-default-bind-curves X25519:P-256:P-384",
        .iis: "Enable-TlsEccCurve -Name NistP256 -Position 0",
    ]
    /// No setting gives an old library the extension: TLS 1.3 does not need it, and OpenSSL has both since 1.1.1.
    private static let masterSecret: [ServerSoftware: String] = [
        .nginx: "ssl_protocols TLSv1.2 TLSv1.3;    # with OpenSSL 1.1.1 or later, which nginx -V names",
        .apache:
            "SSLProtocol -all +TLSv1.2 +TLSv1.3    # with OpenSSL 1.1.1 or later, which the error log names at start",
        .haproxy:
            "ssl-default-bind-options ssl-min-ver TLSv1.2    # with OpenSSL 1.1.1 or later, which haproxy -vv names",
        .iis:
            #"HKLM\SYSTEM\CurrentControlSet\Control\SecurityProviders\SCHANNEL: DisableServerExtendedMasterSecret = 0"#,
    ]
    private static let certificate: [ServerSoftware: String] = [
        .nginx: "ssl_certificate /etc/ssl/fullchain.pem;    # leaf first, then every intermediate",
        .apache: "SSLCertificateFile /etc/ssl/fullchain.pem    # leaf first, then every intermediate",
        .haproxy: "bind :443 ssl crt /etc/haproxy/site.pem    # leaf first, then every intermediate, then the key",
        .iis:
            "the https binding of the site (Edit Bindings, SSL certificate); intermediates go into the computer's store CA (certlm.msc)",
    ]
    private static let clientCertificate: [ServerSoftware: String] = [
        .nginx: "ssl_verify_client optional;",
        .apache: "SSLVerifyClient optional",
        .haproxy: "bind :443 ssl crt /etc/haproxy/site.pem verify optional",
        .iis: "SSL Settings of the site: Client certificates, Accept",
    ]

    private static let lines: [Code: [ServerSoftware: String]] = [
        .tlsVersionTooLow: versions, .tlsNoForwardSecrecy: ciphers, .tlsNoCommonSuite: ciphers,
        .tlsNoCommonGroup: groups, .tlsNoExtendedMasterSecret: masterSecret,
        .tlsClientCertificateRequired: clientCertificate, .tlsNoCommonSignature: certificate,
    ]
}
