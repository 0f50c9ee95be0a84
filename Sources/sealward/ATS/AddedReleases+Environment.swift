// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import FoundationEssentials
import Vocabulary

extension AddedReleases {
    /// The variable that names the file.
    static let variable = "SEALWARD_SYSTEMS"

    /// The releases of the file that the environment names; none if it names none.
    ///
    /// - Throws: `CommandFault` if the file cannot be read or says something else.
    static func ofEnvironment() throws(CommandFault) -> AddedReleases {
        guard let path = ProcessInfo.processInfo.environment[variable], !path.isEmpty else { return AddedReleases() }
        let bytes = try CommandIO.readText(path, limit: 256 << 10)
        do throws(MalformedInput) {
            return try AddedReleases(bytes)
        } catch {
            throw CommandFault("\(variable): \(CommandIO.name(of: path)): \(error.reason).")
        }
    }
}
