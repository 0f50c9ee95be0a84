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
        try DeviceCheckAnswer.state(in: try await call(.query, deviceToken, transactionId, instant))
    }

    /// Writes both bits. Spends the device token.
    public func update(
        _ bits: BitPair, deviceToken: String, transactionId: String, at instant: Date
    ) async throws(DeviceCheckFault) {
        _ = try await call(.update(bits), deviceToken, transactionId, instant)
    }

    /// Asks whether a device token is genuine. Spends it.
    public func validate(deviceToken: String, transactionId: String, at instant: Date) async throws(DeviceCheckFault) {
        _ = try await call(.validate, deviceToken, transactionId, instant)
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

    /// The body of Apple's answer to a request that it accepts.
    private func call(
        _ operation: DeviceCheckRequest.Operation, _ deviceToken: String, _ transactionId: String, _ instant: Date
    ) async throws(DeviceCheckFault) -> [UInt8] {
        let request = try DeviceCheckRequest(
            operation, deviceToken: deviceToken, transactionId: transactionId, timestamp: instant)
        let token = try await token(at: instant)
        do {
            return try await send(request, token)
        } catch let fault where fault.advice == .renewAuthorization {
            return try await send(request, try await self.token(at: instant, insteadOf: token))
        }
    }

    /// The authorization that counts now: another one than Apple has just refused.
    private func token(at instant: Date, insteadOf refused: String? = nil) async throws(DeviceCheckFault) -> String {
        do throws(AppleAuthorizationFault) {
            return try await authorization.token(at: instant, insteadOf: refused)
        } catch {
            throw DeviceCheckFault(code: .devicecheckAuthorizationRefused, reason: error.reason)
        }
    }

    private func send(_ request: DeviceCheckRequest, _ token: String) async throws(DeviceCheckFault) -> [UInt8] {
        let answer: AppleAnswer
        do {
            answer = try await transport.send(
                AppleRequest(
                    method: "POST", url: endpoint.url(request.path),
                    headers: [.init("Authorization", "Bearer \(token)"), .init("Content-Type", "application/json")],
                    body: request.body))
        } catch {
            let reason = (error as? AppleTransportFault)?.reason ?? "DeviceCheck could not be reached"
            throw DeviceCheckFault(code: .devicecheckUnavailable, reason: reason, advice: .later(seconds: nil))
        }
        try DeviceCheckAnswer.expectSuccess(
            status: answer.status, body: answer.body, retryAfter: answer.headers["retry-after"])
        return answer.body
    }
}
