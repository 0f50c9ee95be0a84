// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Bounds
package import Findings
import Foundation
import StrictJSON
import TLSFacts

/// A target of a managed check: a server, or the place where an enrollment is asked for.
///
/// Devices ask `https://DOMAIN/.well-known/com.apple.remotemanagement` (Apple: account-driven enrollment).
package struct ManagedTarget: Sendable, Hashable {
    package let target: CheckTarget
    /// Whether the server there names others.
    let isEnrollment: Bool

    /// Reads a mail address, `mdm:DOMAIN`, or what ``CheckTarget`` reads.
    package init(_ word: String) throws(MalformedInput) {
        let place = ManagedTarget.place(word)
        target = try CheckTarget(place ?? word)
        isEnrollment = place != nil
    }

    /// Where an enrollment is asked for; nil for a word that is a target itself.
    private static func place(_ word: String) -> String? {
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
}

extension CheckSession {
    /// The targets, each once, and behind each place of an enrollment the servers that it names.
    ///
    /// - Parameters:
    ///   - concurrency: places that are asked at a time, each within the time for a target.
    ///   - onFault: called with a place that names no server, and why.
    package func discovering(
        _ targets: [ManagedTarget],
        concurrency: Int,
        onFault: (CheckTarget, String) -> Void
    ) async throws -> [CheckTarget] {
        let places = targets.indices.filter { targets[$0].isEnrollment }
        var named: [Int: [CheckTarget]] = [:]
        if !places.isEmpty {
            let client = enrollmentClient()
            try await BoundedTasks(width: concurrency).run(places) { _, place in
                await servers(namedAt: targets[place].target, client)
            } each: { index, answer in
                switch answer {
                case .success(let servers): named[places[index]] = servers
                case .failure(let fault): onFault(targets[places[index]].target, fault.reason)
                }
            }
            await client.shutDown(grace: .zero)
        }
        var found: [CheckTarget] = []
        var seen: Set<CheckTarget> = []
        for (index, item) in targets.enumerated() {
            for next in [item.target] + (named[index] ?? []) where seen.insert(next).inserted { found.append(next) }
        }
        return found
    }

    private struct EnrollmentFault: Error {
        /// Without a full stop.
        let reason: String
    }

    /// Whether a place may name a server: a public one names none at a private address unless that is allowed.
    func mayLead(from place: CheckTarget, to server: CheckTarget) async -> Bool {
        guard !configuration.allowsPrivateRedirects, await publicAddress(of: place) != nil else { return true }
        return await !addresses(of: server).contains { text in
            IPAddress(text).map { AddressKind($0).isPrivate } ?? false
        }
    }

    /// The servers in the answer of a place, at most ``EnrollmentAnswer/most``.
    private func servers(
        namedAt place: CheckTarget,
        _ client: ATSClient
    ) async -> Result<[CheckTarget], EnrollmentFault> {
        let report = await client.load(place.url.text, bodyLimit: EnrollmentAnswer.limit)
        guard report.result == .loaded else {
            let reason = report.because.first?.message ?? "there was no answer"
            return .failure(EnrollmentFault(reason: reason.hasSuffix(".") ? String(reason.dropLast()) : reason))
        }
        guard report.status == 200 else {
            return .failure(EnrollmentFault(reason: "the server answered with status \(report.status ?? 0)"))
        }
        let named: [CheckTarget]
        do throws(MalformedInput) { named = try EnrollmentAnswer.servers(report.body) } catch {
            return .failure(EnrollmentFault(reason: error.description))
        }
        guard !named.isEmpty else { return .failure(EnrollmentFault(reason: "the answer names no servers")) }
        for target in named {
            guard await mayLead(from: place, to: target) else {
                let reason =
                    "the answer names \(target.url.host), which is at a private address (use --allow-private to check it)"
                return .failure(EnrollmentFault(reason: reason))
            }
        }
        return .success(named)
    }
}

/// What a place of an enrollment answers (Apple: account-driven enrollment).
enum EnrollmentAnswer {
    /// The servers of an answer, at most ``most``; those without an absolute URL are passed over, as a device could not ask them.
    ///
    /// - Throws: `malformed.json`.
    static func servers(_ body: [UInt8]) throws(MalformedInput) -> [CheckTarget] {
        guard let servers = try JSONReader.read(body, limits: .outside).member("Servers")?.elements else { return [] }
        return servers.prefix(most).compactMap { server in
            guard let address = server.member("BaseURL")?.text, LoadURL.schemeEnd(address) != nil else {
                return nil
            }
            return try? CheckTarget(address)
        }
    }

    /// Bytes; real answers have a few hundred.
    static let limit = 64 << 10
    /// Apple's answers name one server for each kind of enrollment.
    static let most = 16
}
