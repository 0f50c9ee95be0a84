// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import ArgumentParser

/// The logs of Certificate Transparency: what every command that judges a certificate has in common.
struct TransparencyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The Certificate Transparency logs, as browsers publish them (JSON). A list that is 60 days old or older is used and noted.",
            valueName: "FILE"))
    var ctLogList: String?

    /// The logs of the option; nil without it.
    func logs() throws -> CTLogList? { try ctLogList.map { try TransparencyOptions.logs(of: $0) } }

    /// Reads a list of logs.
    static func logs(of path: String) throws -> CTLogList {
        try CommandIO.value(of: path, limit: 16 << 20, CTLogList.init(json:))
    }
}
