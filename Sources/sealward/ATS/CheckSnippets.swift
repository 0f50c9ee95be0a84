// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import Findings

/// Text to paste: what mends the server, and what the app's Info.plist would need instead.
enum CheckSnippets {
    /// Lines of an nginx server block that mend a cause; nil where configuration alone mends nothing.
    static func nginx(for code: Code) -> String? {
        switch code {
        case "ats.tls.version-too-low": "ssl_protocols TLSv1.2 TLSv1.3;"
        case "ats.tls.no-forward-secrecy", "ats.tls.no-common-suite":
            """
            ssl_protocols TLSv1.2 TLSv1.3;
            ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384;
            """
        case "ats.tls.no-common-group": "ssl_ecdh_curve X25519:prime256v1:secp384r1;"
        case "ats.trust.missing-intermediate": "ssl_certificate /path/to/leaf-and-intermediates.pem;"
        case "ats.tls.client-certificate-required": "ssl_verify_client optional;"
        case "ats.http.redirect-blocked": "return 301 https://$host$request_uri;"
        default: nil
        }
    }

    /// The difference to an Info.plist, as lines that are added.
    static func plist(_ exception: SmallestException) -> String? {
        guard let members = exception.value?.members, !members.isEmpty else { return nil }
        var lines = ["+ <key>NSAppTransportSecurity</key>"]
        write(.dictionary(members), into: &lines, depth: 0)
        return lines.joined(separator: "\n")
    }

    private static func write(_ value: PropertyListValue, into lines: inout [String], depth: Int) {
        let pad = "+ " + String(repeating: "    ", count: depth)
        switch value {
        case .dictionary(let members):
            lines.append("\(pad)<dict>")
            for key in members.keys.sorted() {
                lines.append("\(pad)    <key>\(key)</key>")
                if let member = members[key] { write(member, into: &lines, depth: depth + 1) }
            }
            lines.append("\(pad)</dict>")
        case .boolean(let flag): lines.append("\(pad)<\(flag)/>")
        case .string(let text): lines.append("\(pad)<string>\(text)</string>")
        // Exceptions hold booleans and strings only.
        case .integer, .real, .date, .data, .array: break
        }
    }
}
