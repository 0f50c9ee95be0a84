// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceCheckBits
import DeviceSimulator
import FoundationEssentials

/// Apple's two interfaces for servers: receipts and bits.
extension AppleSimulator {
    func appleAnswer(
        _ request: SimulatorRequest, _ call: Call, _ environment: SimulatedEnvironment, wall: Date
    ) -> SimulatorAnswer {
        guard plan.admits(call, wall: wall) else {
            return SimulatorAnswer(429, "Too Many Requests", headers: ["Retry-After": "1"])
        }
        let fault = plan.next(call, seed: seed)
        var answer = fault.flatMap { faultAnswer($0, request) } ?? judged(request, call, environment, wall: wall)
        if let delay = fault?.delayMilliseconds { answer.delay = .milliseconds(delay) }
        return answer
    }

    private func judged(
        _ request: SimulatorRequest, _ call: Call, _ environment: SimulatedEnvironment, wall: Date
    ) -> SimulatorAnswer {
        let verdict = authorizations.judge(request.authorization, wall: wall)
        guard case .team(let team) = verdict else { return refusal(verdict, call) }
        return call == .attestationData
            ? receiptAnswer(request, team, environment, wall: wall)
            : bitAnswer(request, call, team, environment, wall: wall)
    }

    /// App Attest knows one refusal; DeviceCheck has a text for each, and its 400 for what is no token at all.
    private func refusal(_ verdict: AuthorizationVerifier.Verdict, _ call: Call) -> SimulatorAnswer {
        if call == .attestationData { return .apple(401) }
        return switch verdict {
        case .malformed: SimulatorAnswer(400, "Missing or badly formatted authorization token")
        case .expired: SimulatorAnswer(401, "Authorization token expired")
        case .refused, .team: SimulatorAnswer(401, "Unable to verify authorization token")
        }
    }

    private func receiptAnswer(
        _ request: SimulatorRequest, _ team: String, _ environment: SimulatedEnvironment, wall: Date
    ) -> SimulatorAnswer {
        guard let receipt = Data(base64Encoded: Data(request.body)).map(Array.init), !receipt.isEmpty else {
            return SimulatorAnswer(400, "Bad Payload")
        }
        let now = clock.now(wall: wall)
        switch receipts.judge(receipt, team: team, environment, at: now) {
        case .badPayload: return SimulatorAnswer(400, "Bad Payload")
        case .wrongEnvironment: return SimulatorAnswer(400, "Incorrect Environment")
        case .otherTeam: return .apple(401)
        case .noData: return .apple(404)
        case .tooEarly: return .apple(304)
        case .renew(let subject, let metric):
            guard let renewed = issue(for: subject, metric: metric, at: now) else { return .apple(500) }
            let notBefore = now.addingTimeInterval(configuration.refreshAfter / .seconds(1))
            receipts.register(renewed, of: subject, notBefore: notBefore)
            return SimulatorAnswer(200, Data(renewed).base64EncodedString())
        }
    }

    private func issue(for subject: IssuedReceipts.Subject, metric: Int, at instant: Date) -> [UInt8]? {
        try? authority.refreshedReceipt(
            app: SimulatedApp(
                subject.app, distribution: subject.environment == .development ? .development : .appStore),
            publicKey: subject.publicKey, leafCertificate: subject.certificate, clientDataHash: subject.clientDataHash,
            riskMetric: metric, at: instant,
            refreshNotBefore: instant.addingTimeInterval(configuration.refreshAfter / .seconds(1)))
    }

    private func bitAnswer(
        _ request: SimulatorRequest, _ call: Call, _ team: String, _ environment: SimulatedEnvironment, wall: Date
    ) -> SimulatorAnswer {
        let wanted: BitRequest
        do {
            wanted = try BitRequest(request.body, call: call, wall: wall)
        } catch {
            return SimulatorAnswer(400, (error as? BitRequest.Complaint)?.text ?? "Missing or badly formatted payload")
        }
        let now = clock.now(wall: wall)
        guard let token = tokens.open(wanted.deviceToken, team: team, environment: environment, at: now) else {
            return SimulatorAnswer(400, "Missing or incorrectly formatted device token payload")
        }
        switch call {
        case .update:
            bits.write(bit0: wanted.bit0, bit1: wanted.bit1, team: team, device: token.device, environment, at: now)
            return SimulatorAnswer(200)
        case .query:
            guard case .set(let pair, lastUpdate: let month) = bits.state(team: team, device: token.device, environment)
            else {
                return SimulatorAnswer(200, "Failed to find bit state")
            }
            return SimulatorAnswer(
                200, json: BitAnswer(bit0: pair.bit0, bit1: pair.bit1, last_update_time: month.description))
        case .validate, .attestationData, .attest:
            return SimulatorAnswer(200)
        }
    }

    private struct BitAnswer: Encodable {
        let bit0: Bool
        let bit1: Bool
        let last_update_time: String
    }

    /// The answer that a fault gives instead of the right one; nil for one that only delays.
    private func faultAnswer(_ fault: Fault, _ request: SimulatorRequest) -> SimulatorAnswer? {
        var headers: [String: String] = [:]
        if let seconds = fault.retryAfterSeconds { headers["Retry-After"] = String(seconds) }
        switch fault.kind ?? (fault.status == nil ? nil : .status) {
        case nil: return nil
        case .status:
            let status = fault.status ?? 503
            return SimulatorAnswer(status, fault.body ?? SimulatorAnswer.apple(status).text, headers: headers)
        case .redirect:
            headers["Location"] = fault.location ?? "https://elsewhere.invalid/"
            return SimulatorAnswer(302, headers: headers)
        case .html:
            return SimulatorAnswer(200, fault.body ?? "<html><body>Welcome</body></html>", contentType: "text/html")
        case .oversized: return SimulatorAnswer(200, String(repeating: "A", count: 70_000))
        case .emptyObject: return SimulatorAnswer(200, "{}", contentType: "application/json")
        case .notModifiedWithBody: return SimulatorAnswer(304, String(decoding: request.body, as: UTF8.self))
        case .olderReceipt, .otherReceipt: return foreignReceipt(fault, request)
        }
    }

    /// A well-signed receipt that must not replace the one that was sent: from ten years ago, or of another app.
    private func foreignReceipt(_ fault: Fault, _ request: SimulatorRequest) -> SimulatorAnswer? {
        guard let sent = Data(base64Encoded: Data(request.body)).map(Array.init),
            let subject = receipts.subject(of: sent)
        else { return nil }
        let older = fault.kind == .olderReceipt
        guard let about = older ? subject : receipts.otherApp(than: subject.app) else { return nil }
        let instant = authority.validity.lowerBound.addingTimeInterval(older ? 60 : 7 * 86_400)
        guard let receipt = issue(for: about, metric: 1, at: instant) else { return nil }
        return SimulatorAnswer(200, Data(receipt).base64EncodedString())
    }
}

extension SimulatorAnswer {
    var text: String { String(decoding: body, as: UTF8.self) }
}
