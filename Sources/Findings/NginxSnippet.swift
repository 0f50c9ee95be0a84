// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// An nginx configuration that mends what a check found.
package enum NginxSnippet {
    /// The lines for these causes, or nil where no configuration of the server mends them.
    ///
    /// - Parameters:
    ///   - host: goes into `server_name`; anything that is no host name is left out.
    ///   - port: the one that was connected to.
    package static func text(for codes: [Code], host: String, port: Int) -> String? {
        var lines: [String] = []
        var notes: [String] = []
        for code in codes {
            switch code.rawValue {
            case "ats.tls.version-too-low": lines.append("ssl_protocols TLSv1.2 TLSv1.3;")
            case "ats.tls.no-common-suite", "ats.tls.no-forward-secrecy":
                lines.append("ssl_protocols TLSv1.2 TLSv1.3;")
                lines.append("ssl_ciphers \(suites);")
            case "ats.tls.no-common-group": lines.append("ssl_ecdh_curve X25519:prime256v1:secp384r1;")
            case "ats.trust.missing-intermediate":
                lines.append("ssl_certificate /etc/ssl/fullchain.pem;    # leaf first, then every intermediate")
            case "ats.tls.client-certificate-required": lines.append("ssl_verify_client optional;")
            case "ats.http.redirect-blocked": notes.append("# Redirect to https:// addresses only.")
            case "ats.trust.expired", "ats.trust.not-yet-valid":
                notes.append("# Renew the certificate; no setting helps.")
            case "ats.trust.wrong-host", "ats.trust.no-subject-alternative-name":
                notes.append("# Get a certificate with the host among its subject alternative names.")
            case "ats.trust.weak-key", "ats.trust.weak-signature":
                notes.append(
                    "# Get a certificate with RSA 2048 or EC 256 bits and more, signed with SHA-256 or better."
                )
            case "ats.trust.self-signed", "ats.trust.unknown-root":
                notes.append("# Get a certificate from a publicly trusted authority.")
            case "ats.cleartext.blocked":
                notes.append("# server { listen 80; return 301 https://$host$request_uri; }")
            default: continue
            }
        }
        var unique: [String] = []
        for line in notes + lines where !unique.contains(line) { unique.append(line) }
        guard !unique.isEmpty else { return nil }
        let isName =
            !host.isEmpty
            && host.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
                default: false
                }
            }
        let name = isName ? "    server_name \(host);\n" : ""
        return "server {\n    listen \(port) ssl;\n\(name)" + unique.map { "    \($0)\n" }.joined() + "}\n"
    }

    private static let suites =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
        + "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
}
