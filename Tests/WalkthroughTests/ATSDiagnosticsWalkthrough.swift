// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import ATSDiagnostics
import AppTransportSecurity
import Foundation
import TLSModel
import TLSProbe
import Testing
import Vocabulary

@Test func `ATSDiagnostics: one target under the configurations of nscurl`() async throws {
    let server = try FlawedServer(["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"])
    let port = server.port
    let roots = server.certificate

    // walkthrough: ATSDiagnostics check
    var configuration = CheckSession.Configuration()
    configuration.profile = OSProfile.named("macos26") ?? .standard
    configuration.installedRoots = [roots]
    let session = try CheckSession(configuration)
    let report = await session.check(try CheckTarget("https://localhost:\(port)/"))

    for result in report.results { print(result.configuration.name, result.result, result.because.first ?? "") }
    print(report.smallestException)
    // end
    #expect(report.results.count == 16)
    #expect(report.smallestException == SmallestException.none)
    #expect(report.results.first?.result == .pass, "\(report.results.first?.because ?? [])")
}

@Test func `ATSDiagnostics: a chain before it is installed`() async throws {
    let server = try FlawedServer()
    let (chain, roots) = (server.certificate, server.certificate)

    // walkthrough: ATSDiagnostics certificate
    var anchors = TrustAnchors()
    try anchors.add(file: roots, kind: .installed)
    let pem = try Data(contentsOf: URL(fileURLWithPath: chain))
    let question = CertificateJudge.Question(certificates: PEMBlocks.decode(pem), host: "localhost")
    let answer = await CertificateJudge(anchors: anchors).judge(question, at: Date())

    print(answer.passed, answer.because)
    // end
    #expect(answer.passed, "\(answer.because)")
    withExtendedLifetime(server) {}
}
