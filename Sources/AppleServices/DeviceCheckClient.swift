// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import DeviceCheckBits
public import FoundationEssentials
import Vocabulary

/// Reads and writes the two bits that Apple keeps for each device, at one of DeviceCheck's two hosts.
///
/// Every call is authorized with the team's token. A refused token is replaced once and the call repeated; nothing else is
/// repeated here, because each call spends the device's token.
public struct DeviceCheckClient: Sendable {
    private let transport: any AppleTransport
    private let authorization: AppleAuthorization
    private let endpoint: AppleEndpoint

    /// A client for one team and one environment.
    public init(transport: any AppleTransport, authorization: AppleAuthorization, endpoint: AppleEndpoint) {
        self.transport = transport
        self.authorization = authorization
        self.endpoint = endpoint
    }

    /// Reads the bits. Spends the device token.
    public func query(
        deviceToken: String, transactionId: String, at instant: Date
    ) async throws(DeviceCheckFault) -> DeviceBitState {
        let request = try DeviceCheckRequest(
            .query, deviceToken: deviceToken, transactionId: transactionId, timestamp: instant)
        return try await call(request) { answer throws(DeviceCheckFault) in
            try DeviceCheckAnswer.query(
                status: answer.status, body: answer.body, retryAfter: answer.headers["retry-after"])
        }
    }

    /// Writes both bits. Spends the device token.
    public func update(
        _ bits: BitPair, deviceToken: String, transactionId: String, at instant: Date
    ) async throws(DeviceCheckFault) {
        try await acknowledged(
            DeviceCheckRequest(
                .update(bits), deviceToken: deviceToken, transactionId: transactionId, timestamp: instant))
    }

    /// Asks whether a device token is genuine. Spends it.
    public func validate(deviceToken: String, transactionId: String, at instant: Date) async throws(DeviceCheckFault) {
        try await acknowledged(
            DeviceCheckRequest(.validate, deviceToken: deviceToken, transactionId: transactionId, timestamp: instant))
    }

    /// Reads the bits, computes new ones, and writes them if they differ from what was read or a write is due anyway.
    ///
    /// Apple offers no compare-and-set: between reading and writing another writer's change can be lost. A device's writes should
    /// therefore go through one place at a time.
    ///
    /// - Parameters:
    ///   - readToken: A device token for the read.
    ///   - writeToken: A second device token for the write. Apple asks for a fresh one for each request, but accepts the same one again
    ///     for a short time.
    ///   - change: The bits to write; nil writes nothing.
    /// - Returns: What Apple held before, and what was written.
    public func readModifyWrite(
        readToken: String, writeToken: String, transactionId: String, at instant: Date,
        change: @Sendable (DeviceBitState) throws(DeviceCheckFault) -> BitPair?
    ) async throws(DeviceCheckFault) -> (before: DeviceBitState, written: BitPair?) {
        let before = try await query(deviceToken: readToken, transactionId: transactionId, at: instant)
        guard let bits = try change(before) else { return (before, nil) }
        try await update(bits, deviceToken: writeToken, transactionId: transactionId, at: instant)
        return (before, bits)
    }

    private func acknowledged(_ request: DeviceCheckRequest) async throws(DeviceCheckFault) {
        try await call(request) { answer throws(DeviceCheckFault) in
            try DeviceCheckAnswer.acknowledgement(
                status: answer.status, body: answer.body, retryAfter: answer.headers["retry-after"])
        }
    }

    private func call<Result: Sendable>(
        _ request: DeviceCheckRequest, reading: (AppleAnswer) throws(DeviceCheckFault) -> Result
    ) async throws(DeviceCheckFault) -> Result {
        let token = try await authorizing { () async throws(AppleAuthorizationFault) in
            try await authorization.token(at: request.timestamp)
        }
        do {
            return try reading(try await send(request, token))
        } catch let fault where fault.advice == .renewAuthorization {
            let renewed = try await authorizing { () async throws(AppleAuthorizationFault) in
                try await authorization.token(insteadOf: token, at: request.timestamp)
            }
            return try reading(try await send(request, renewed))
        }
    }

    private func send(_ request: DeviceCheckRequest, _ token: String) async throws(DeviceCheckFault) -> AppleAnswer {
        do {
            return try await transport.send(
                AppleRequest(
                    method: "POST",
                    url: endpoint.url(request.path),
                    headers: [
                        .init("Authorization", "Bearer \(token)"),
                        .init("Content-Type", "application/json"),
                    ],
                    body: request.body
                )
            )
        } catch {
            let reason = (error as? AppleTransportFault)?.reason ?? "DeviceCheck could not be reached"
            throw DeviceCheckFault(code: .devicecheckUnavailable, reason: reason, advice: .later(seconds: nil))
        }
    }

    private func authorizing(
        _ body: () async throws(AppleAuthorizationFault) -> String
    ) async throws(DeviceCheckFault) -> String {
        do {
            return try await body()
        } catch {
            throw DeviceCheckFault(code: .devicecheckAuthorizationRefused, reason: error.reason)
        }
    }
}
