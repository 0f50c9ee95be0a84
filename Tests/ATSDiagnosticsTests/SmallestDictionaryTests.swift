// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import NIOCore
import NIOPosix
import PropertyLists
import TLSModel
import TLSProbe
import TestSupport
import Testing
import Vocabulary

@testable import ATSClient
@testable import ATSDiagnostics

/// `check`, `minimize` and `proxy` say "the smallest dictionary": it must be the same one.
@Suite(.enabled(if: LoopbackServers.isAvailable, "nginx, openssl and python3 are needed"), .serialized)
struct SmallestDictionaryTests {
    /// A proxy's judge without an app's dictionary. It reads the system's roots, so one serves for all servers.
    private static func judge(_ servers: LoopbackServers, _ profile: OSProfile) throws -> ProxyJudge {
        var anchors = try TrustAnchors.system()
        try anchors.add(file: servers.authority, kind: .installed)
        var configuration = ATSProxy.Configuration()
        configuration.addressOverrides = try servers.resolveEntries.map { try AddressOverride($0) }
        configuration.connectTimeout = .seconds(3)
        return ProxyJudge(
            policy: ATSPolicy(dictionary: ATSDictionary(), profile: profile),
            chains: ChainBuilder(
                anchors: anchors, fetcher: HTTPIntermediateFetcher(group: MultiThreadedEventLoopGroup.singleton)),
            configuration: configuration, guardian: AddressGuardian())
    }

    /// What the proxy finds for one server, or nil if no exception lets it load.
    private static func ofProxy(_ judge: ProxyJudge, _ url: LoadURL) async -> ATSDictionary? {
        let host = ProxySummary.Host(host: url.host, port: url.effectivePort, isSecure: url.isSecure, requests: 1)
        let summary = await ProxySummary.make(of: [host], judge: judge, within: .seconds(60))
        return summary.impossible.isEmpty ? summary.dictionary : nil
    }

    @Test("The proxy says why a host could not be reached, and what the policy refused says more")
    func whyAHostFailed() {
        let record = ProxyRecord()
        func note(_ result: ATSProxy.Event.Result, _ code: Code) {
            let event = ATSProxy.Event(
                result: result, method: "CONNECT", target: "a.example:443", causes: [Cause(code, "Why.")], error: nil,
                console: [])
            record.add(event, host: "a.example", port: 443, isSecure: true)
        }
        note(.failed, .netDNS)
        #expect(record.hosts.first?.causes.map(\.code) == [.netDNS])
        note(.refused, .trustExpired)
        note(.failed, .netDNS)
        #expect(record.hosts.first?.causes.map(\.code) == [.trustExpired])
    }

    @Test("The proxy names addresses that change by their range, as check and lint do")
    func theKeyOfAnAddress() async throws {
        let judge = try Self.judge(try #require(LoopbackServers.shared), .standard)
        let found = await Self.ofProxy(judge, try LoadURL("http://100.64.1.2/"))
        #expect(found?.exceptions == ["100.64.0.0/10": ExceptionEntry(allowsInsecureHTTPLoads: true)])
    }

    /// - Parameter distinct: at least so many different dictionaries are found; the test would be empty if every server needed the same.
    /// - Parameter step: `make test` takes one server of so many. An SDK changes the versions that remain, and no more.
    @Test(arguments: [(18, 5, 1), (26, 2, 3)])
    func checkMinimizeAndProxyAgree(_ sdk: Int, _ count: Int, _ step: Int) async throws {
        let servers = try #require(LoopbackServers.shared)
        var configuration = CheckSession.Configuration()
        let profile = OSProfile.standard.linked(on: try #require(LinkedSDK(number: sdk)))
        configuration.profile = profile
        configuration.installedRoots = [servers.authority]
        configuration.overrides = try servers.resolveEntries.map { try AddressOverride($0) }
        configuration.connectTimeout = .seconds(3)
        configuration.loadsHTTP = false
        let session = try CheckSession(configuration)
        // A server that says nothing is waited for, by each of the three.
        var kinds = LongForm.share(of: ServerExpectations.all.map(\.kind), one: step).filter {
            !ServerMatrixTests.waiting.contains($0)
        }
        var found: [String: ATSDictionary?] = [:]
        var targets = try kinds.map { try CheckTarget(servers.server($0).url) }
        // Insecure HTTP alone is enough here, and no server above needs it without more.
        kinds.append("cleartext")
        targets.append(try CheckTarget("http" + servers.server("modern").url.dropFirst("https".count)))
        try await session.run(targets, concurrency: 16) { found[kinds[$0]] = $1.smallestException.dictionary }
        // Side by side, because what each server waits for is waited for by all three.
        let asked = zip(kinds, targets).map { ($0, $1) }
        var distinct: Set<String> = []
        let judge = try Self.judge(servers, profile)
        try await BoundedTasks(width: 16).run(asked) { _, place in
            let minimal = await session.minimize([place.1], concurrency: 1)
            return (minimal, await Self.ofProxy(judge, place.1.url))
        } each: { index, answers in
            let (kind, (minimal, proxied)) = (kinds[index], answers)
            let checked = try #require(found[kind])
            #expect(minimal.dictionary == checked ?? ATSDictionary(), "\(kind)")
            #expect((minimal.impossible.isEmpty && minimal.withCode.isEmpty) == (checked != nil), "\(kind)")
            #expect(
                proxied == checked,
                "\(kind): \(String(describing: proxied?.propertyListValue)) \(String(describing: checked?.propertyListValue))"
            )
            if let checked { distinct.insert(checked.propertyListValue.oldStyleDescription) }
        }
        #expect(distinct.count >= count, "\(distinct)")
    }
}
