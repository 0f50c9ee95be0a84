// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

// The app's side of App Attest against the trust service, in one file: copy it into an app. On Apple's systems it needs
// nothing but the SDK; on Linux the same file is built by the tests and driven with a simulated device.
public import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif
#if canImport(DeviceCheck)
    import DeviceCheck
#endif

/// The part of DCAppAttestService that the flow uses, under the same names.
public protocol AttestingDevice: Sendable {
    var isSupported: Bool { get async }
    func generateKey() async throws -> String
    func attestKey(_ keyId: String, clientDataHash: Data) async throws -> Data
    func generateAssertion(_ keyId: String, clientDataHash: Data) async throws -> Data
    /// What the flow does about an error that one of the calls threw.
    func advice(for error: any Error) -> DeviceAdvice
}

/// Apple's advice for the errors of DCAppAttestService.
public enum DeviceAdvice: Sendable {
    /// `serverUnavailable`: try again later with the same key and the same hash.
    case sameAgain
    /// `invalidKey` and the rest: throw the key away, and begin with a new one.
    case newKey
    /// `featureUnsupported`: this device cannot; go on without.
    case unsupported
}

#if canImport(DeviceCheck)
    /// The real device.
    public struct AppAttestService: AttestingDevice {
        public init() {}
        public var isSupported: Bool { DCAppAttestService.shared.isSupported }
        public func generateKey() async throws -> String { try await DCAppAttestService.shared.generateKey() }
        public func attestKey(_ keyId: String, clientDataHash: Data) async throws -> Data {
            try await DCAppAttestService.shared.attestKey(keyId, clientDataHash: clientDataHash)
        }
        public func generateAssertion(_ keyId: String, clientDataHash: Data) async throws -> Data {
            try await DCAppAttestService.shared.generateAssertion(keyId, clientDataHash: clientDataHash)
        }
        public func advice(for error: any Error) -> DeviceAdvice {
            switch (error as? DCError)?.code {
            case .serverUnavailable: .sameAgain
            case .featureUnsupported: .unsupported
            default: .newKey
            }
        }
    }
#endif

/// Where the key id lives between launches: the Keychain, or UserDefaults (it is no secret).
public protocol KeyIdentifierStore: Sendable {
    func load() async -> String?
    func save(_ keyId: String?) async
}

/// One POST to the service: the path below `/v1/apps/{app}/` and a JSON body; status and JSON body of the answer.
public typealias TrustServicePost = @Sendable (_ path: String, _ body: [String: String]) async throws -> (Int, Data)

public struct AttestedSessionError: Error, Sendable, Equatable {
    /// `unsupported`, `unavailable` (try again later), or the code that the service answered.
    public let code: String

    public init(code: String) { self.code = code }
}

/// A proof for one request: send both with it, once. A second try needs a proof of its own.
public struct RequestProof: Sendable {
    public let keyId: String
    public let assertion: Data
    public let clientData: Data

    /// The body that `POST /v1/apps/{app}/assertions` and `/tokens` take.
    public var body: [String: String] {
        ["keyId": keyId, "assertion": assertion.base64EncodedString(), "clientData": clientData.base64EncodedString()]
    }
}

/// Attests once for each user on a device, and signs requests from then on. All work goes one after the other.
public actor AttestedSession {
    private let device: any AttestingDevice
    private let store: any KeyIdentifierStore
    private let post: TrustServicePost
    /// Seconds to wait before each further try where Apple's server is unavailable.
    private let pauses: [Duration]
    private let wait: @Sendable (Duration) async throws -> Void
    private var attesting: Task<String, any Error>?

    public init(
        device: any AttestingDevice,
        store: any KeyIdentifierStore,
        pauses: [Duration] = [.seconds(1), .seconds(4), .seconds(16)],
        wait: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        post: @escaping TrustServicePost
    ) {
        self.device = device
        self.store = store
        self.pauses = pauses
        self.wait = wait
        self.post = post
    }

    /// The id of an attested key: the kept one, or a new one that Apple and the service have just accepted.
    ///
    /// - Throws: ``AttestedSessionError``.
    public func attestedKey() async throws -> String {
        if let kept = await store.load() { return kept }
        // Whoever asks meanwhile shares the one attestation: Apple counts keys for each device.
        if let attesting { return try await attesting.value }
        let task = Task { try await self.attest() }
        attesting = task
        defer { attesting = nil }
        return try await task.value
    }

    /// Proves one request. `payload` is what the server must be able to rely on.
    ///
    /// - Throws: ``AttestedSessionError``.
    public func proof(for payload: [String: String]) async throws -> RequestProof {
        for isLast in [false, true] {
            let keyId = try await attestedKey()
            var members = payload
            members["challenge"] = try await challenge("assert", keyId: keyId)
            let clientData = try JSONEncoder().encode(members)
            do {
                let hash = Data(SHA256.hash(data: clientData))
                let assertion = try await device.generateAssertion(keyId, clientDataHash: hash)
                return RequestProof(keyId: keyId, assertion: assertion, clientData: clientData)
            } catch {
                // The app was reinstalled or restored: the id is there, the key is not.
                await store.save(nil)
                if isLast { throw error }
            }
        }
        throw AttestedSessionError(code: "unavailable")
    }

    /// Call when the service answers `key.unknown` or `key.revoked`: the next request begins with a new key.
    public func forgetKey() async { await store.save(nil) }

    private func attest() async throws -> String {
        guard await device.isSupported else {
            _ = try? await post("signals", ["kind": "unsupported"])
            throw AttestedSessionError(code: "unsupported")
        }
        for isLast in [false, true] {
            let keyId = try await device.generateKey()
            let challenge = try await challenge("attest", keyId: nil)
            guard let bytes = Data(base64Encoded: challenge) else { throw AttestedSessionError(code: "unavailable") }
            guard let object = try await certified(keyId, Data(SHA256.hash(data: bytes))) else {
                if isLast { throw AttestedSessionError(code: "unavailable") }
                continue
            }
            let body = ["keyId": keyId, "attestation": object.base64EncodedString(), "challenge": challenge]
            let (status, answer) = try await post("attestations", body)
            guard status == 200 || status == 201 else { throw Self.refusal(answer) }
            await store.save(keyId)
            return keyId
        }
        throw AttestedSessionError(code: "unavailable")
    }

    /// Apple's certificate for the key; nil where the key must be thrown away.
    private func certified(_ keyId: String, _ hash: Data) async throws -> Data? {
        for pause in [nil] + pauses.map(Optional.some) {
            if let pause { try await wait(pause) }
            do {
                return try await device.attestKey(keyId, clientDataHash: hash)
            } catch {
                switch device.advice(for: error) {
                case .sameAgain: continue
                case .newKey: return nil
                case .unsupported: throw AttestedSessionError(code: "unsupported")
                }
            }
        }
        throw AttestedSessionError(code: "unavailable")
    }

    private func challenge(_ purpose: String, keyId: String?) async throws -> String {
        var body = ["purpose": purpose]
        body["keyId"] = keyId
        let (status, answer) = try await post("challenges", body)
        guard status == 201, let made = try? JSONDecoder().decode(Challenge.self, from: answer) else {
            throw Self.refusal(answer)
        }
        return made.challenge
    }

    private struct Challenge: Decodable { let challenge: String }
    private struct Problem: Decodable { let code: String }

    private static func refusal(_ answer: Data) -> AttestedSessionError {
        AttestedSessionError(code: (try? JSONDecoder().decode(Problem.self, from: answer))?.code ?? "unavailable")
    }
}
