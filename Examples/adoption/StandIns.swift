// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// What an iPhone has and Linux lacks, for Scripts/adoption: DCAppAttestService and the Keychain, under the names of the library. The device is
// one of `sealward simulate apple`, asked over HTTP.
import AppAttestClient
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct AppAttestDevice: AttestingDevice {
    static let phones = ProcessInfo.processInfo.environment["PHONES"] ?? ""
    static let device = Lazy { try await ask(phones, ["os": "27.0"])["device"] ?? "" }

    var isSupported: Bool { true }

    func generateKey() async throws(DeviceFailure) -> String {
        try await asked("keys", ["app": "SIMTEAM001.com.example.shop"], "keyId")
    }

    func attestKey(_ keyId: String, clientDataHash: Data) async throws(DeviceFailure) -> Data {
        let made = try await asked(
            "attest",
            ["keyId": keyId, "clientDataHash": clientDataHash.base64EncodedString()],
            "attestation"
        )
        return Data(base64Encoded: made) ?? Data()
    }

    func generateAssertion(_ keyId: String, clientDataHash: Data) async throws(DeviceFailure) -> Data {
        let made = try await asked(
            "assert",
            ["keyId": keyId, "clientDataHash": clientDataHash.base64EncodedString()],
            "assertion"
        )
        return Data(base64Encoded: made) ?? Data()
    }

    private func asked(_ verb: String, _ body: [String: String], _ member: String) async throws(DeviceFailure) -> String
    {
        do {
            let device = try await AppAttestDevice.device.value()
            guard let value = try await ask("\(AppAttestDevice.phones)/\(device)/\(verb)", body)[member] else {
                throw DeviceFailure.invalidInput
            }
            return value
        } catch { throw .unknownSystemFailure }
    }
}

/// What is made once, by the first who asks.
actor Lazy {
    private let make: @Sendable () async throws -> String
    private var made: String?
    init(_ make: @escaping @Sendable () async throws -> String) { self.make = make }
    func value() async throws -> String {
        if let made { return made }
        let value = try await make()
        made = value
        return value
    }
}

func ask(_ address: String, _ body: [String: String]) async throws -> [String: String] {
    guard let url = URL(string: address) else { throw DeviceFailure.invalidInput }
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.httpBody = try JSONEncoder().encode(body)
    let (data, _) = try await URLSession.shared.data(for: request)
    let members = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    return members.compactMapValues { $0 as? String }
}

func KeychainStore(group: String) -> MemoryStore { MemoryStore() }
