// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Findings
import TLSFacts
import TLSProbe

/// Name resolution, roots and the time for a connection: what `fetch` and `proxy` have in common.
struct EnforcementOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Add roots as if a user had installed them; may be repeated.", valueName: "PEM"))
    var caFile: [String] = []

    @OptionGroup var places: ResolveOptions

    @Option(help: ArgumentHelp("Seconds for one connection to a server, TLS included.", valueName: "S"))
    var connectTimeout: Double = 10

    func validate() throws {
        try EnforcementOptions.check(seconds: connectTimeout, of: "--connect-timeout")
    }

    /// - Throws: `ValidationError` for what is no number of seconds above 0 and up to a day.
    static func check(seconds: Double, of option: String) throws {
        guard seconds > 0, seconds <= 86_400 else {
            throw ValidationError("\(option) takes seconds, more than 0 and at most 86400.")
        }
    }

    var connectLimit: Duration { .milliseconds(Int(connectTimeout * 1000)) }

    /// The system's roots and those of the options. Without a system store the options' roots are all there is.
    func trust() throws -> TrustAnchors {
        var anchors: TrustAnchors
        do {
            anchors = try TrustAnchors.system()
        } catch {
            if caFile.isEmpty { CommandIO.say("sealward: no system roots were found; every certificate is untrusted.") }
            anchors = TrustAnchors()
        }
        for path in caFile {
            do {
                try anchors.add(file: path, kind: .installed)
            } catch {
                throw CommandFault("\(path): \(error.reason); name a PEM file with --ca-file.")
            }
        }
        return anchors
    }
}
