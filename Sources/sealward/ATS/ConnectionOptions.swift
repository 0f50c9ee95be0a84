// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser

/// How checks reach servers, what they fetch, and whom they trust: what `check`, `minimize` and `exporter` have in common.
struct ConnectionOptions: ParsableArguments {
    @Flag(name: .customLong("no-http"), help: "Judge the handshakes only; do not load.")
    var noHTTP = false

    @Flag(name: .customLong("no-aia"), help: "Do not fetch a missing intermediate certificate.")
    var noAIA = false

    @OptionGroup var trust: TrustOptions

    @OptionGroup var transparency: TransparencyOptions

    @OptionGroup var reach: ReachOptions

    @Option(help: ArgumentHelp("The timeout of each target, in seconds.", valueName: "S"))
    var timeout: Double = 30

    @Flag(help: "Let redirects and fetched intermediates lead to private addresses.")
    var allowPrivate = false

    func validate() throws { try ReachOptions.check(seconds: timeout, of: "--timeout") }

    /// The settings of a session for a system.
    func settings(_ profile: OSProfile, sdk: LinkedSDK?) throws -> CheckSession.Configuration {
        var settings = CheckSession.Configuration()
        settings.profile = profile
        settings.appSDK = sdk
        settings.loadsHTTP = !noHTTP
        settings.fetchesIntermediates = !noAIA
        settings.installedRoots = trust.caFile
        settings.appAnchors = trust.appAnchor
        settings.systemRoots = trust.roots
        settings.overrides = try reach.places.overrides()
        settings.connectTimeout = reach.connectLimit
        settings.targetTimeout = .seconds(timeout)
        settings.allowsPrivateRedirects = allowPrivate
        settings.logs = try transparency.logs()
        return settings
    }
}
