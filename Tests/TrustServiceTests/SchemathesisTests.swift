// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import _CryptoExtras

@testable import TrustService

/// Where `Scripts/bootstrap` installs Python packages, then the search path.
private let places =
    [ContractClient.folder.path]
    + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
private let program =
    places.flatMap { ["\($0)/schemathesis", "\($0)/st"] }.first { FileManager.default.isExecutableFile(atPath: $0) }

/// A property-based client that knows the contract alone drives the live service.
@Suite(
    .enabled(if: LongForm.isAsked, "set SEALWARD_LONG=1"),
    .enabled(if: program != nil, "needs schemathesis from PyPI, in .build/python or on PATH"),
    .enabled(if: ServeProcess.isBuilt, "needs .build/release/sealward"))
struct SchemathesisTests {
    /// Every check is on. A request of the right shape is accepted, or is refused for what no shape can say: no such app, key or
    /// caller (401, 403, 404), a proof that does not hold (409), Apple out of reach (503). 400 is right too where OpenAPI 3.0 cannot say
    /// what is wrong: a member must hold an object that a device, Apple or the service made (the cursor of a list), a gateway shows two
    /// tokens, the name of an unknown member is longer than 256 bytes, a body has more than 128 values.
    static let settings = """
        [parameters]
        "path.app" = "shop"
        "path.name" = "welcome"
        "path.project" = "shop-project"
        "path.appId" = "1:1234567890:ios:ab"
        "query.app" = "shop"
        "query.quota" = "calls"

        [checks.positive_data_acceptance]
        expected-statuses = ["2xx", "401", "403", "404", "409", "503"]

        """
        + [
            "attest", "assert", "issueToken", "claimPromotion", "claimPromotionForServer", "consumeToken", "queryBits",
            "updateBits", "validateDevice", "listKeys", "exchangeAppAttestAssertion", "exchangeAppAttestAttestation",
            "exchangeDeviceCheckToken", "authorize", "authorizePost", "authorizePut", "authorizePatch",
            "authorizeDelete",
            "issueChallenge", "generateAppAttestChallenge", "exchangeDebugToken", "verifyAppCheckToken",
            "verifyAppCheckTokenBeta",
        ].map { operation in
            """
            [[operations]]
            include-operation-id = "\(operation)"
            checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "503"]

            """
        }.joined() + """
            [[operations]]
            include-operation-id = "exchangeDeviceCheckToken"
            checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "503"]

            """

    @Test func theContractHoldsAgainstTheLiveService() async throws {
        let folder = try ServeProcess.folder()
        let key = folder.appendingPathComponent("app-check.pem")
        try Data(try _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation.utf8).write(to: key)
        // Every interface is configured, so that each path of the contract is there.
        let extra = """
            , "deviceCheck": {"bits": [{"bit": 0, "name": "welcome"}]},
             "quotas": [{"name": "calls", "per": "key", "limit": 10, "windowSeconds": 60}],
             "appCheck": {"projectNumber": "1234567890", "projectId": "shop-project", "keyFiles": ["\(key.path)"],
                          "apps": {"1:1234567890:ios:ab": "shop"}}
            """
        let file = try ServeProcess.write(folder, store: "sqlite:\(folder.path)/s.sqlite", extra: extra)
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

    private static let refused = [
        "setClock", "addTeam", "attestKey", "generateAssertion", "attestationData", "queryTwoBits", "updateTwoBits",
        "validateDeviceToken", "attestationDataInDevelopment", "queryTwoBitsInDevelopment",
        "updateTwoBitsInDevelopment", "validateDeviceTokenInDevelopment",
    ]

    /// What only a phone, an operator's key or Apple's private text can make right may be refused with 400 and 401.
    private static let simulatorSettings =
        """
        [checks.positive_data_acceptance]
        expected-statuses = ["2xx", "403", "404", "409"]

        """
        + refused.map { operation in
            """
            [[operations]]
            include-operation-id = "\(operation)"
            checks.positive_data_acceptance.expected-statuses = ["2xx", "304", "400", "401", "403", "404", "409"]

            """
        }.joined()

    /// Control apart from the rest: faults that are set would break what the other calls promise.
    @Test(arguments: ["--exclude-path-regex", "--include-path-regex"])
    func theContractHoldsAgainstTheSimulator(_ option: String) async throws {
        let folder = try TemporaryDirectory()
        let simulator = try await ListeningProgram(["simulate", "apple"], in: folder)
        defer { _ = simulator.stop() }
        let address = simulator.address
        let settings = folder.url.appendingPathComponent("schemathesis.toml")
        try Data(SchemathesisTests.simulatorSettings.utf8).write(to: settings)
        let (status, text) = try ContractClient.run(
            URL(fileURLWithPath: try #require(program)),
            [
                "--config-file", settings.path, "run", address + "/openapi.yaml", "--url", address, "--max-examples",
                "50", "--checks", "all", option, "^/control",
            ],
            in: folder.url
        )
        #expect(status == 0, "\(text.suffix(6000))")
        #expect(simulator.stop() == 0)
    }
}
