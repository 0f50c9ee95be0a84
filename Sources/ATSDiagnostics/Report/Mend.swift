// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Findings

/// What to do about a cause, on the server first: an exception in the app is the second choice.
enum Mend {
    static func server(_ code: Code) -> String? { table[code.rawValue] }

    /// The keys of an exception in one line: `NSExceptionDomains.host.NSExceptionMinimumTLSVersion = TLSv1.0`.
    static func keys(of exception: PropertyListValue) -> String {
        var lines: [String] = []
        collect(exception, path: [], into: &lines)
        return lines.joined(separator: ", ")
    }

    private static func collect(_ value: PropertyListValue, path: [String], into lines: inout [String]) {
        if let members = value.members, path.count < 8 {
            for key in members.keys.sorted() {
                if let member = members[key] { collect(member, path: path + [key], into: &lines) }
            }
            return
        }
        let text =
            switch value {
            case .boolean(let flag): flag ? "YES" : "NO"
            case .string(let text): text
            default: value.oldStyleDescription
            }
        lines.append("\(path.joined(separator: ".")) = \(text)")
    }

    private static let table: [String: String] = [
        "ats.tls.version-too-low": "enable TLS 1.2 or 1.3 on the server",
        "ats.tls.no-forward-secrecy": "enable ECDHE suites on the server, for example ECDHE-RSA-AES128-GCM-SHA256",
        "ats.tls.no-common-suite": "enable ECDHE suites with AES-GCM on the server",
        "ats.tls.no-common-group": "enable X25519 or P-256 on the server",
        "ats.tls.handshake-failed": "look into the server's TLS log",
        "ats.tls.client-certificate-required": "give the app a client certificate, or make it optional on the server",
        "ats.trust.unknown-root": "use a certificate of a public authority, or install the root on the devices",
        "ats.trust.self-signed": "use a certificate of a public authority",
        "ats.trust.missing-intermediate": "send the intermediate certificate after the leaf",
        "ats.trust.expired": "renew the certificate",
        "ats.trust.not-yet-valid": "check the clocks, or wait until the certificate is valid",
        "ats.trust.wrong-host": "get a certificate that names this host",
        "ats.trust.no-subject-alternative-name": "get a certificate with the host as subject alternative name",
        "ats.trust.weak-key": "get a certificate with RSA of 2048 bits or P-256",
        "ats.trust.weak-signature": "get a certificate that is signed with SHA-256 or stronger",
        "ats.trust.validity-too-long": "get a certificate that is valid for a shorter time",
        "ats.trust.wrong-key-usage": "get a certificate for server authentication",
        "ats.trust.revoked": "replace the certificate",
        "ats.trust.pin-mismatch": "update the pins of the app, or use the pinned key",
        "ats.ct.missing": "get a certificate with signed certificate timestamps",
        "ats.cleartext.blocked": "serve https",
        "ats.http.redirect-blocked": "redirect to https",
        "ats.http.redirect-loop": "mend the redirects of the server",
        "ats.http.no-answer": "look into the server's HTTP log",
        "ats.net.refused": "start the server, or check the port and the firewall",
        "ats.net.timeout": "check the network and the firewall, or raise --connect-timeout",
        "ats.net.reset": "check what stands between: a firewall or a proxy resets the connection",
        "ats.net.closed": "look into the server's log: it closes the connection after the hello",
        "ats.net.not-tls": "check the port: something else than TLS answers there",
        "ats.net.dns": "check the name",
    ]
}
