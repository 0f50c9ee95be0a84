// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import Vocabulary

/// The codes that only logs give. `docs/errors.md` says what each means.
extension Code {
    package static let cleartextOwnRule: Code = "ats.cleartext.own-rule"
    package static let netLocalNetwork: Code = "ats.net.local-network-denied"
    package static let deviceUnknown: Code = "attest.device.unknown-system-failure"
    package static let deviceUnsupported: Code = "attest.device.feature-unsupported"
    package static let deviceInvalidInput: Code = "attest.device.invalid-input"
    package static let deviceInvalidKey: Code = "attest.device.invalid-key"
    package static let deviceUnavailable: Code = "attest.device.server-unavailable"
    package static let appCheckMissing: Code = "attest.app-check.missing"
    package static let appCheckRefused: Code = "attest.app-check.refused"
    package static let appCheckStopped: Code = "attest.app-check.stopped"
    package static let appCheckUnavailable: Code = "attest.app-check.unavailable"
}
