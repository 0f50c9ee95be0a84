// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceCheckBits
public import FoundationEssentials
public import Vocabulary

/// The outcome of asking Apple for a newer receipt.
///
/// Source: "Assessing fraud risk", developer.apple.com/documentation/devicecheck. The set is Apple's table of statuses and what
/// cannot be understood; each case says what the keeper of the receipt does next.
public enum ReceiptRefreshOutcome: Sendable, Equatable {
    /// 200: the bytes of a newer receipt. They are unverified: judge them before they replace anything.
    case renewed([UInt8])
    /// 304: it is too early; the stored receipt stays in use.
    case notModified
    /// 400: the receipt belongs to the other environment's host.
    case wrongEnvironment
    /// 400: Apple cannot read the receipt.
    case badPayload
    /// 401, twice: the authorization is bad or of another team than the receipt.
    case unauthorized
    /// 404: Apple no longer has anything for this key. Keep the last receipt and ask rarely: that can change after an attestation.
    case noData
    /// 429: ask later, after so many seconds if Apple said so.
    case throttled(retryAfterSeconds: Int?)
    /// 500, 503 or no answer at all: ask later.
    case unavailable(status: Int?, retryAfterSeconds: Int?)
    /// Something that Apple does not document: another status, or a 200 whose body is not base64.
    case unusable(status: Int, reason: String)

    /// A stable name for history, metrics and logs, for example `receipt.refresh.not-modified`.
    public var code: Code {
        switch self {
        case .renewed: .receiptRefreshRenewed
        case .notModified: .receiptRefreshNotModified
        case .wrongEnvironment: .receiptRefreshWrongEnvironment
        case .badPayload: .receiptRefreshBadPayload
        case .unauthorized: .receiptRefreshUnauthorized
        case .noData: .receiptRefreshNoData
        case .throttled: .receiptRefreshThrottled
        case .unavailable: .receiptRefreshUnavailable
        case .unusable: .receiptRefreshUnusable
        }
    }
}

/// Exchanges a receipt for a newer one, with the risk metric, at one of App Attest's two data hosts.
public struct ReceiptRefreshClient: Sendable {
    private let transport: any AppleTransport
    private let authorization: AppleAuthorization
    private let endpoint: AppleEndpoint

    /// A client for one team and one environment.
    public init(transport: any AppleTransport, authorization: AppleAuthorization, endpoint: AppleEndpoint) {
        self.transport = transport
        self.authorization = authorization
        self.endpoint = endpoint
    }

    /// Asks for a newer receipt. A refused authorization is replaced once; nothing else is repeated.
    ///
    /// - Parameter receipt: The stored receipt as it came: the bytes, not their base64.
    /// - Throws: ``AppleAuthorizationFault`` if no authorization can be made.
    public func refresh(
        _ receipt: some Collection<UInt8>, at instant: Date
    ) async throws(AppleAuthorizationFault) -> ReceiptRefreshOutcome {
        let body = Array(Base64.encode(receipt).utf8)
        let token = try await authorization.token(at: instant)
        let outcome = await ask(body, token)
        guard outcome == .unauthorized else { return outcome }
        return await ask(body, try await authorization.token(at: instant, insteadOf: token))
    }

    private func ask(_ body: [UInt8], _ token: String) async -> ReceiptRefreshOutcome {
        let request = AppleRequest(
            method: "POST",
            url: endpoint.url("/v1/attestationData"),
            // The bare token, as in Apple's sample; its text does not ask for "Bearer" here.
            headers: [.init("Authorization", token), .init("Content-Type", "application/octet-stream")],
            body: body
        )
        do {
            return ReceiptRefreshClient.outcome(of: try await transport.send(request))
        } catch let fault as AppleTransportFault where fault.code == .appleAnswerTooLarge {
            return .unusable(status: 200, reason: fault.reason)
        } catch {
            return .unavailable(status: nil, retryAfterSeconds: nil)
        }
    }

    /// What an answer means. The body is read as a receipt with status 200 only.
    package static func outcome(of answer: AppleAnswer) -> ReceiptRefreshOutcome {
        let retryAfter = answer.headers["retry-after"]?.retryAfterSeconds
        switch answer.status {
        case 200:
            guard answer.body.count <= DeviceCheckAnswer.bodyLimit else {
                return .unusable(status: 200, reason: "the answer is larger than 64 KiB")
            }
            guard let receipt = decode(answer.body), !receipt.isEmpty else {
                return .unusable(status: 200, reason: "the answer is not base64")
            }
            return .renewed(receipt)
        case 304: return .notModified
        case 400: return isAboutEnvironment(answer.body) ? .wrongEnvironment : .badPayload
        case 401: return .unauthorized
        case 404: return .noData
        case 429: return .throttled(retryAfterSeconds: retryAfter)
        case 500...599: return .unavailable(status: answer.status, retryAfterSeconds: retryAfter)
        default:
            return .unusable(
                status: answer.status, reason: "the status \(answer.status) is not in Apple's documentation")
        }
    }

    /// Standard base64 with padding; line ends are borne, since mail-style encoders put them in.
    private static func decode(_ body: [UInt8]) -> [UInt8]? {
        Base64.decode(body.filter { $0 != 0x0A && $0 != 0x0D })
    }

    private static func isAboutEnvironment(_ body: [UInt8]) -> Bool {
        guard body.count <= 1024, let text = String(validating: body, as: UTF8.self) else { return false }
        return text.lowercased().contains("environment")
    }
}
