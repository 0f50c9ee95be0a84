// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Bounds
package import Findings
import Foundation
import StrictJSON
import TLSFacts
import TLSProbe

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

/// Why the servers of a place are not checked.
package struct EnrollmentFault: Error {
    /// Without a full stop.
    package let reason: String
    /// Whether it says nothing about the servers: another time they may be checked.
    package var isUndetermined = false
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
        onFault: (CheckTarget, EnrollmentFault) -> Void
    ) async throws -> [CheckTarget] {
        let places = targets.indices.filter { targets[$0].isEnrollment }
        var named: [Int: [CheckTarget]] = [:]
        if !places.isEmpty {
            let (client, limit) = (enrollmentClient(), configuration.targetTimeout)
            try await BoundedTasks(width: concurrency).run(places) { _, place in
                await TargetDeadline.within(limit) { await servers(namedAt: targets[place].target, client) }
            } each: { index, answer in
                switch answer {
                case .success(let servers): named[places[index]] = servers
                case .failure(let fault): onFault(targets[places[index]].target, fault)
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

    /// Why a place may not name these servers, of the first of them that it may not name; nil if it may name all.
    ///
    /// A place that is not known to be private names none at a private address, and none whose address is not known in time.
    func objection(to servers: [CheckTarget], isPrivatePlace: Bool) async -> EnrollmentFault? {
        guard !isPrivatePlace, !configuration.allowsPrivateRedirects else { return nil }
        var faults = [EnrollmentFault?](repeating: nil, count: servers.count)
        // Neither the work nor keeping its results throws.
        try? await BoundedTasks(width: EnrollmentAnswer.most).run(servers) { _, server in
            await resolution(of: server)
        } each: { index, answer in
            let name = "the answer names \(servers[index].url.host), which"
            switch answer {
            case .addresses(let list) where list.contains(where: { AddressKind($0).isPrivate }):
                faults[index] = EnrollmentFault(
                    reason: "\(name) is at a private address (use --allow-private to check it)"
                )
            case .failed(.timeout):
                faults[index] = EnrollmentFault(reason: "\(name) was not found in time", isUndetermined: true)
            case .addresses, .failed: break
            }
        }
        return faults.lazy.compactMap(\.self).first
    }

    /// Whether a place is known to be in a private network, with every address.
    func isPrivate(_ place: CheckTarget) async -> Bool {
        guard case .addresses(let list) = await resolution(of: place) else { return false }
        return !list.isEmpty && list.allSatisfy { AddressKind($0).isPrivate }
    }

    /// The servers in the answer of a place, at most ``EnrollmentAnswer/most``. Loading it and looking them up share the time for a target.
    private func servers(
        namedAt place: CheckTarget,
        _ client: ATSClient
    ) async -> Result<[CheckTarget], EnrollmentFault> {
        let limit = configuration.targetTimeout
        // Asked first: a slow answer must not take the time for it.
        let isPrivatePlace = await isPrivate(place)
        let report = await client.load(
            place.url.text,
            timeout: TargetDeadline.remaining(atMost: limit),
            bodyLimit: EnrollmentAnswer.limit
        )
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
        if let fault = await objection(to: named, isPrivatePlace: isPrivatePlace) { return .failure(fault) }
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
