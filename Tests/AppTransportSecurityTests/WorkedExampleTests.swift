// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppTransportSecurity
import TLSModel
import Testing

/// The three worked examples of the documents (requirement A17).
@Suite("Worked examples")
struct WorkedExampleTests {
    @Test("one insecure server: its host and subdomains over HTTP, nothing else")
    func insecureServer() throws {
        let json = #"""
            {"NSExceptionDomains":{"media.example.com":{"NSIncludesSubdomains":true,"NSExceptionAllowsInsecureHTTPLoads":true}}}
            """#
        #expect(try decide("http://media.example.com/a.mp4", json).verdict == .allowed)
        #expect(try decide("http://cdn.media.example.com/", json).verdict == .allowed)
        #expect(try decide("http://www.example.com/", json).verdict == .blocked)
        #expect(try decide("https://media.example.com/", json).requirements.serverTrust == .default)
    }

    @Test("one server with lower security: TLS 1.1 and no forward secrecy, still no HTTP")
    func lowerSecurity() throws {
        let json = #"""
            {"NSExceptionDomains":{"legacy.example.com":{"NSExceptionMinimumTLSVersion":"TLSv1.1","NSExceptionRequiresForwardSecrecy":false}}}
            """#
        let decision = try decide("https://legacy.example.com/", json)
        #expect(decision.requirements.minimumTLS == .tls11)
        #expect(decision.requirements.suitePolicy == .atsPlusRSA)
        #expect(decision.requirements.serverTrust == .ats)
        #expect(try decide("http://legacy.example.com/", json).verdict == .blocked)
    }

    @Test("everything open but two domains")
    func allButTwo() throws {
        let json = #"""
            {"NSAllowsArbitraryLoads":true,"NSExceptionDomains":{
             "api.example.com":{"NSIncludesSubdomains":true,"NSExceptionAllowsInsecureHTTPLoads":false},
             "example.org":{"NSIncludesSubdomains":true}}}
            """#
        #expect(try decide("http://anything.net/", json).verdict == .allowed)
        #expect(try decide("http://api.example.com/", json).verdict == .blocked)
        #expect(try decide("http://v2.api.example.com/", json).verdict == .blocked)
        #expect(try decide("http://www.example.org/", json).verdict == .blocked)
        #expect(try decide("https://example.org/", json).requirements.suitePolicy == .ats)
        #expect(try decide("https://anything.net/", json).requirements.suitePolicy == .system)
    }
}
