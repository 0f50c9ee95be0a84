// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PropertyLists
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@testable import ATSClient
@testable import ATSDiagnostics
@testable import ATSLint
@testable import AppTransportSecurity

/// Asks every command about a load, in this process and by the calls that the program makes.
struct LoadQuestions {
    let load: AskedLoad
    let servers: LoopbackServers
    private let anchors: TrustAnchors
    private let overrides: [AddressOverride]

    init(_ load: AskedLoad, _ servers: LoopbackServers) throws {
        self.load = load
        self.servers = servers
        var anchors = TrustAnchors()
        try anchors.add(file: servers.authority, kind: load.anchor)
        self.anchors = anchors
        overrides = servers.servers.values.map { AddressOverride(host: "*", port: $0.port, address: "127.0.0.1") }
    }

    // MARK: - One command each

    private func session(_ dictionary: ATSDictionary, exhaustive: Bool = false) throws -> CheckSession {
        var configuration = CheckSession.Configuration()
        configuration.profile = load.profile
        configuration.appDictionary = dictionary
        // One root that has no server here: as few roots as `fetched` has, and quick to read.
        configuration.systemRoots = LoopbackServers.repository + "/Tests/Vectors/appattest/Apple_Root_CA_G3.pem"
        switch load.anchor {
        case .system: configuration.systemRoots = servers.authority
        case .app: configuration.appAnchors = [servers.authority]
        case .installed: configuration.installedRoots = [servers.authority]
        }
        configuration.overrides = overrides
        configuration.connectTimeout = .seconds(8)
        configuration.isExhaustive = exhaustive
        return try CheckSession(configuration)
    }

    private func report(_ dictionary: ATSDictionary, exhaustive: Bool = false) async throws -> TargetReport {
        try await session(dictionary, exhaustive: exhaustive).check(try CheckTarget(load.url))
    }

    private func check(_ dictionary: ATSDictionary) async throws -> LoadAnswer {
        LoadAnswer(try #require(try await report(dictionary).decisive))
    }

    private func fetched(_ dictionary: ATSDictionary, withDelegate: Bool = false) async -> LoadReport {
        var configuration = ATSClient.Configuration()
        configuration.addressOverrides = overrides
        configuration.connectTimeout = .seconds(8)
        configuration.totalTimeout = .seconds(30)
        configuration.toleratesUncleanClose = true
        configuration.asksAsTheSystem = true
        configuration.acceptsUntrusted = withDelegate
        let client = ATSClient(
            policy: ATSPolicy(dictionary: dictionary, profile: load.profile), trust: anchors,
            fetcher: HTTPIntermediateFetcher(group: configuration.eventLoopGroup), configuration: configuration)
        let report = await client.load(load.url)
        await client.shutDown(grace: .zero)
        return report
    }

    private func explain(_ dictionary: ATSDictionary) throws -> (decision: URLDecision, said: LoadAnswers.Explained) {
        let policy = ATSPolicy(dictionary: dictionary, profile: load.profile)
        let decision = NearMisses(policy).explaining(policy.decide(try LoadURL(load.url)))
        let isDisputed = !decision.disputedSources.isEmpty
        let said = LoadAnswers.Explained(
            verdict: decision.verdict.rawValue, isDisputed: isDisputed,
            code: decision.failures.first?.code.rawValue, number: isDisputed ? nil : decision.error?.summary)
        return (decision, said)
    }

    // MARK: - All of them

    func answers() async throws -> LoadAnswers {
        let subject = try load.subject()
        let raw = subject.document.root["NSAppTransportSecurity"]?.propertyListValue ?? .dictionary([:])
        let dictionary = ATSDictionary(raw)
        let (decision, said) = try explain(dictionary)
        let report = try await report(dictionary)
        let exhaustive = try await self.report(dictionary, exhaustive: true)
        let decisive = try #require(report.decisive)
        let fetch = await fetched(dictionary)
        func rows(_ report: TargetReport) -> [String] {
            report.results.map { "\($0.configuration.name): \(LoadAnswer($0))" }
        }
        let before = LoadAnswer(decisive)
        var edits = try await remedies(of: decision, fetch, raw, before)
        edits += try await proposals(report, before)
        edits += try await minimized(raw, before)
        let findings = Linter.lint(subject).findings
        edits += try await linted(subject, findings, before)
        return LoadAnswers(
            explain: said, check: before, rows: rows(report), exhaustiveRows: rows(exhaustive),
            exhaustive: LoadAnswer(try #require(exhaustive.decisive)), fetch: LoadAnswer(fetch),
            isHandshakeAlone: decisive.notes.contains { $0.code == .noteLoadNotMade }, edits: edits,
            cutOff: cutOff(findings, try LoadURL(load.url).host), log: logged(decisive))
    }

    /// What `log` says of the line that an app's console has for the error; nothing for causes that are none of a load.
    private func logged(_ decisive: ConfigurationResult) -> [String] {
        guard let error = decisive.error, decisive.because.first.flatMap({ CauseTable.current[$0.code] }) != nil else {
            return []
        }
        let stream = error.streamCode.map { ", _kCFStreamErrorCodeKey=\($0)" } ?? ""
        let line =
            "Task <A>.<1> finished with error [\(error.code)] Error Domain=\(error.domain) Code=\(error.code) \"x\" "
            + "UserInfo={NSErrorFailingURLKey=\(load.url)\(stream)}\n"
        var log = DeviceLog()
        log.read(Array(line.utf8))
        return log.report().failures.flatMap { $0.because.map(\.code.rawValue) }
    }

    /// The keys that `explain` and `fetch` say would help, all of them together.
    private func remedies(
        of decision: URLDecision, _ fetch: LoadReport, _ raw: PropertyListValue, _ before: LoadAnswer
    ) async throws -> [TriedEdit] {
        var edits: [TriedEdit] = []
        var proposed: [(String, [Remedy])] = [("remedy of fetch", fetch.remedies)]
        if decision.verdict == .blocked, decision.disputedSources.isEmpty {
            proposed.append(("remedy of explain", Remedy.forBlocked(decision)))
        }
        // A redirect that is blocked is about another URL.
        for (command, remedies) in proposed where !remedies.isEmpty && fetch.hops.count < 2 {
            let edited = ATSDictionary(raw.applying(remedies))
            let isDelegated = remedies.contains(where: \.needsDelegate)
            let report = await fetched(edited, withDelegate: isDelegated)
            // The connection came about, and nothing more is promised: a redirect, an answer, or a certificate that the remedy names.
            if isDelegated, report.hops.count > 1 || report.status != nil { continue }
            if remedies.contains(where: { $0.effect == .allowsUncertified }),
                report.because.first?.code == .tlsClientCertificateRequired
            {
                continue
            }
            let isConditional = remedies.contains { $0.effect == .liftsBlock } || command.hasSuffix("explain")
            edits.append(
                TriedEdit(
                    command: command, edit: remedies.map { "\($0.keyPath) = \($0.value)" }.joined(separator: ", "),
                    promise: isConditional ? .liftsBlock : isDelegated ? .connectsWithDelegate : .loads, before: before,
                    after: LoadAnswer(report)))
        }
        return edits
    }

    /// The line "or" of `check`.
    private func proposals(_ report: TargetReport, _ before: LoadAnswer) async throws -> [TriedEdit] {
        guard let proposal = report.proposal, proposal.doubt == nil else { return [] }
        let isDelegated = proposal.kind == .withDelegate
        let after =
            isDelegated
            ? LoadAnswer(await fetched(proposal.after, withDelegate: true)) : try await check(proposal.after)
        return [
            TriedEdit(
                command: "line \"or\" of check", edit: proposal.after.propertyListValue.oldStyleDescription,
                promise: isDelegated ? .loadsWithDelegate : .loads, before: before, after: after)
        ]
    }

    /// The dictionary of `minimize`, each key that it needs and each that it calls dead.
    private func minimized(_ raw: PropertyListValue, _ before: LoadAnswer) async throws -> [TriedEdit] {
        let dictionary = ATSDictionary(raw)
        let minimal = try await session(dictionary).minimize([try CheckTarget(load.url)], concurrency: 1)
        var edits: [TriedEdit] = []
        func tried(
            _ edit: String, _ promise: TriedEdit.Promise, _ other: ATSDictionary, cause: Code? = nil
        ) async throws {
            edits.append(
                TriedEdit(
                    command: "minimize", edit: edit, promise: promise, before: before, after: try await check(other),
                    cause: cause?.rawValue))
        }
        if minimal.impossible.isEmpty, minimal.withCode.isEmpty {
            try await tried("the smallest dictionary", .loads, minimal.dictionary)
        } else if before.result == "PASS", !minimal.impossible.contains(where: \.isUndetermined) {
            try await tried("impossible", .fails, dictionary)
        }
        for need in minimal.needed {
            guard let without = minimal.dictionary.propertyListValue.removing(need.keyPath) else { continue }
            try await tried(
                "without \(need.keyPath), which is needed", .fails, ATSDictionary(without), cause: need.without)
        }
        var all = raw
        for dead in minimal.dead {
            if let without = raw.removing(dead.keyPath) {
                try await tried("without \(dead.keyPath), which is dead", .same, ATSDictionary(without))
            }
            all = all.removing(dead.keyPath) ?? all
        }
        for dead in minimal.deadTogether { all = all.removing(dead.keyPath) ?? all }
        if minimal.dead.count + minimal.deadTogether.count > 1 {
            try await tried("without all dead keys", .same, ATSDictionary(all))
        }
        return edits
    }

    /// Advice of `lint` and what `--fix` writes.
    private func linted(
        _ subject: LintSubject, _ findings: [LintFinding], _ before: LoadAnswer
    ) async throws -> [TriedEdit] {
        var edits: [TriedEdit] = []
        func tried(_ edit: String, _ promise: TriedEdit.Promise, _ text: [UInt8], _ command: String) async throws {
            guard let document = try? PlistReader.read(text) else { return }
            let value = document.root["NSAppTransportSecurity"]?.propertyListValue
            edits.append(
                TriedEdit(
                    command: command, edit: edit, promise: promise, before: before,
                    after: try await check(ATSDictionary(value))))
        }
        for finding in findings.prefix(6) {
            for advice in finding.advice.prefix(1) {
                guard let text = PlistFixer.applied(advice.edits, to: subject.document.source) else { continue }
                let name = "\(finding.finding.rule) \(finding.finding.fix ?? "")"
                switch advice.promise {
                case .sameLoads where load.isSupported: try await tried(name, .same, text, "lint")
                case .asManyLoads where load.isSupported: try await tried(name, .asGood, text, "lint")
                default: break
                }
            }
        }
        let fixer = PlistFixer(subject) { try? PlistReader.read($0) }
        // UNDETERMINED on a system that the app does not run on says nothing of the fix.
        if !fixer.steps.isEmpty, load.isSupported || before.result == "FAIL" {
            let name = fixer.steps.map { "\($0.finding.rule) \($0.action)" }.joined(separator: ", ")
            try await tried(name, .noBetter, fixer.text, "lint --fix")
        }
        return edits
    }

    private func cutOff(_ findings: [LintFinding], _ host: String) -> [String] {
        findings.map(\.finding.message).filter {
            $0.contains(" of \(host) has no usable pin") && $0.contains("every connection fails.")
        }
    }
}

extension PropertyListValue {
    /// The dictionary with keys at paths such as `NSExceptionDomains.a.example.NSIncludesSubdomains`.
    fileprivate func applying(_ remedies: [Remedy]) -> PropertyListValue {
        remedies.reduce(self) { value, remedy in
            let new: PropertyListValue =
                switch remedy.value {
                case "true": .boolean(true)
                case "false": .boolean(false)
                case "{}": .dictionary([:])
                default: .string(remedy.value)
                }
            return value.setting(Self.path(remedy.keyPath), to: new)
        }
    }

    /// The dictionary without the key at such a path; nil if it has none.
    fileprivate func removing(_ keyPath: String) -> PropertyListValue? {
        let path = Self.path(keyPath)
        return value(at: path) == nil ? nil : setting(path, to: nil)
    }

    /// The host of a path has dots of its own.
    private static func path(_ keyPath: String) -> [String] {
        let text = keyPath.hasPrefix("NSAppTransportSecurity.") ? String(keyPath.dropFirst(23)) : keyPath
        guard let list = ["NSExceptionDomains", "NSPinnedDomains"].first(where: { text.hasPrefix($0 + ".") }) else {
            return [text]
        }
        let rest = text.dropFirst(list.utf8.count + 1)
        guard let dot = rest.lastIndex(of: "."), rest[rest.index(after: dot)...].hasPrefix("NS") else {
            return [list, String(rest)]
        }
        return [list, String(rest[..<dot]), String(rest[rest.index(after: dot)...])]
    }

    fileprivate func value(at path: [String]) -> PropertyListValue? {
        guard let key = path.first else { return self }
        return members?[key]?.value(at: Array(path.dropFirst()))
    }

    fileprivate func setting(_ path: [String], to value: PropertyListValue?) -> PropertyListValue {
        guard let key = path.first else { return value ?? self }
        var members = members ?? [:]
        let rest = Array(path.dropFirst())
        members[key] = rest.isEmpty ? value : (members[key] ?? .dictionary([:])).setting(rest, to: value)
        return .dictionary(members)
    }
}
