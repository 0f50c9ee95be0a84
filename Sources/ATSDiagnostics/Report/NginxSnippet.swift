// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
package import Vocabulary

/// An nginx configuration that fixes what a check found.
package enum NginxSnippet {
    /// The lines for these causes, or nil if no configuration of the server fixes them.
    ///
    /// - Parameter host: goes into `server_name`; anything that is no host name is left out.
    package static func text(for causes: [Cause], host: String, port: Int) -> String? {
        let fixes = causes.compactMap { Remediation(for: $0) }.filter { $0.setting != nil }
        var unique: [String] = []
        for line in fixes.map({ "# To do: \($0.server)." }) + fixes.compactMap({ $0.setting?.line(in: .nginx) })
        where !unique.contains(line) {
            unique.append(line)
        }
        guard !unique.isEmpty else { return nil }
        let isName = !host.isEmpty && host.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == 0x2D || $0 == 0x2E }
        let name = isName ? "    server_name \(host);\n" : ""
        return "server {\n    listen \(port) ssl;\n\(name)" + unique.map { "    \($0)\n" }.joined() + "}\n"
    }
}
