// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
public import ArgumentParser
import Findings
import Foundation
public import TLSProbe

/// What `ats check` and `ats minimize` share: which targets, which system, how to reach them and whom to trust.
struct CheckOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("A file with one target a line; # starts a comment, - is standard input.", valueName: "FILE")
    )
    var targetsFrom: String?

    @OptionGroup var system: SystemOptions

    @Flag(help: "Send every distinct hello instead of the adaptive plan.")
    var exhaustive = false

    @Flag(name: .customLong("no-http"), help: "Judge the handshakes only; do not load.")
    var noHTTP = false

    @Flag(name: .customLong("no-aia"), help: "Do not fetch a missing intermediate certificate.")
    var noAIA = false

    @Option(help: ArgumentHelp("Roots as if a user had installed them. May be repeated.", valueName: "PEM"))
    var caFile: [String] = []

    @Option(help: ArgumentHelp("Roots instead of the system's.", valueName: "PEM"))
    var roots: String?

    @Option(
        help: ArgumentHelp("The Certificate Transparency logs, as browsers publish them (JSON).", valueName: "FILE")
    )
    var ctLogList: String?

    @Option(
        help: ArgumentHelp("Connect to ADDRESS for this host and port, as in curl.", valueName: "HOST:PORT:ADDRESS")
    )
    var resolve: [AddressOverride] = []

    @Option(help: ArgumentHelp("More of --resolve, one a line; `-` is standard input.", valueName: "FILE"))
    var resolveFrom: String?

    @Option(help: ArgumentHelp("The time of judgement, RFC 3339; default now.", valueName: "RFC3339"))
    var at: Instant?

    @Option(help: ArgumentHelp("Seconds for each connection.", valueName: "S"))
    var connectTimeout: Double = 10

    @Option(help: ArgumentHelp("Seconds for each target.", valueName: "S"))
    var timeout: Double = 30

    @Option(help: ArgumentHelp("Targets in flight.", valueName: "N"))
    var concurrency = 64

    @Flag(help: "Let redirects and fetched intermediates lead to private addresses.")
    var allowPrivate = false

    func validate() throws {
        guard connectTimeout > 0, connectTimeout <= 86_400, timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout and --connect-timeout are seconds, more than 0 and at most 86400.")
        }
        guard (1...4096).contains(concurrency) else { throw ValidationError("--concurrency is from 1 to 4096.") }
        guard targetsFrom != "-" || resolveFrom != "-" else {
            throw ValidationError("Standard input is one file: --targets-from or --resolve-from, not both.")
        }
    }

    /// The targets of the command line and of the file, in order.
    ///
    /// - Parameter asNSCurl: whether `http` becomes `https`, which is said on standard error.
    func targets(_ arguments: [String], asNSCurl: Bool = false) throws -> [CheckTarget] {
        func target(_ text: String) throws(MalformedInput) -> CheckTarget {
            guard asNSCurl else { return try CheckTarget(text) }
            let target = try CheckTarget(nscurl: text)
            if try !CheckTarget(text).url.isSecure {
                CommandIO.say(
                    "sealward: \(text.terminalSafe) is checked as \(target.displayURL.terminalSafe), as nscurl does."
                )
            }
            return target
        }
        var list = try arguments.map { text in
            do {
                return try target(text)
            } catch {
                throw ValidationError("\(error).")
            }
        }
        if let targetsFrom {
            list += try entries(of: targetsFrom, target)
        } else if list.isEmpty {
            throw ValidationError("Name at least one target, for example: sealward ats check example.com")
        }
        if list.isEmpty {
            throw CommandFault(
                "\(targetsFrom.map(CommandIO.name(of:)) ?? "The list"): holds no target; write one host a line."
            )
        }
        return list
    }

    /// Reads a file with one entry a line; `#` begins a comment.
    private func entries<Entry>(
        of path: String,
        _ read: (String) throws(MalformedInput) -> Entry
    ) throws -> [Entry] {
        let bytes = try CommandIO.read(path, limit: 64 << 20)
        var entries: [Entry] = []
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let entry = String(decoding: line.prefix { $0 != 0x23 }, as: UTF8.self)
                .trimmingCharacters(in: .whitespacesAndNewlines)
            if entry.isEmpty { continue }
            do {
                entries.append(try read(entry))
            } catch {
                throw CommandFault("\(CommandIO.name(of: path)): line \(index + 1): \(error).")
            }
        }
        return entries
    }

    /// Those of the file, then those of the command line: of two for one place the later one counts.
    private func overrides() throws -> [AddressOverride] {
        let listed = try resolveFrom.map { path in
            try entries(of: path) { text throws(MalformedInput) in try AddressOverride(text) }
        }
        return (listed ?? []) + resolve
    }

    /// - Parameter profile: the system and SDK of every row but the app's own.
    func session(_ profile: OSProfile, app: AppDictionary? = nil) throws -> CheckSession {
        var options = CheckSession.Configuration()
        options.profile = profile
        options.appDictionary = app?.dictionary
        options.appSDK = system.sdk ?? app?.sdk
        options.isExhaustive = exhaustive
        options.loadsHTTP = !noHTTP
        options.fetchesIntermediates = !noAIA
        options.installedRoots = caFile
        options.systemRoots = roots
        options.overrides = try overrides()
        options.connectTimeout = .seconds(connectTimeout)
        options.targetTimeout = .seconds(timeout)
        options.allowsPrivateRedirects = allowPrivate
        options.instant = at?.date
        if let ctLogList {
            options.logs = try PropertyListFile.named(ctLogList) {
                try CTLogList(json: CommandIO.read(ctLogList, limit: 16 << 20), verifier: TimestampVerifier())
            }
        }
        return try CheckSession(options)
    }
}

extension AddressOverride: ExpressibleByArgument {
    public init?(argument: String) {
        guard let override = try? AddressOverride(argument) else { return nil }
        self = override
    }
}

enum CheckFormat: String, ExpressibleByArgument, CaseIterable { case text, nscurl, json, jsonl, junit, markdown, html }
