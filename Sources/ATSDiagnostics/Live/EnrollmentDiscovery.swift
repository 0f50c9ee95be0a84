// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import Formats
import NIOCore
import TLSModel
import TLSProbe
package import Vocabulary

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
    /// - Parameter onFault: called with a place that names no server, and why.
    package func discovering(
        _ targets: [ManagedTarget], concurrency: Int, onFault: (CheckTarget, EnrollmentFault) -> Void
    ) async throws -> [CheckTarget] {
        let places = targets.indices.filter { targets[$0].isEnrollment }
        var named: [Int: [CheckTarget]] = [:]
        if !places.isEmpty {
            let limit = configuration.targetTimeout
            try await BoundedTasks(width: concurrency).run(places) { _, place in
                await TargetDeadline.within(limit) { await servers(namedAt: targets[place].target) }
            } each: { index, answer in
                switch answer {
                case .success(let servers): named[places[index]] = servers
                case .failure(let fault): onFault(targets[places[index]].target, fault)
                }
            }
        }
        return CheckSession.once(targets.enumerated().flatMap { [$1.target] + (named[$0] ?? []) })
    }

    /// Each target once. One that the user named too may be at any address, and one that two places named at those of either.
    static func once(_ targets: [CheckTarget]) -> [CheckTarget] {
        var found: [CheckTarget] = []
        var places: [CheckTarget: Int] = [:]
        for next in targets {
            var key = next
            key.scope = .named
            if let place = places[key] {
                found[place].scope = found[place].scope.joined(with: next.scope)
            } else {
                places[key] = found.count
                found.append(next)
            }
        }
        return found
    }

    /// Why a place may not name these servers, of the first of them that it may not name; nil if it may name all.
    ///
    /// It names none at an address that it may not lead to, and none whose address is not known in time.
    func objection(to servers: [CheckTarget], within scope: FetchScope) async -> EnrollmentFault? {
        var faults = [EnrollmentFault?](repeating: nil, count: servers.count)
        // Neither the work nor keeping its results throws.
        try? await BoundedTasks(width: EnrollmentAnswer.most).run(servers) { _, server in
            await resolution(of: server)
        } each: { index, answer in
            let name = "the answer names \(servers[index].url.host), which"
            switch answer {
            case .addresses(let list) where !list.allSatisfy(scope.allows):
                let isPossible = list.allSatisfy(FetchScope.anyNetwork.allows)
                let way = isPossible ? "use --allow-private to check it" : "name it yourself to check it"
                faults[index] = EnrollmentFault(reason: "\(name) is at a private address (\(way))")
            case .failed(let failure) where [.timeout, NameResolver.silence].contains(failure):
                faults[index] = EnrollmentFault(reason: "\(name) was not found in time", isUndetermined: true)
            case .failed:
                faults[index] = EnrollmentFault(reason: "\(name) has no address now", isUndetermined: true)
            case .addresses: break
            }
        }
        return faults.lazy.compactMap(\.self).first
    }

    /// The addresses of a place that is known to be in a private network, with every one of them; nil for any other place.
    func privateAddresses(of place: CheckTarget) async -> [SocketAddress]? {
        guard case .addresses(let list) = await resolution(of: place), !list.isEmpty,
            list.allSatisfy({ AddressKind($0).isPrivate })
        else { return nil }
        return list
    }

    /// What a place may lead to: what each of its addresses may, if it is known to be private.
    func scope(ofPlaceAt addresses: [SocketAddress]?) -> FetchScope {
        if configuration.allowsPrivateRedirects { return .anyNetwork }
        return addresses?.reduce(.named) { $0.within(FetchScope(of: $1)) } ?? .publicAddresses
    }

    /// The servers in the answer of a place, at most ``EnrollmentAnswer/most``. Loading it and looking them up share the time for a target.
    private func servers(namedAt place: CheckTarget) async -> Result<[CheckTarget], EnrollmentFault> {
        let limit = configuration.targetTimeout
        // Asked first: a slow answer must not take the time for it.
        let addresses = await privateAddresses(of: place)
        // A private place answers from there, or a name server could call any place private.
        let client = enrollmentClient(
            at: addresses.map {
                AddressOverride(
                    host: place.url.host, port: place.url.effectivePort, addresses: $0.compactMap(\.ipAddress))
            })
        let report = await client.load(
            place.url.text, timeout: TargetDeadline.remaining(atMost: limit), bodyLimit: EnrollmentAnswer.limit)
        await client.shutDown(grace: .zero)
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
        var scope = scope(ofPlaceAt: addresses)
        // It may have sent us on to another one.
        if !configuration.allowsPrivateRedirects, let leads = report.hops.last?.leads { scope = scope.within(leads) }
        if let fault = await objection(to: named, within: scope) { return .failure(fault) }
        // The answer of a name server may be another one when the check looks the name up again.
        return .success(
            named.map { server in
                var server = server
                server.scope = scope
                return server
            }
        )
    }
}

/// What a place of an enrollment answers (Apple: account-driven enrollment).
enum EnrollmentAnswer {
    /// The servers of an answer, at most ``most``; those without an absolute URL are passed over, as a device could not ask them.
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
