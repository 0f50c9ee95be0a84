// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Name resolution, roots, logs and the time for a connection: what `fetch` and `proxy` have in common.
struct EnforcementOptions: ParsableArguments {
    @OptionGroup var trust: TrustOptions

    @OptionGroup var transparency: TransparencyOptions

    @OptionGroup var places: ResolveOptions

    @Option(help: ArgumentHelp("The timeout of one connection to a server, TLS included, in seconds.", valueName: "S"))
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

    var connectLimit: Duration { EnforcementOptions.duration(seconds: connectTimeout) }

    /// - Parameter seconds: what ``check(seconds:of:)`` let through.
    static func duration(seconds: Double) -> Duration { .milliseconds(Int(seconds * 1000)) }
}
