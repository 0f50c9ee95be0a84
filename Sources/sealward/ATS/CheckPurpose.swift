// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import ArgumentParser

/// Whose loads a check judges.
enum CheckPurpose: String, ExpressibleByArgument, CaseIterable {
    /// Those of the system's own processes since OS 27.
    case managed

    /// The system that managed loads are judged on: macOS 27 unless another one of 27 or later is named.
    static func managedSystem(_ os: OSProfile?) throws -> OSProfile {
        guard let os else { return OSProfile.named("macos27") ?? .standard }
        guard os.sdk != nil, os.facts.hardensOwnProcesses.value else {
            throw ValidationError("--for managed is what OS 27 does: leave out --os, or name ios27 or macos27.")
        }
        return os
    }
}
