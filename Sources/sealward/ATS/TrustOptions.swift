// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TLSModel
import TLSProbe
import Vocabulary

/// Whom to trust: what every command that judges a certificate has in common.
struct TrustOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Trust these roots as if a user had installed them; - is standard input. May be repeated.", valueName: "PEM"
        ))
    var caFile: [String] = []

    @Option(
        help: ArgumentHelp(
            "Trust these anchors as the app's own code would (SecTrustSetAnchorCertificates); may be repeated.",
            valueName: "FILE"))
    var appAnchor: [String] = []

    @Option(help: ArgumentHelp("Trust these roots instead of the system's; - is standard input.", valueName: "PEM"))
    var roots: String?

    /// The system's roots or those instead of them, and the installed ones. Without a system store the options' roots are all there is.
    func anchors() throws -> TrustAnchors {
        var anchors = TrustAnchors()
        if let roots {
            try TrustOptions.add(roots, .system, "--roots", to: &anchors)
        } else {
            do {
                anchors = try .system()
            } catch {
                if caFile.isEmpty, appAnchor.isEmpty {
                    CommandIO.say("sealward: no system roots were found; every certificate is untrusted.")
                }
            }
        }
        for path in appAnchor { try TrustOptions.add(path, .app, "--app-anchor", to: &anchors) }
        for path in caFile { try TrustOptions.add(path, .installed, "--ca-file", to: &anchors) }
        return anchors
    }

    private static func add(_ path: String, _ kind: AnchorKind, _ option: String, to anchors: inout TrustAnchors) throws
    {
        do {
            try anchors.add(input: path, kind: kind)
            SecretFiles.warn(path)
        } catch {
            throw CommandFault("\(CommandIO.name(of: path)): \(error.reason); name a PEM file with \(option).")
        }
    }
}
