// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import Foundation
import NIOCore
import TLSModel
import Testing
import Vocabulary

@testable import ATSDiagnostics
@testable import TLSProbe

/// What the answer of a place of an enrollment leads to.
@Suite struct EnrollmentDiscoveryTests {
    @Test(
        "Only absolute URLs are servers",
        arguments: [
            (#"{"Servers":[{"Version":"mdm-byod","BaseURL":"https://mdm.example/a"}]}"#, ["mdm.example"]),
            (
                #"{"Servers":[{"BaseURL":"https://a.example"},{"BaseURL":"http://b.example/"}]}"#,
                ["a.example", "b.example"]
            ),
            (#"{"Servers":[{"BaseURL":"relative/path"},{"BaseURL":5},{},{"BaseURL":"https://"},7]}"#, []),
            (#"{"Servers":[]}"#, []), (#"{"Servers":{}}"#, []), ("[]", []), ("{}", []),
        ]
    )
    func answers(_ body: String, _ hosts: [String]) throws {
        #expect(try EnrollmentAnswer.servers(Array(body.utf8)).map(\.url.host) == hosts)
    }

    @Test("At most sixteen servers count, and what is no JSON is a fault")
    func limits() throws {
        let entries = (0..<20).map { #"{"BaseURL":"https://h\#($0).example/"}"# }.joined(separator: ",")
        #expect(try EnrollmentAnswer.servers(Array("{\"Servers\":[\(entries)]}".utf8)).count == 16)
        #expect(throws: MalformedInput.self) { try EnrollmentAnswer.servers(Array("<html>".utf8)) }
    }

    @Test("A public place names no server at a private address")
    func privateAddresses() async throws {
        var configuration = CheckSession.Configuration()
        configuration.overrides = [
            AddressOverride(host: "public.example", port: 443, address: "93.184.215.14"),
            AddressOverride(host: "other.example", port: 443, address: "93.184.215.15"),
            AddressOverride(host: "inside.example", port: 443, address: "10.0.0.1"),
            try AddressOverride("both.example:443:10.0.0.1,93.184.215.14"),
        ]
        func leads(_ place: String, _ server: String) async throws -> Bool {
            let session = try CheckSession(configuration)
            let scope = session.scope(ofPlaceAt: await session.privateAddresses(of: try CheckTarget(place)))
            return await session.objection(to: [try CheckTarget(server)], within: scope)?.reason == nil
        }
        #expect(try await leads("public.example", "other.example"))
        #expect(try await !leads("public.example", "inside.example"))
        #expect(try await !leads("public.example", "169.254.169.254"))
        #expect(try await !leads("public.example", "[::1]"))
        // Inside a network the place and what it names are often there together.
        #expect(try await leads("inside.example", "inside.example"))
        // But a private one names neither this machine nor what machines keep for themselves.
        for server in ["127.0.0.1", "[::1]", "169.254.169.254", "[fd00:ec2::254]", "169.254.1.1", "[fe80::1]"] {
            #expect(try await !leads("inside.example", server), "\(server)")
            #expect(try await !leads("169.254.169.254", server), "\(server)")
        }
        // A public place does not become a private one by a further address.
        #expect(try await !leads("both.example", "inside.example"))
        #expect(try await !leads("public.example", "both.example"))
        configuration.allowsPrivateRedirects = true
        #expect(try await leads("public.example", "inside.example"))
        #expect(try await !leads("public.example", "169.254.169.254"))
    }

    /// Name servers of a stranger answer each time as they like.
    @Test("A server that a public place named is asked at no private address, whenever its name is looked up")
    func secondAnswers() async throws {
        var configuration = CheckSession.Configuration()
        configuration.targetTimeout = .seconds(5)
        let loopback = try SocketAddress(ipAddress: "127.0.0.1", port: 0)
        let session = try CheckSession(
            configuration, resolver: NameResolver(threads: .shared) { _, _ in .addresses([loopback]) })
        for scheme in ["https", "http"] {
            var target = try CheckTarget("\(scheme)://evil.example:1/")
            target.scope = .publicAddresses
            var list = TargetList([target])
            #expect(try list.target(at: 0) == target)
            list = try await list.expanded(concurrency: 1, session.addresses)
            #expect(try list.target(at: 0).scope == .publicAddresses)
            var pinned = target
            pinned.address = "127.0.0.1"
            for target in [target, pinned] {
                let report = await session.check(target)
                #expect(report.handshakes == 0 && report.decisive?.result != .pass)
                #expect(report.address == target.address)
            }
            // Who names a server by himself may mean one inside.
            #expect(CheckSession.once([target, target]) == [target])
            #expect(
                try CheckSession.once([target, CheckTarget("\(scheme)://evil.example:1/")]) == [
                    CheckTarget("\(scheme)://evil.example:1/")
                ]
            )
        }
    }

    @Test("A server whose address is not known is not asked")
    func noAddresses() async throws {
        let session = try CheckSession(
            .init(), resolver: NameResolver(threads: .shared) { _, _ in .failed(.nameNotFound("no such name")) })
        let fault = await session.objection(to: [try CheckTarget("evil.example")], within: .publicAddresses)
        #expect(fault?.reason == "the answer names evil.example, which has no address now")
        #expect(fault?.isUndetermined == true)
    }
}
