// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Logging

extension Admission {
    /// Writes one line for each report of what was turned away.
    package static func logger(_ log: Logger) -> @Sendable (Refusals) -> Void {
        { refusals in
            log.warning(
                "Connections were turned away.",
                metadata: [
                    "full": "\(refusals.full)", "addressFull": "\(refusals.addressFull)",
                    "noDescriptors": "\(refusals.exhausted)", "replaced": "\(refusals.replaced)",
                ]
            )
        }
    }
}
