// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import ATSDiagnostics
import AppTransportSecurity
import ArgumentParser
import Findings
import Foundation
import NIOCore
import StrictJSON
import TLSProbe

/// Whose loads a check judges.
enum CheckPurpose: String, ExpressibleByArgument, CaseIterable {
    /// Those of the system's own processes since OS 27.
    case managed

    /// The system that managed loads are judged on: macOS 27 unless another one of 27 or later is named.
    static func managedSystem(_ os: OSProfile?) throws -> OSProfile {
        guard let os else { return OSProfile.named("macos27") ?? .standard }
        guard let sdk = os.sdk, sdk.number >= 27 else {
            throw ValidationError("--for managed is what OS 27 does: leave out --os, or name ios27 or macos27.")
        }
        return os
    }
}

/// Finds the servers of an enrolment: from a mail address or a domain to the addresses that devices are sent to.
///
/// Devices ask `https://DOMAIN/.well-known/com.apple.remotemanagement` (Apple: account-driven enrolment).
struct EnrolmentDiscovery {
    private let network: CheckOptions
    private let profile: OSProfile

    init(_ network: CheckOptions, on profile: OSProfile) {
        self.network = network
        self.profile = profile
    }

    /// The targets as given, and for each mail address and `mdm:DOMAIN` the server that is asked with those that it names behind it.
    func targets(_ words: [String]) async throws -> TargetList {
        var all = words
        if let file = network.targetsFrom { all += try EntryFile.entries(of: file) { $0 } }
        if all.isEmpty { return try network.targets([]) }
        var found: [CheckTarget] = []
        var seen: Set<CheckTarget> = []
        for word in all {
            let target: CheckTarget
            do { target = try CheckTarget(EnrolmentDiscovery.place(word) ?? word) } catch {
                throw ValidationError("\(error).")
            }
            let named = EnrolmentDiscovery.place(word) == nil ? [] : await servers(named: target)
            for next in [target] + named where seen.insert(next).inserted { found.append(next) }
        }
        return TargetList(found)
    }

    /// Where an enrolment is asked for; nil for a word that is a target itself.
    static func place(_ word: String) -> String? {
        let path = "/.well-known/com.apple.remotemanagement"
        if word.utf8.starts(with: "mdm:".utf8) {
            return "https://\(String(decoding: word.utf8.dropFirst(4), as: UTF8.self))\(path)"
        }
        guard !word.utf8.contains(UInt8(ascii: "/")), let at = word.utf8.lastIndex(of: UInt8(ascii: "@")) else {
            return nil
        }
        let domain = String(decoding: word.utf8[at...].dropFirst(), as: UTF8.self)
        return "https://\(domain)\(path)?user-identifier=\(word.utf8.percentEncoded())"
    }

    /// The servers in the answer, at most ``most``; none, with a word why on standard error, if there is no answer that names any.
    private func servers(named place: CheckTarget) async -> [CheckTarget] {
        do {
            return try await asked(place)
        } catch {
            let reason = (error as? CommandFault)?.reason ?? (error as? MalformedInput)?.description ?? "\(error)"
            CommandIO.say(
                "sealward: \(place.url.text.terminalSafe): \(reason.terminalSafe); only this server is checked."
            )
            return []
        }
    }

    private func asked(_ place: CheckTarget) async throws -> [CheckTarget] {
        var configuration = ATSClient.Configuration()
        configuration.connectTimeout = .seconds(network.connectTimeout)
        configuration.totalTimeout = .seconds(network.timeout)
        configuration.addressOverrides = try network.places.overrides()
        configuration.mayRedirectToPrivateAddresses = network.allowPrivate
        let client = ATSClient(
            policy: ATSPolicy(dictionary: DiagnosticConfiguration.managed.dictionary, profile: profile),
            trust: try network.anchors(),
            fetcher: network.noAIA ? nil : HTTPIntermediateFetcher(group: configuration.eventLoopGroup),
            configuration: configuration
        )
        let answer = Answer()
        let report = try await client.load(place.url.text) { _, part in
            if let part { try answer.take(part.readableBytesView) }
        }
        await client.shutDown(grace: .zero)
        guard report.result == .loaded, report.status == 200 else {
            let status = report.status.map { "the server answers with status \($0)" }
            throw CommandFault("\(report.because.first?.message ?? status ?? "there is no answer").")
        }
        let document = try JSONReader.read(answer.bytes, limits: .outside)
        guard case .array(let servers)? = document.member("Servers") else {
            throw CommandFault("The answer names no servers.")
        }
        return servers.prefix(EnrolmentDiscovery.most).compactMap { server in
            guard case .string(let address)? = server.member("BaseURL") else { return nil }
            return try? CheckTarget(address)
        }
    }

    /// An answer in memory, which is a few hundred bytes.
    private final class Answer {
        private(set) var bytes: [UInt8] = []

        func take(_ part: some Collection<UInt8>) throws {
            guard bytes.count + part.count <= EnrolmentDiscovery.limit else {
                throw CommandFault("The answer is larger than \(EnrolmentDiscovery.limit) bytes.")
            }
            bytes += part
        }
    }

    private static let limit = 64 << 10
    /// Apple's answers name one server for each kind of enrolment.
    private static let most = 16
}
