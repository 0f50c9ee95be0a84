// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

/// What a backend may want to know beside the tier of a key. The names and their order are the contract's.
package enum TrustReason: String, Sendable, CaseIterable {
    case newKey, receiptOld, riskAboveBaseline, category, restored

    /// What it says of the key, and what a backend or an operator does, without full stops.
    package var explanation: (meaning: String, action: String) {
        switch self {
        case .newKey: ("the key is younger than an hour; it costs no points", "let it wait for what is worth a new key")
        case .receiptOld:
            (
                "the newest receipt of the key has expired, so what Apple said of the device is months old; it costs no points",
                "switch `receipts.refresh` on; only a new key has a new receipt then"
            )
        case .riskAboveBaseline:
            (
                "Apple's risk metric of the device is above what the app's devices have",
                "read docs/risk-metric.md, and decide what such a device may do"
            )
        case .category:
            (
                "a build of a category that `allowedValidationCategories` no longer has attested the key",
                "let the app attest a new key, or add the category"
            )
        case .restored:
            ("the key was revoked once, and an operator restored it; it costs no points", "nothing, if that was right")
        }
    }
}

extension TrustTier {
    /// What it says of the key, and what a backend does, without full stops.
    package var explanation: (meaning: String, action: String) {
        switch self {
        case .low:
            (
                "several things together speak against the key",
                "permit only what costs nothing; `reasons` and GET /v1/apps/{app}/risk say more"
            )
        case .standard:
            (
                "something speaks against the key, and not enough for `low`",
                "permit what an ordinary device may do; look at `reasons`"
            )
        case .high: ("nothing speaks against the key", "permit what an attested device may do")
        }
    }
}
