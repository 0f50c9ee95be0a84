// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// The servers whose settings are named line by line.
package enum ServerSoftware: String, Sendable, CaseIterable {
    case nginx, apache, haproxy, iis

    package var title: String {
        switch self {
        case .nginx: "nginx"
        case .apache: "Apache"
        case .haproxy: "HAProxy"
        case .iis: "IIS"
        }
    }
}

/// A setting of a server that a cause is about, in the words of each program.
package enum ServerSetting: Sendable {
    case versions
    case suites
    case groups
    /// The extended master secret. No setting gives it to an old library: TLS 1.3 does not need it, and OpenSSL has both since 1.1.1.
    case extendedMasterSecret
    /// The algorithms that the server signs the handshake with.
    case signatureAlgorithms
    case certificate
    /// Whether a client certificate is demanded.
    case clientCertificate

    package func line(in software: ServerSoftware) -> String {
        let line = lines
        return switch software {
        case .nginx: line.nginx
        case .apache: line.apache
        case .haproxy: line.haproxy
        case .iis: line.iis
        }
    }

    private typealias Lines = (nginx: String, apache: String, haproxy: String, iis: String)

    private static let vetted =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384"

    private static let signatures = "ECDSA+SHA256:ECDSA+SHA384:RSA-PSS+SHA256:RSA+SHA256"

    /// What Windows Server 2019 and later take, from memory of Microsoft's pages: learn.microsoft.com/windows-server/security/tls/tls-registry-settings
    /// (versions), learn.microsoft.com/powershell/module/tls (suites and curves; a group policy "SSL Cipher Suite Order" or "ECC Curve Order"
    /// goes before them), KB3081320 (extended master secret), KB2973337 (signature algorithms),
    /// learn.microsoft.com/iis/configuration/system.webServer/security/access (client certificates).
    private var lines: Lines {
        switch self {
        case .versions:
            (
                nginx: "ssl_protocols TLSv1.2 TLSv1.3;", apache: "SSLProtocol -all +TLSv1.2 +TLSv1.3",
                haproxy: "ssl-default-bind-options ssl-min-ver TLSv1.2",
                iis:
                    #"HKLM\SYSTEM\CurrentControlSet\Control\SecurityProviders\SCHANNEL\Protocols\TLS 1.2\Server: Enabled = 1, DisabledByDefault = 0"#
            )
        case .suites:
            (
                nginx: "ssl_ciphers \(Self.vetted);", apache: "SSLCipherSuite \(Self.vetted)",
                haproxy: "ssl-default-bind-ciphers \(Self.vetted)",
                iis:
                    "Enable-TlsCipherSuite -Name TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -Position 0    # ECDHE_ECDSA for an ECDSA certificate"
            )
        case .groups:
            (
                nginx: "ssl_ecdh_curve X25519:prime256v1:secp384r1;",
                apache: "SSLOpenSSLConfCmd Groups X25519:P-256:P-384",
                haproxy: "ssl-default-bind-curves X25519:P-256:P-384",
                iis: "Enable-TlsEccCurve -Name NistP256 -Position 0"
            )
        case .extendedMasterSecret:
            (
                nginx: "ssl_protocols TLSv1.2 TLSv1.3;    # with OpenSSL 1.1.1 or later, which nginx -V names",
                apache:
                    "SSLProtocol -all +TLSv1.2 +TLSv1.3    # with OpenSSL 1.1.1 or later, which the error log names at start",
                haproxy:
                    "ssl-default-bind-options ssl-min-ver TLSv1.2    # with OpenSSL 1.1.1 or later, which haproxy -vv names",
                iis:
                    #"HKLM\SYSTEM\CurrentControlSet\Control\SecurityProviders\SCHANNEL: DisableServerExtendedMasterSecret = 0"#
            )
        case .signatureAlgorithms:
            (
                nginx: "ssl_conf_command SignatureAlgorithms \(Self.signatures);",
                apache: "SSLOpenSSLConfCmd SignatureAlgorithms \(Self.signatures)",
                haproxy: "ssl-default-bind-sigalgs \(Self.signatures)",
                iis:
                    #"HKLM\SYSTEM\CurrentControlSet\Control\Cryptography\Configuration\Local\SSL\00010003: Functions contains RSA/SHA256, or ECDSA/SHA256 for an ECDSA certificate"#
            )
        case .certificate:
            (
                nginx: "ssl_certificate /etc/ssl/fullchain.pem;    # leaf first, then every intermediate",
                apache: "SSLCertificateFile /etc/ssl/fullchain.pem    # leaf first, then every intermediate",
                haproxy:
                    "bind :443 ssl crt /etc/haproxy/site.pem    # leaf first, then every intermediate, then the key",
                iis:
                    "the https binding of the site (Edit Bindings, SSL certificate); intermediates go into the computer's Intermediate Certification Authorities (certlm.msc)"
            )
        case .clientCertificate:
            (
                nginx: "ssl_verify_client optional;", apache: "SSLVerifyClient optional",
                haproxy: "bind :443 ssl crt /etc/haproxy/site.pem verify optional",
                iis: "SSL Settings of the site: Client certificates, Accept"
            )
        }
    }
}
