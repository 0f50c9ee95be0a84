// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSClient
import AppTransportSecurity
import HTTPTypes
import TLSModel
import TLSProbe
import Testing
import Vocabulary

@Test func `ATSClient: a load that the policy refuses, and one that it lets through`() async throws {
    let server = try FlawedServer(["-tls1_2", "-cipher", "AES128-GCM-SHA256"], key: ["rsa:2048"])
    let port = server.port
    var trust = TrustAnchors()
    try trust.add(file: server.certificate, kind: .installed)

    // walkthrough: ATSClient refused
    let client = ATSClient(policy: ATSPolicy(dictionary: ATSDictionary(nil), profile: .standard), trust: trust)
    do {
        let request = HTTPRequest(method: .get, scheme: "https", authority: "localhost:\(port)", path: "/")
        let response = try await client.execute(request)
        print(response.status)
    } catch let refusal as ATSLoadError {
        // The NSURLError that an app would see, why, and which key of Info.plist would change it.
        print(refusal.error.code, refusal.causes, refusal.remedies)
    }
    await client.shutDown()
    // end
    let strict = await client.load("https://localhost:\(port)/")
    #expect(strict.result != .loaded)

    // walkthrough: ATSClient rules
    var dictionary = ATSDictionary()
    dictionary.exceptions["localhost"] = ExceptionEntry(requiresForwardSecrecy: false)
    let lenient = ATSClient(policy: ATSPolicy(dictionary: dictionary, profile: .standard), trust: trust)
    let report = await lenient.load("https://localhost:\(port)/")
    await lenient.shutDown()
    // end
    #expect(report.result == .loaded && report.status == 200, "\(report)")
}
