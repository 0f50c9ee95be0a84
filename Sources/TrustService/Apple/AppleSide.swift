// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import DeviceCheckBits
import FoundationEssentials

/// Apple's two services, each with its production and its development host.
struct AppleSide: Sendable {
    private let transport: any AppleTransport
    private let authorization: AppleAuthorization
    private let data, dataDevelopment, deviceCheck, deviceCheckDevelopment: AppleEndpoint

    init(
        _ account: Configuration.AppleAccount, hosts: Configuration.AppleHosts, transport: any AppleTransport
    ) async throws {
        self.transport = transport
        authorization = try await AppleAuthorization(
            teamId: account.teamId, keyId: account.keyId, privateKeyPEM: account.keyPEM)
        func endpoint(_ text: String) throws -> AppleEndpoint {
            guard let endpoint = AppleEndpoint(text) else {
                throw AppleAuthorizationFault(reason: "a configured host of Apple's services cannot be used")
            }
            return endpoint
        }
        data = try endpoint(hosts.data)
        dataDevelopment = try endpoint(hosts.dataDevelopment)
        deviceCheck = try endpoint(hosts.deviceCheck)
        deviceCheckDevelopment = try endpoint(hosts.deviceCheckDevelopment)
    }

    func receipts(environment: String) -> ReceiptRefreshClient {
        ReceiptRefreshClient(
            transport: transport, authorization: authorization,
            endpoint: environment == "development" ? dataDevelopment : data)
    }

    func deviceCheck(environment: String) -> DeviceCheckClient {
        DeviceCheckClient(
            transport: transport, authorization: authorization,
            endpoint: environment == "development" ? deviceCheckDevelopment : deviceCheck)
    }
}
