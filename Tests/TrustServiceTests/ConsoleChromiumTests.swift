// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceSimulator
import Foundation
import TestSupport
import Testing
import TrustStores

@testable import TrustService

/// The console in a browser of our time: `Scripts/console-check` says what it looks at.
@Suite(.enabled(if: PythonPackages.canLookAtPages, "\(PythonPackages.pageNeeds)"))
struct ConsoleChromiumTests {
    @Test func aPersonFindsNothingWrong() async throws {
        var configuration = AuthorizationTests.configuration()
        configuration.internalListen = ListenAddress(host: "127.0.0.1", port: 0)
        var ramp = Configuration.Ramp()
        ramp.dailyActiveUsers = 50_000
        ramp.start = Date().addingTimeInterval(-40 * 3600)
        configuration.apps[0].ramp = ramp
        try await RunningService.with(configuration) { service in
            let phone = await Phone(service)
            var ids: [String] = []
            // Names that would run, or break the page, if they were markup; and one that is as long as one may be.
            let names = [
                "<img src=x onerror=alert(1)>", "\"><script>alert(1)</script>", String(repeating: "W", count: 256),
                "anna",
            ]
            for name in names { ids.append(try await phone.attested(user: name)) }
            for _ in 0..<5 { _ = try await phone.assert(try await phone.assertion(ids[0])) }
            for fault in [.corruptedSignature, .otherApp, .trailingByte] as [AssertionFault] {
                _ = try await phone.assert(try await phone.assertion(ids[1], fault: fault))
            }
            let script = BuiltProgram.repository.appendingPathComponent("Scripts/console-check")
            var arguments = [service.internalBase ?? "", RunningService.adminToken, "--revoke", ids[1]]
            if let folder = ProcessInfo.processInfo.environment["SEALWARD_SCREENSHOTS"] {
                arguments += ["--screenshots", folder]
            }
            let run = try PythonPackages.file(script, arguments, seconds: 300)
            #expect(run.status == 0, "\(run.errors)\(run.output)")
            let revoked = try await service.store.key(#require(.init(strictBase64: ids[1])))
            #expect(revoked?.revokedAt != nil)
        }
    }
}
