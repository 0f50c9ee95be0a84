// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import FuzzDriver

/// Mach-O executables, thin and fat, with their code signatures and entitlements, the latter also alone. Nothing may crash.
FuzzDriver.run(corpus: "executable") { input in
    _ = try? CodeSignature.entitlements(input)
    _ = EncodedEntitlements.read(input)
    _ = ProvisioningProfile.entitlement(input, source: "fuzz")
}
