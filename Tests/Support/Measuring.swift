// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
package import Testing

/// Processor and wall time are compared in `make check-all` alone (`SEALWARD_LONG=1`): what else runs on a machine changes them.
package enum Measuring {
    /// Whether a run compares no times.
    package static let isOff = !LongForm.isAsked

    /// For a test that does nothing else.
    package static var only: ConditionTrait { .disabled(if: isOff, "compares times: set SEALWARD_LONG=1") }
}
