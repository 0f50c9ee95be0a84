// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TrustService

/// Where `Scripts/bootstrap` installs Python packages, then the search path.
private let places =
    [ContractClient.folder.path]
    + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
private let program =
    places.flatMap { ["\($0)/schemathesis", "\($0)/st"] }.first { FileManager.default.isExecutableFile(atPath: $0) }

/// A property-based client that knows the contract alone drives the live service.
@Suite(
    .enabled(if: ContractClient.isAsked, "set SEALWARD_LONG=1"),
    .enabled(if: program != nil, "needs schemathesis from PyPI, in .build/python or on PATH"),
    .enabled(if: ServeProcess.isBuilt, "needs .build/debug/sealward")
)
struct SchemathesisTests {
    /// Every check is on. A request of the right shape is accepted, or is refused for what no shape can say: no such app, key or
    /// caller (401, 403, 404), a proof that does not hold (409), Apple out of reach (503). Only where a member must hold an object
    /// that a device, Apple or the service made (the cursor of a list), and no generator can make one, 400 is right too.
    static let settings = """
        [parameters]
        "path.app" = "shop"
        "path.name" = "welcome"

        [checks.positive_data_acceptance]
        expected-statuses = ["2xx", "401", "403", "404", "409", "503"]

        """
        + [
            "attest", "assert", "issueToken", "claimPromotion", "claimPromotionForServer", "consumeToken", "queryBits",
            "updateBits", "validateDevice", "listKeys",
        ].map { operation in
            """
            [[operations]]
            include-operation-id = "\(operation)"
            checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "503"]

            """
        }.joined()

    @Test func theContractHoldsAgainstTheLiveService() async throws {
        let folder = try ServeProcess.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let bits = #", "deviceCheck": {"bits": [{"bit": 0, "name": "welcome"}]}"#
        let file = try ServeProcess.write(folder, store: "sqlite:\(folder.path)/s.sqlite", extra: bits)
        let service = try await ServeProcess(file)
        let settings = folder.appendingPathComponent("schemathesis.toml")
        try Data(SchemathesisTests.settings.utf8).write(to: settings)
        // It keeps what it found in the folder where it runs.
        let (status, text) = try ContractClient.run(
            URL(fileURLWithPath: try #require(program)),
            [
                "--config-file", settings.path, "run", service.base + "/openapi.yaml", "--url", service.base, "-H",
                "Authorization: Bearer \(RunningService.adminToken)", "--max-examples", "50", "--checks", "all",
            ],
            in: folder
        )
        #expect(status == 0, "\(text.suffix(6000))")
        #expect(service.stop().status == 0)
    }
}
