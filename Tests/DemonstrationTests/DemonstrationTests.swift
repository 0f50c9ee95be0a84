// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import sealward

@Suite struct DemonstrationTests {
    private static func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("demo-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await body(folder)
    }

    /// Each flawed server fails for its own flaw, and what would fix it is said.
    @Test func everyFlawIsFound() async throws {
        let rows = try await Self.withFolder { try await DemoServers.check(in: $0, now: Date()) }
        #expect(rows.count == 6)
        #expect(rows.count { $0.isAsExpected } == rows.count, "\(rows)")
        let codes = rows.filter { $0.flaw != "none" }.map(\.code)
        #expect(Set(codes).count == codes.count, "\(codes)")
        #expect(
            DemoServers.exceptions(rows)
                == "no-secrecy.demo.test loads with NSExceptionRequiresForwardSecrecy = false; no exception helps the others"
        )
    }

    @Test func aFewDevicesMeetTheService() async throws {
        var lines: [String] = []
        var page = DemoPage { lines.append($0) }
        let good = try await Self.withFolder { try await DemoService(folder: $0, devices: 20).run(&page) }
        #expect(good, "\(page.text)")
        #expect(lines.joined() == page.text)
        #expect(page.text.contains("first claim: granted") && page.text.contains("with a new key: not granted"))
    }
}
