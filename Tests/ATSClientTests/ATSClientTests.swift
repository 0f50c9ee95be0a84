// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import HTTPTypes
import NIOCore
import TestSupport
import Testing
import Vocabulary

@Suite(.enabled(if: LoopbackServers.isAvailable))
struct ATSClientTests {
    struct Row: Sendable, CustomStringConvertible {
        let kind: String
        let dictionary: String
        let result: LoadReport.Result
        let code: String?
        let number: Int?

        init(
            _ kind: String, _ dictionary: String, _ result: LoadReport.Result, _ code: String? = nil,
            _ number: Int? = nil
        ) {
            self.kind = kind
            self.dictionary = dictionary
            self.result = result
            self.code = code
            self.number = number
        }

        var description: String { "\(kind) under \(dictionary)" }
    }

    static let rows: [Row] = [
        Row("modern", "{}", .loaded),
        Row("http2", "{}", .loaded),
        Row("tls13-only", "{}", .loaded),
        Row("status-500", "{}", .loaded),
        Row("key-p384", "{}", .loaded),
        Row("key-p521", "{}", .refused, "ats.tls.no-common-signature", -1200),
        Row("expired", "{}", .refused, "ats.trust.expired", -1200),
        Row("self-signed", "{}", .refused, "ats.trust.self-signed", -1200),
        Row("key-rsa1024", "{}", .refused, "ats.trust.weak-key", -1200),
        Row("signature-sha1", "{}", .refused, "ats.trust.weak-signature", -1200),
        Row("wrong-host", "{}", .refused, "ats.trust.wrong-host", -1200),
        Row("tls11-only", "{}", .refused, "ats.tls.version-too-low", -1200),
        Row(
            "tls11-only", Fixture.exception("\"NSExceptionMinimumTLSVersion\":\"TLSv1.1\""), .refused,
            "ats.tls.version-too-low", -1200),
        Row("suite-static-aes128-gcm-sha256", "{}", .refused, "ats.tls.no-forward-secrecy", -1200),
        Row(
            "suite-static-aes128-gcm-sha256", Fixture.exception("\"NSExceptionRequiresForwardSecrecy\":false"), .loaded),
        Row("client-certificate-demanded", "{}", .refused, "ats.tls.client-certificate-required", -1206),
        Row("client-certificate-demanded-13", "{}", .refused, "ats.tls.client-certificate-required", -1206),
        Row("client-certificate-wanted", "{}", .loaded),
        Row("redirect-https", "{}", .loaded),
        Row("redirect-loop", "{}", .refused, "ats.http.redirect-loop", -1007),
        Row("redirect-endless", "{}", .refused, "ats.http.redirect-loop", -1007),
        Row("redirect-http-same-host", "{}", .refused, "ats.http.redirect-blocked", -1022),
        Row("redirect-http-same-host", Fixture.exception("\"NSExceptionAllowsInsecureHTTPLoads\":true"), .loaded),
        Row("redirect-https-expired", "{}", .refused, "ats.trust.expired", -1200),
        Row("refused", "{}", .noAnswer, "ats.net.refused", -1004),
        Row("resetting", "{}", .noAnswer, "ats.net.reset", -1200),
        Row("closing", "{}", .noAnswer, "ats.net.closed"),
        Row("garbage", "{}", .noAnswer, "ats.net.not-tls"),
        Row("plain-http", "{}", .noAnswer, "ats.net.not-tls"),
        Row("no-answer", "{}", .noAnswer, "ats.http.no-answer", -1005),
    ]

    @Test(arguments: rows)
    func loads(_ row: Row) async throws {
        let client = try Fixture.client(row.dictionary)
        let report = await client.load(try Fixture.server(row.kind).url)
        await client.shutDown(grace: .zero)
        #expect(report.result == row.result, "\(report.because)")
        if let code = row.code { #expect(report.because.first?.code.rawValue == code, "\(report.because)") }
        if let number = row.number { #expect(report.error?.code == number) }
        if row.result == .loaded { #expect(report.error == nil) }
    }

    @Test("A cleartext URL is refused without any connection, and names the key that would change it")
    func cleartext() async throws {
        let client = try Fixture.client()
        let server = try Fixture.server("plain-http")
        let report = await client.load("http://\(server.host):\(server.port)/")
        #expect(report.result == .refused)
        #expect(report.error?.code == -1022)
        #expect(report.because.first?.code == "ats.cleartext.blocked")
        #expect(
            report.remedies.first
                .map { "\($0.keyPath) \($0.value) \($0.requiresJustification)" }
                == "NSExceptionDomains.api.example.com.NSExceptionAllowsInsecureHTTPLoads true true")
        #expect(client.openConnections == 0)
    }

    @Test("The app's delegate is asked only where the dictionary permits insecure loads", arguments: [false, true])
    func delegate(permitted: Bool) async throws {
        let dictionary = permitted ? Fixture.exception("\"NSExceptionAllowsInsecureHTTPLoads\":true") : "{}"
        let client = try Fixture.client(dictionary) { $0.acceptsUntrusted = true }
        let report = await client.load(try Fixture.server("self-signed").url)
        #expect(report.result == (permitted ? .loaded : .refused))
        if permitted { #expect(report.because.first?.code == "ats.trust.needs-delegate") }
        let without = try Fixture.client(dictionary)
        #expect(await without.load(try Fixture.server("self-signed").url).result == .refused)
    }

    @Test(
        "Monitor mode loads, and reports what would have been refused", arguments: ["expired", "tls11-only", "modern"])
    func monitor(kind: String) async throws {
        let client = try Fixture.client { $0.isMonitoring = true }
        let report = await client.load(try Fixture.server(kind).url)
        #expect(report.result == .loaded, "\(report.because)")
        #expect(report.wouldRefuse.count == (kind == "modern" ? 0 : 1))
    }

    @Test("Connections are kept and shared, HTTP/1.1 and HTTP/2", arguments: ["modern", "http2"])
    func keepAlive(kind: String) async throws {
        let client = try Fixture.client { $0.connectionsPerHost = 2 }
        let url = try Fixture.server(kind).url
        let statuses = try await allAtOnce(40) { _ in await client.load(url).status }
        #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
        #expect(client.openConnections <= 2)
        await client.shutDown()
        #expect(client.openConnections == 0)
    }
}
