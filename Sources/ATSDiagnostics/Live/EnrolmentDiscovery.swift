// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Bounds
package import Findings
import Foundation
import StrictJSON

/// A target of a managed check: a server, or the place where an enrolment is asked for.
///
/// Devices ask `https://DOMAIN/.well-known/com.apple.remotemanagement` (Apple: account-driven enrolment).
package struct ManagedTarget: Sendable, Hashable {
    package let target: CheckTarget
    /// Whether the server there names others.
    let isEnrolment: Bool

    /// Reads a mail address, `mdm:DOMAIN`, or what ``CheckTarget`` reads.
    package init(_ word: String) throws(MalformedInput) {
        let place = ManagedTarget.place(word)
        target = try CheckTarget(place ?? word)
        isEnrolment = place != nil
    }

    /// Where an enrolment is asked for; nil for a word that is a target itself.
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
    /// The targets, each once, and behind each place of an enrolment the servers that it names.
    ///
    /// - Parameters:
    ///   - concurrency: places that are asked at a time, each within the time for a target.
    ///   - onFault: called with a place that names no server, and why.
    package func discovering(
        _ targets: [ManagedTarget],
        concurrency: Int,
        onFault: (CheckTarget, String) -> Void
    ) async throws -> [CheckTarget] {
        let places = targets.indices.filter { targets[$0].isEnrolment }
        var named: [Int: [CheckTarget]] = [:]
        if !places.isEmpty {
            let client = enrolmentClient()
            try await BoundedTasks(width: concurrency).run(places) { _, place in
                await CheckSession.servers(namedAt: targets[place].target, client)
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

    private struct EnrolmentFault: Error {
        /// Without a full stop.
        let reason: String
    }

    /// The servers in the answer of a place, at most ``EnrolmentAnswer/most``.
    private static func servers(
        namedAt place: CheckTarget,
        _ client: ATSClient
    ) async -> Result<[CheckTarget], EnrolmentFault> {
        let report = await client.load(place.url.text, bodyLimit: EnrolmentAnswer.limit)
        guard report.result == .loaded else {
            let reason = report.because.first?.message ?? "there is no answer"
            return .failure(EnrolmentFault(reason: reason.hasSuffix(".") ? String(reason.dropLast()) : reason))
        }
        guard report.status == 200 else {
            return .failure(EnrolmentFault(reason: "the server answers with status \(report.status ?? 0)"))
        }
        do throws(MalformedInput) {
            let document = try JSONReader.read(report.body, limits: .outside)
            guard let servers = document.member("Servers")?.elements else {
                return .failure(EnrolmentFault(reason: "the answer names no servers"))
            }
            let addresses = servers.prefix(EnrolmentAnswer.most).compactMap { $0.member("BaseURL")?.text }
            return .success(addresses.compactMap { try? CheckTarget($0) })
        } catch {
            return .failure(EnrolmentFault(reason: error.description))
        }
    }
}

private enum EnrolmentAnswer {
    /// Bytes; real answers have a few hundred.
    static let limit = 64 << 10
    /// Apple's answers name one server for each kind of enrolment.
    static let most = 16
}
