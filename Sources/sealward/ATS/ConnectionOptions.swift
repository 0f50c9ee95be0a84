// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import TLSModel
import TLSProbe
import Vocabulary

/// How checks reach servers, what they fetch, and whom they trust: what `check`, `minimize` and `exporter` have in common.
struct ConnectionOptions: ParsableArguments {
    @Flag(name: .customLong("no-http"), help: "Judge the handshakes only; do not load.")
    var noHTTP = false

    @Flag(name: .customLong("no-aia"), help: "Do not fetch a missing intermediate certificate.")
    var noAIA = false

    @OptionGroup var trust: TrustOptions

    @OptionGroup var reach: ReachOptions

    @Option(help: .value("The timeout of each target, in seconds.", "S"))
    var timeout: Double = 30

    @Flag(help: "Let redirects and fetched intermediates lead to private addresses.")
    var allowPrivate = false

    func validate() throws { try ReachOptions.check(seconds: timeout, of: "--timeout") }

    func settings(_ profile: OSProfile, sdk: LinkedSDK?) throws -> CheckSession.Configuration {
        var settings = CheckSession.Configuration()
        settings.profile = profile
        settings.appSDK = sdk
        settings.loadsHTTP = !noHTTP
        settings.fetchesIntermediates = !noAIA
        for path in trust.caFile + trust.appAnchor + [trust.roots].compactMap(\.self) { SecretFiles.warn(path) }
        settings.installedRoots = trust.caFile
        settings.appAnchors = trust.appAnchor
        settings.systemRoots = trust.roots
        settings.overrides = try reach.overrides()
        settings.connectTimeout = reach.connectLimit
        settings.targetTimeout = .seconds(timeout)
        settings.allowsPrivateRedirects = allowPrivate
        settings.logs = try trust.logs()
        return settings
    }
}

/// Whom to trust, and which logs of Certificate Transparency: what every command that judges a certificate has in common.
struct TrustOptions: ParsableArguments {
    @Option(
        help: .value("Trust these roots as if a user had installed them; - is standard input. May be repeated.", "PEM"))
    var caFile: [String] = []

    @Option(
        help: .value(
            "Trust these anchors as the app's own code would (SecTrustSetAnchorCertificates); may be repeated.", "FILE")
    )
    var appAnchor: [String] = []

    @Option(help: .value("Trust these roots instead of the system's; - is standard input.", "PEM"))
    var roots: String?

    @Option(
        help: .value(
            "The Certificate Transparency logs, as browsers publish them (JSON). A list that is 60 days old or older is used and noted.",
            "FILE"))
    var ctLogList: String?

    /// The system's roots or those instead of them, and the installed ones. Without a system store the options' roots are all there is.
    func anchors() throws -> TrustAnchors {
        var anchors = TrustAnchors()
        if let roots {
            try TrustOptions.add(roots, .system, "--roots", to: &anchors)
        } else {
            do {
                anchors = try .system()
            } catch {
                if caFile.isEmpty, appAnchor.isEmpty {
                    CommandIO.say("sealward: no system roots were found; every certificate is untrusted.")
                }
            }
        }
        for path in appAnchor { try TrustOptions.add(path, .app, "--app-anchor", to: &anchors) }
        for path in caFile { try TrustOptions.add(path, .installed, "--ca-file", to: &anchors) }
        return anchors
    }

    private static func add(_ path: String, _ kind: AnchorKind, _ option: String, to anchors: inout TrustAnchors) throws
    {
        do {
            try anchors.add(input: path, kind: kind)
            SecretFiles.warn(path)
        } catch {
            throw CommandFault("\(CommandIO.name(of: path)): \(error.reason); name a PEM file with \(option).")
        }
    }

    /// The logs of the option; nil without it.
    func logs() throws -> CTLogList? { try ctLogList.map { try TrustOptions.logs(of: $0) } }

    static func logs(of path: String) throws -> CTLogList {
        try CommandIO.value(of: path, limit: 16 << 20, CTLogList.init(json:))
    }
}
