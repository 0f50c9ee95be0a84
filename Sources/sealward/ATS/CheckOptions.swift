// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import ConnectionAdmission
import TLSModel
import TLSProbe
import Vocabulary

/// What `ats check` and `ats minimize` share: which targets, which system, how to reach them and whom to trust.
struct CheckOptions: ParsableArguments {
    @Option(help: .value("A file with one target per line; # starts a comment, - is standard input.", "FILE"))
    var targetsFrom: String?

    @OptionGroup var system: SystemOptions

    @Flag(help: "Send every distinct ClientHello instead of the adaptive plan.")
    var exhaustive = false

    @OptionGroup var connection: ConnectionOptions

    @Option(help: .value("The time to judge at, RFC 3339; default now.", "RFC3339"))
    var at: Instant?

    @Option(help: .value("How many targets to check at once.", "N"))
    var concurrency = 64

    /// Targets in flight, as far as the system gives this process connections: a target must not fail because another one has the last.
    var width: Int { min(concurrency, DescriptorLimit.current().connections()) }

    func validate() throws {
        guard (1...4096).contains(concurrency) else { throw ValidationError("--concurrency must be from 1 to 4096.") }
        guard targetsFrom != "-" || connection.reach.resolveFrom != "-" else {
            throw ValidationError("Standard input is one file: --targets-from or --resolve-from, not both.")
        }
    }

    /// Refuses a command line that names no target and no file of targets.
    func requireTargets(_ arguments: [String], of command: String) throws {
        guard !arguments.isEmpty || targetsFrom != nil else {
            throw ValidationError("Name at least one target, for example: \(command) example.com")
        }
    }

    /// The targets of the command line and of the file, in order.
    ///
    /// - Parameter asNSCurl: whether `http` becomes `https`, which is said on standard error.
    func targets(_ arguments: [String], asNSCurl: Bool = false) throws -> TargetList {
        var list = TargetList(isForNSCurl: asNSCurl)
        func add(_ text: String) throws(MalformedInput) {
            let target = try list.append(text)
            if asNSCurl, try !CheckTarget(text).url.isSecure {
                CommandIO.say(
                    "sealward: \(text.terminalSafe) is checked as \(target.displayURL.terminalSafe), as nscurl does.")
            }
        }
        for text in arguments {
            try CommandIO.argument { () throws(MalformedInput) in try add(text) }
        }
        if let targetsFrom {
            _ = try EntryFile.entries(of: targetsFrom, add)
        }
        if list.isEmpty {
            throw CommandFault(
                "\(targetsFrom.map(CommandIO.name(of:)) ?? "The list"): contains no target; write one host per line.")
        }
        return list
    }

    /// The targets of a managed check, in order.
    func managedTargets(_ arguments: [String]) throws -> [ManagedTarget] {
        func target(_ text: String) throws(MalformedInput) -> ManagedTarget { try ManagedTarget(text) }
        let named = try arguments.map { text in
            try CommandIO.argument { () throws(MalformedInput) in try target(text) }
        }
        return try named + (targetsFrom.map { try EntryFile.entries(of: $0, target) } ?? [])
    }

    /// - Parameter profile: the system and SDK of every row but the app's own.
    func session(
        _ profile: OSProfile, app: AppDictionary? = nil, _ change: (inout CheckSession.Configuration) -> Void = { _ in }
    ) throws -> CheckSession {
        var options = try connection.settings(profile, sdk: system.sdk ?? app?.sdk)
        options.appDictionary = app?.dictionary
        options.isExhaustive = exhaustive
        options.instant = at?.date
        change(&options)
        return try CheckSession(options)
    }
}

enum CheckFormat: String, ExpressibleByArgument, CaseIterable { case text, nscurl, json, jsonl, junit, markdown, html }

/// Whose loads a check judges.
enum CheckPurpose: String, ExpressibleByArgument, CaseIterable {
    /// Those of the system's own processes since OS 27.
    case managed

    /// The system that managed loads are judged on: macOS 27 unless another one of 27 or later is named.
    static func managedSystem(_ os: OSProfile?) throws -> OSProfile {
        guard let os else { return OSProfile.named("macos27") ?? .standard }
        guard os.sdk != nil, os.facts.hardensOwnProcesses.value else {
            throw ValidationError("--for managed is what OS 27 does: leave out --os, or name ios27 or macos27.")
        }
        return os
    }
}
