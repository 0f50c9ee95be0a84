// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSLint
import Foundation
import PropertyLists
import TLSModel
import TLSProbe
import TestSupport
import Vocabulary

@testable import ATSClient
@testable import ATSDiagnostics
@testable import AppTransportSecurity

/// One load that every command is asked about.
struct AskedLoad: CustomStringConvertible {
    var list: GeneratedList
    let kind: String
    let url: String
    let profile: OSProfile
    /// Whether the list says that its app runs on the system with this SDK, so that lint speaks for it.
    let isSupported: Bool
    /// What the root of the servers is: one that a user installed, an anchor of the app, or one of the system.
    let anchor: AnchorKind

    var description: String {
        "\(kind) as \(url) on \(profile.id), \(profile.sdk?.description ?? "its own SDK"), \(anchor.rawValue) root"
    }

    /// The list as the commands read it.
    func subject() throws -> LintSubject {
        LintSubject(path: "Info.plist", document: try PlistReader.read(Array("\(list)".utf8)))
    }

    /// The hosts that URLs name; the certificates are for the first two, and for 127.0.0.1 where the kind has one of its own.
    static let hosts = [
        LoopbackServers.host, LoopbackServers.otherHost, "127.0.0.1", "nas.local", "intranet", "localhost",
        "a.b.example.com", "api.example.com.", "nas.local.", "host.lan", "192.168.7.9", "100.64.9.9", "203.0.113.9",
        "[fd00::5]", "[2001:db8:0:0::5]",
    ]

    /// Kinds that are waited for, and those whose answer depends on how long that is.
    private static let slow: Set = ["silent", "half-record", "large-hello-silent", "no-answer"]
    static let kinds = ServerExpectations.all.map(\.kind).filter { !slow.contains($0) }

    init(_ random: inout SplitMix, _ servers: LoopbackServers) throws {
        kind = Self.kinds[random.below(Self.kinds.count)]
        let server = try servers.server(kind)
        let other = Self.hosts[random.below(Self.hosts.count)]
        let host = server.host == LoopbackServers.host && random.below(3) == 0 ? other : server.host
        list = GeneratedList(&random, favoring: [host.filter { $0 != "[" && $0 != "]" }])
        let isSecure = kind != "plain-http" || random.below(4) == 0
        let scheme = (random.below(8) == 0 ? "ws" : "http") + (isSecure ? "s" : "")
        url = "\(scheme)://\(host):\(server.port)/"
        let document = try PlistReader.read(Array("\(list)".utf8))
        let stated = document.root["DTSDKName"]?.string.flatMap { name in
            name.dropFirst("iphoneos".count).split(separator: ".").first.flatMap { LinkedSDK(String($0)) }
        }
        let minimum = MinimumSystem(infoPlist: document.root).map { ($0.line.rawValue, $0.major, $0.minor) }
        let systems = AppSystems(from: minimum, sdk: stated)
        isSupported = random.below(2) == 0
        if isSupported {
            profile = systems.profiles[systems.supported.lowerBound + random.below(systems.supported.count)]
        } else {
            let system = OSProfile.all[random.below(OSProfile.all.count)]
            let sdk = [nil, nil, 16, 18, 26][random.below(5)].flatMap { LinkedSDK(number: $0) }
            profile = sdk.map(system.linked) ?? system
        }
        anchor = [AnchorKind.installed, .installed, .app, .system][random.below(4)]
    }
}

/// How one command says that a load ends.
struct LoadAnswer: Equatable, CustomStringConvertible {
    var result: String
    /// The first cause; nil where the load passes.
    var code: String?
    /// The error with its stream code; nil where there is none.
    var number: String?

    var description: String { [result, code, number].compactMap(\.self).joined(separator: " ") }

    init(_ result: ConfigurationResult) {
        self.result = result.result.rawValue
        code = result.result == .pass ? nil : result.because.first?.code.rawValue
        number = result.error?.summary
    }

    init(_ report: LoadReport) {
        result = ["loaded": "PASS", "refused": "FAIL"][report.result.rawValue] ?? "UNDETERMINED"
        code = report.result == .loaded ? nil : report.because.first?.code.rawValue
        number = report.error?.summary
    }
}

/// What an edit that a command proposes came to.
struct TriedEdit {
    enum Promise: String {
        /// The load passes.
        case loads
        /// The load passes if the app's own code accepts the certificate.
        case loadsWithDelegate
        /// The connection comes about if the app's own code accepts the certificate; what the server answers is not known before.
        case connectsWithDelegate
        /// What the policy says before any connection blocks nothing.
        case liftsBlock
        /// The load ends as before.
        case same
        /// The load passes if it did before.
        case asGood
        /// The load does not pass unless it did before.
        case noBetter
        /// The load fails.
        case fails
    }

    let command: String
    let edit: String
    let promise: Promise
    let before: LoadAnswer
    let after: LoadAnswer
    /// The first cause that the command names for the load without the edit; nil if it names none.
    var cause: String?

    /// Nil if the promise is kept.
    var contradiction: String? {
        let isKept =
            switch promise {
            case .loads, .loadsWithDelegate: after.result == "PASS" || after.isOnlyTheTools
            case .connectsWithDelegate:
                after.result == "PASS" || after.isOnlyTheTools || after.code?.hasPrefix("ats.http.") == true
            case .liftsBlock: !after.isBlock
            case .same: after.result == before.result && after.code == before.code
            case .asGood: before.result != "PASS" || after.result == "PASS"
            case .noBetter: before.result == "PASS" || after.result != "PASS"
            case .fails: after.result != "PASS" && (cause == nil || after.code == cause)
            }
        return isKept ? nil : "\(command): \(edit) (\(promise.rawValue)): \(before) becomes \(after)"
    }
}

extension LoadAnswer {
    /// The TLS library lacks a suite: nothing is said of the app.
    var isOnlyTheTools: Bool { code == "ats.note.load-not-made" }
    /// The policy itself blocks, before any connection.
    var isBlock: Bool { ["ats.cleartext.blocked", "ats.local.blocked", "ats.pins.empty"].contains(code ?? "") }
}

/// What all commands say about one load.
struct LoadAnswers {
    /// The verdict, the first failure and the number; disputed where sources contradict each other.
    struct Explained {
        var verdict: String
        var isDisputed: Bool
        var code: String?
        var number: String?
    }

    var explain: Explained
    var check: LoadAnswer
    /// The app's row and those of nscurl, from the least hellos and from all of them.
    var rows: [String]
    var exhaustiveRows: [String]
    var exhaustive: LoadAnswer
    var fetch: LoadAnswer
    /// Whether check could not make the load, so that its verdict is that of the handshake alone.
    var isHandshakeAlone: Bool
    var edits: [TriedEdit]
    /// Hosts of which lint says that every connection fails.
    var cutOff: [String]
    /// The causes that `log` names for the error of the load; empty where it has none.
    var log: [String] = []

    /// What contradicts what; the key names the pair of commands.
    func contradictions() -> [(pair: String, text: String)] {
        var found: [(String, String)] = []
        func differ(_ pair: String, _ one: Any, _ other: Any) { found.append((pair, "\(one) | \(other)")) }
        if check != exhaustive { differ("check, check --exhaustive", check, exhaustive) }
        if let place = rows.indices.first(where: {
            !exhaustiveRows.indices.contains($0) || rows[$0] != exhaustiveRows[$0]
        }
        ) {
            differ("rows of check, check --exhaustive", rows[place], exhaustiveRows.dropFirst(place).first ?? "none")
        }
        if check.result == "FAIL", let code = check.code, !log.isEmpty, !log.contains(code) {
            differ("check, log", check, log)
        }
        if !fetch.isOnlyTheTools, !isHandshakeAlone, check != fetch { differ("check, fetch", check, fetch) }
        if explain.isDisputed {
            if explain.verdict != "blocked", check.result == "FAIL", check.isBlock {
                differ("explain, check", explain, check)
            }
        } else if explain.verdict == "blocked" {
            for (name, answer) in [("check", check), ("fetch", fetch)]
            where answer.result != "FAIL" || answer.code != explain.code || answer.number != explain.number {
                differ("explain, \(name)", explain, answer)
            }
        } else {
            for (name, answer) in [("check", check), ("fetch", fetch)] where answer.isBlock {
                differ("explain, \(name)", explain, answer)
            }
        }
        for edit in edits { if let text = edit.contradiction { found.append((edit.command, text)) } }
        if !cutOff.isEmpty, check.result == "PASS" { differ("lint, check", "every connection fails: \(cutOff)", check) }
        return found
    }
}
