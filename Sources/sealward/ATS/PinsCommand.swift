// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import FoundationEssentials
import TLSModel
import TLSProbe
import Vocabulary

struct PinsCommand: WorkingCommand {
    static let configuration = CommandConfiguration(
        commandName: "pins",
        abstract: "Write NSPinnedDomains for servers or certificate files, and judge it at once.",
        discussion: """
            Example:
              sealward ats pins api.example.com --spare spare.pem --output Info.plist

            A target is a PEM file that exists, or else a host, host:port or URL. NSPinnedLeafIdentities gets the keys of the leaf and of \
            --spare, NSPinnedCAIdentities those of the authorities above. A connection must satisfy both lists. Without --spare the \
            leaf is not pinned, because a lone leaf key locks every installed app out when it changes. To make a spare key:
            openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out spare.key, and its public key:
            openssl pkey -in spare.key -pubout -out spare.pem.

            Exit status: 0 an app with these pins loads from every target, 1 it does not, 2 no safe pins can be written, or \
            the result could not be judged, 64 usage.
            """
    )

    @Argument(help: .value("Hosts, or PEM files with the leaf first.", "HOST|FILE"))
    var targets: [String]

    @Option(
        help: .value(
            "A certificate or public key in PEM that is kept off the server for later; may be repeated.", "FILE"))
    var spare: [String] = []

    @OptionGroup var system: SystemOptions

    @OptionGroup var connection: ConnectionOptions

    @Option(help: .value("The time to judge at, RFC 3339; default now.", "RFC3339"))
    var at: Instant?

    @OptionGroup var shared: SharedOptions

    /// What is pinned, and what it is judged by.
    private enum Source {
        case server(CheckTarget)
        case file(PresentedTrust, LoadURL)
    }

    func outcome() async throws -> Outcome {
        let profile = try system.profile()
        guard profile.facts.readsPins.value else {
            throw CommandFault("\(profile.shownID) does not read NSPinnedDomains; name a later system with --os.")
        }
        let spares = try spare.flatMap(PinsCommand.keys(ofSpare:))
        let instant = at?.date ?? Date()
        var settings = try connection.settings(profile, sdk: system.sdk)
        settings.instant = instant
        var dictionary = ATSDictionary()
        var sources: [(name: String, source: Source)] = []
        for text in targets {
            let chain: ChainFacts
            let names: [String]
            let source: Source
            if FileManager.default.fileExists(atPath: text) {
                let trust = try await trust(ofFile: text, profile, at: instant)
                names = try PinsCommand.names(in: trust.chain, of: text)
                source = .file(trust, try PinsCommand.url(names))
                chain = trust.chain
            } else {
                let target = try PinsCommand.server(text)
                guard target.url.literalAddress == nil else {
                    throw CommandFault("\(text): is an address; NSPinnedDomains takes names of hosts.")
                }
                let report = try await CheckSession(settings).check(target)
                guard let facts = report.facts else {
                    let cause = report.decisive?.because.first?.message ?? "It presented no certificate."
                    throw CommandFault("\(text): \(cause)")
                }
                (names, source, chain) = ([target.url.host], .server(target), facts.chain)
            }
            let proposal = try PinsCommand.proposal(chain, spares, of: text)
            if proposal.leaves == nil, !shared.quiet {
                CommandIO.say(
                    "note: \(text.terminalSafe): only the authorities are pinned; to pin the leaf too, make a spare key and name its public key with --spare FILE."
                )
            }
            for name in names { PinsCommand.add(proposal.entry(for: name), to: &dictionary) }
            sources.append((text, source))
        }
        try CommandIO.write(dictionary.infoPlist, to: shared.output)
        settings.appDictionary = dictionary
        return try await judge(sources, dictionary, settings, at: instant)
    }

    /// A server is asked once more, with the dictionary as the app's own.
    private func judge(
        _ sources: [(name: String, source: Source)], _ dictionary: ATSDictionary,
        _ settings: CheckSession.Configuration, at instant: Date
    ) async throws -> Outcome {
        var results: [ConfigurationResult.Result] = []
        for (name, source) in sources {
            let because: [Cause]
            switch source {
            case .file(let trust, let url):
                let requirements = ATSPolicy(dictionary: dictionary, profile: settings.profile).requirements(for: url)
                because =
                    evaluate(requirements, trust, host: url.host, at: instant, logs: settings.logs).causes
                results.append(because.isEmpty ? .pass : .fail)
            case .server(let target):
                let result = try await CheckSession(settings).check(target).decisive
                because = result?.because ?? []
                results.append(result?.result ?? .undetermined)
            }
            let word = results.last?.rawValue ?? ""
            if because.isEmpty, shared.quiet { continue }
            CommandIO.say("\(word)  \(name.terminalSafe)")
            for cause in because { CommandIO.say("\(cause.code.rawValue): \(cause.message.terminalSafe)") }
        }
        return Outcome(fails: results.contains(.fail), isUndetermined: results.contains(.undetermined))
    }

    private func trust(ofFile path: String, _ profile: OSProfile, at instant: Date) async throws -> PresentedTrust {
        let certificates = try CertificateBench.chain(path)
        let judge = CertificateJudge(anchors: try connection.trust.anchors(), logs: try connection.trust.logs())
        return await judge.judge(.init(certificates: certificates, profile: profile), at: instant).facts
    }

    private static func server(_ text: String) throws -> CheckTarget {
        do throws(MalformedInput) {
            let target = try CheckTarget(text)
            return target.secured ?? target
        } catch {
            throw ValidationError("\(text.terminalSafe) is no file that exists, and no host: \(error).")
        }
    }

    private static func proposal(
        _ chain: ChainFacts, _ spares: [[UInt8]], of name: String
    ) throws -> PinProposal {
        do throws(PinProposal.Fault) {
            return try PinProposal(chain, spares: spares)
        } catch {
            switch error {
            case .noCertificate: throw CommandFault("\(name): has no readable certificate.")
            case .singleKey:
                throw CommandFault(
                    "\(name): only one key could be pinned, and every installed app is locked out when it changes. Make a spare key, keep it off "
                        + "the server, and name its public key with --spare FILE: openssl pkey -in spare.key -pubout -out spare.pem"
                )
            case .spareIsInUse:
                throw CommandFault("\(name): --spare is the key that the server uses now; name another key.")
            }
        }
    }

    private static func keys(ofSpare path: String) throws -> [[UInt8]] {
        let keys = try CommandIO.value(of: path, limit: 1 << 20) { pem throws(MalformedInput) in
            try PublicKeyFacts.all(inPEM: pem).map(\.sha256)
        }
        guard keys.isEmpty else { return keys }
        throw CommandFault(
            "\(CommandIO.name(of: path)): contains no certificate and no public key in PEM. Of a private key: openssl pkey -in FILE -pubout; "
                + "of a request: openssl req -in FILE -noout -pubkey")
    }

    /// The names that a leaf is for, each once.
    private static func names(in chain: ChainFacts, of path: String) throws -> [String] {
        var names: [String] = []
        for name in chain.judged.first?.alternativeNames?.dnsNames ?? [] {
            let lower = name.lowercased()
            if names.count < 256, (try? url([lower])) != nil, !names.contains(where: { $0.hasSameBytes(as: lower) }) {
                names.append(lower)
            }
        }
        guard !names.isEmpty else {
            throw CommandFault(
                "\(path): the first certificate has no DNS name to pin; give the server's own certificate first.")
        }
        return names
    }

    /// A URL that the first name covers. What a certificate calls a name may have a port, a path or a user beside the host.
    private static func url(_ names: [String]) throws -> LoadURL {
        let name = names.first ?? ""
        let host = name.hasPrefix("*.") ? "www." + name.dropFirst(2) : name
        let url = try LoadURL("https://\(host)/")
        guard url.host.hasSameBytes(as: host) else { throw CommandFault("\(name): is no name of a host.") }
        return url
    }

    /// Two entries of one domain, from several targets or from a name and its wildcard, become one.
    private static func add(_ entry: PinnedDomain, to dictionary: inout ATSDictionary) {
        guard let place = dictionary.pinnedDomains.firstIndex(where: { $0.domain.hasSameBytes(as: entry.domain) })
        else { return dictionary.pinnedDomains.append(entry) }
        let known = dictionary.pinnedDomains[place]
        func union(_ first: [[UInt8]]?, _ second: [[UInt8]]?) -> [[UInt8]]? {
            guard let first, let second else { return nil }
            return first + second.filter { !first.contains($0) }
        }
        dictionary.pinnedDomains[place] = PinnedDomain(
            domain: known.domain, includesSubdomains: known.includesSubdomains || entry.includesSubdomains,
            authorities: union(known.authorities, entry.authorities), leaves: union(known.leaves, entry.leaves))
    }
}
