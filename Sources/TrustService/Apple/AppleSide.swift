// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppleServices
import DeviceCheckBits
import FoundationEssentials

/// Apple's two services, each with its production and its development host.
struct AppleSide: Sendable {
    let receipts: ReceiptRefreshClient
    let developmentReceipts: ReceiptRefreshClient
    let deviceCheck: DeviceCheckClient
    let developmentDeviceCheck: DeviceCheckClient

    init(
        _ account: Configuration.AppleAccount, hosts: Configuration.AppleHosts, transport: any AppleTransport
    )
        async throws
    {
        let authorization = try await AppleAuthorization(
            teamId: account.teamId, keyId: account.keyId, privateKeyPEM: account.keyPEM)
        func endpoint(_ text: String) throws -> AppleEndpoint {
            guard let endpoint = AppleEndpoint(text) else {
                throw AppleAuthorizationFault(reason: "a configured host of Apple's services cannot be used")
            }
            return endpoint
        }
        func receipts(_ text: String) throws -> ReceiptRefreshClient {
            ReceiptRefreshClient(transport: transport, authorization: authorization, endpoint: try endpoint(text))
        }
        func deviceCheck(_ text: String) throws -> DeviceCheckClient {
            DeviceCheckClient(transport: transport, authorization: authorization, endpoint: try endpoint(text))
        }
        self.receipts = try receipts(hosts.data)
        developmentReceipts = try receipts(hosts.dataDevelopment)
        self.deviceCheck = try deviceCheck(hosts.deviceCheck)
        developmentDeviceCheck = try deviceCheck(hosts.deviceCheckDevelopment)
    }

    func receipts(environment: String) -> ReceiptRefreshClient {
        environment == "development" ? developmentReceipts : receipts
    }

    func deviceCheck(environment: String) -> DeviceCheckClient {
        environment == "development" ? developmentDeviceCheck : deviceCheck
    }
}
