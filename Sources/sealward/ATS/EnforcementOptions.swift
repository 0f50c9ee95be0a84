// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Whom to trust and how to reach servers: what `fetch` and `proxy` have in common.
struct EnforcementOptions: ParsableArguments {
    @OptionGroup var trust: TrustOptions

    @OptionGroup var transparency: TransparencyOptions

    @OptionGroup var reach: ReachOptions
}
