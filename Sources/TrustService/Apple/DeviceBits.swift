// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import AppleServices
import DeviceCheckBits
import FoundationEssentials
import HTTPService

/// The client of DeviceCheck that counts now, and what the two bits mean.
struct DeviceBits: Sendable {
    let live: LiveBook
    let registry: BitRegistry

    init(_ live: LiveBook, _ bits: [Configuration.Bit]) throws(BitRegistryFault) {
        self.live = live
        registry = try BitRegistry(
            bits.map {
                BitMeaning(bit: $0.bit == 0 ? .zero : .one, name: $0.name, resetAfterMonths: $0.resetAfterMonths)
            })
    }

    /// How often a bit is written that somebody else writes over.
    static let attempts = 3
    /// Somebody wrote over it each time.
    static let overwritten = Problem(
        .appleUnavailable, evidence: "somebody else has written over the bits each time")

    func client(environment: String) throws(Problem) -> DeviceCheckClient {
        guard let apple = live.current.apple else {
            throw Problem(.appleUnavailable, retryAfterSeconds: 60, evidence: "no Apple account is configured")
        }
        return apple.deviceCheck(environment: environment)
    }

    /// The environments to ask in, in order: the one that was named, or production first and then development if the app has both.
    ///
    /// - Throws: ``Problem`` `policy.environment` for one that the app does not have, `request.malformed` for one that there is not.
    func environments(named name: String?, of app: ServedApp) throws(Problem) -> [AttestationEnvironment] {
        let all: [AttestationEnvironment] = [.production, .development].filter(app.settings.environments.contains)
        guard let name else { return all }
        let environment = try AttestationEnvironment(reading: name)
        guard all.contains(environment) else { throw Problem(.policyEnvironment) }
        return [environment]
    }

    /// Asks in the first environment, and in the next one only after Apple's 400 for the token: a fault says nothing about the token.
    func first<Value: Sendable>(
        _ environments: [AttestationEnvironment], _ ask: (DeviceCheckClient) async throws -> Value
    ) async throws -> (value: Value, client: DeviceCheckClient, environment: AttestationEnvironment) {
        var refusal: DeviceCheckFault?
        for environment in environments {
            let client = try client(environment: environment.rawValue)
            do {
                return (try await ask(client), client, environment)
            } catch let fault as DeviceCheckFault where fault.code == .deviceTokenInvalid && fault.status == 400 {
                refusal = refusal ?? fault
            }
        }
        throw refusal ?? DeviceCheckFault.tokenInvalid
    }

    func rule(_ call: Call) throws(Problem) -> PromotionRule {
        guard let name = call.parameters["name"], let rule = PromotionRule(name, in: registry) else {
            throw Problem(.promotionUnknown)
        }
        return rule
    }
}

extension AttestationEnvironment {
    /// - Throws: ``Problem`` `request.malformed`.
    init(reading text: String) throws(Problem) {
        guard let environment = AttestationEnvironment(rawValue: text) else {
            throw Problem(.requestMalformed, evidence: "environment must be production or development")
        }
        self = environment
    }
}

/// Apple's two services, each with its production and its development host.
struct AppleSide: Sendable {
    private typealias Clients = (receipts: ReceiptRefreshClient, deviceCheck: DeviceCheckClient)

    private let production, development: Clients

    init(
        _ account: Configuration.AppleAccount, hosts: Configuration.AppleHosts, transport: any AppleTransport
    ) async throws {
        let authorization = try await AppleAuthorization(
            teamId: account.teamId, keyId: account.keyId, privateKeyPEM: account.keyPEM)
        func clients(_ data: String, _ deviceCheck: String) throws -> Clients {
            guard let data = AppleEndpoint(data), let deviceCheck = AppleEndpoint(deviceCheck) else {
                throw AppleAuthorizationFault(reason: "a configured host of Apple's services cannot be used")
            }
            return (
                ReceiptRefreshClient(transport: transport, authorization: authorization, endpoint: data),
                DeviceCheckClient(transport: transport, authorization: authorization, endpoint: deviceCheck)
            )
        }
        production = try clients(hosts.data, hosts.deviceCheck)
        development = try clients(hosts.dataDevelopment, hosts.deviceCheckDevelopment)
    }

    private func clients(_ environment: String) -> Clients { environment == "development" ? development : production }

    func receipts(environment: String) -> ReceiptRefreshClient { clients(environment).receipts }

    func deviceCheck(environment: String) -> DeviceCheckClient { clients(environment).deviceCheck }
}
