// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import DeviceCheckBits
import Foundation
import Testing
import Vocabulary

@Suite struct DeviceCheckRequestTests {
    private let instant = Date(timeIntervalSince1970: 1_795_250_000.5)

    @Test func queryHasExactlyTheRequiredMembers() throws {
        let request = try DeviceCheckRequest(.query, deviceToken: "AAAA", transactionId: "t-1", timestamp: instant)
        #expect(request.path == "/v1/query_two_bits")
        let body = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
        #expect(Set(body.keys) == ["device_token", "transaction_id", "timestamp"])
        #expect(body["timestamp"] as? Int == 1_795_250_000_500)
        #expect(body["device_token"] as? String == "AAAA")
    }

    @Test func updateAlwaysSendsBothBits() throws {
        let request = try DeviceCheckRequest(
            .update(BitPair(bit0: false, bit1: true)), deviceToken: "AA==", transactionId: "t", timestamp: instant)
        let body = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
        #expect(request.path == "/v1/update_two_bits")
        #expect(body["bit0"] as? Bool == false)
        #expect(body["bit1"] as? Bool == true)
    }

    @Test(arguments: [
        "", "=", "A", "AAAAA", "AA-*", "-", "AA-_=A", "AAA A", "AA=A", "A===", "AAAA=",
        String(repeating: "A", count: 16_388),
    ])
    func refusesWhatCannotBeAToken(token: String) {
        #expect(throws: DeviceCheckFault.tokenInvalid) {
            try DeviceCheckRequest(.query, deviceToken: token, transactionId: "t", timestamp: instant)
        }
    }

    /// Apple takes standard base64 only; a backend that has the other alphabet means the same bytes.
    @Test(arguments: [("AA-_", "AA+/"), ("-_8", "+/8="), ("-_8=", "+/8="), ("AA+/", "AA+/"), ("AA", "AA")])
    func aTokenIsSentInStandardBase64(given: String, sent: String) throws {
        let request = try DeviceCheckRequest(.query, deviceToken: given, transactionId: "t", timestamp: instant)
        #expect(request.deviceToken == sent)
    }

    @Test(arguments: ["", String(repeating: "x", count: 129)])
    func refusesTransactionIds(id: String) {
        #expect(throws: DeviceCheckFault.transactionInvalid) {
            try DeviceCheckRequest(.validate, deviceToken: "AAAA", transactionId: id, timestamp: instant)
        }
    }
}

@Suite struct DeviceCheckAnswerTests {
    @Test func readsBits() throws {
        let body = #"{"bit0":true,"bit1":false,"last_update_time":"2026-10"}"#
        let state = try DeviceCheckAnswer.state(in: Array(body.utf8))
        #expect(state == .set(BitPair(bit0: true, bit1: false), lastUpdate: try #require(YearMonth("2026-10"))))
    }

    @Test(arguments: [
        "Failed to find bit state", "Bit State Not Found", "  failed to find BIT state\r\n", "bit state not found\n",
    ])
    func neverSetInBothWordings(text: String) throws {
        #expect(try DeviceCheckAnswer.state(in: Array(text.utf8)) == .neverSet)
    }

    @Test(arguments: [
        ("<html>Failed to find bit state</html>", "not-json"), ("", "not-json"), ("[]", "not-json"),
        ("null", "not-json"),
        (#""Failed to find bit state""#, "not-json"), ("{}", "bits-missing"), (#"{"bit0":true}"#, "bits-missing"),
        (#"{"bit0":0,"bit1":1,"last_update_time":"2026-10"}"#, "bits-not-boolean"),
        (#"{"bit0":"true","bit1":true,"last_update_time":"2026-10"}"#, "bits-not-boolean"),
        (#"{"bit0":true,"bit1":true}"#, "time-missing"),
        (#"{"bit0":true,"bit1":true,"last_update_time":"2026-10-01"}"#, "time-malformed"),
        (#"{"bit0":true,"bit1":true,"last_update_time":null}"#, "time-malformed"),
    ])
    func namesEachUnusableAnswer(body: String, detail: String) {
        let fault = #expect(throws: DeviceCheckFault.self) {
            try DeviceCheckAnswer.state(in: Array(body.utf8))
        }
        #expect(fault?.code.rawValue == "devicecheck.answer.\(detail)")
    }

    @Test func neverReadsMoreThanTheLimit() {
        let fault = #expect(throws: DeviceCheckFault.self) {
            try DeviceCheckAnswer.expectSuccess(status: 200, body: [UInt8](repeating: 0x20, count: 65_537))
        }
        #expect(fault?.code == "devicecheck.answer.too-large")
    }

    /// A network that shows its own page does not find a device token genuine. Apple's answers to an update and a validation are empty.
    @Test func aPageIsNoAnswerOfApple() throws {
        let fault = #expect(throws: DeviceCheckFault.self) {
            try DeviceCheckAnswer.expectSuccess(
                status: 200, body: Array("\n<!DOCTYPE html><title>Welcome</title>".utf8))
        }
        #expect(fault?.code == "devicecheck.answer.not-json")
        try DeviceCheckAnswer.expectSuccess(status: 200, body: [])
    }

    @Test(arguments: [
        (400, "Missing or badly formatted device token", "deviceToken.invalid", DeviceCheckFault.Advice.never),
        (400, "Missing or incorrectly formatted device token payload", "deviceToken.invalid", .never),
        (400, "Bad Device Token", "deviceToken.invalid", .never),
        (
            400, "Missing or badly formatted authorization token", "devicecheck.authorization.refused",
            .renewAuthorization
        ),
        (400, "Bad Timestamp", "devicecheck.request.refused", .never),
        (400, "", "devicecheck.request.refused", .never),
        (401, "Unable to verify authorization token", "devicecheck.authorization.refused", .renewAuthorization),
        (403, "Forbidden", "devicecheck.forbidden", .never),
        (405, "Method Not Allowed", "devicecheck.request.refused", .never),
        (429, "", "devicecheck.throttled", .later(seconds: 7)),
        (500, "", "devicecheck.unavailable", .later(seconds: 7)),
        (503, "Failed to find bit state", "devicecheck.unavailable", .later(seconds: 7)),
        (302, "", "devicecheck.status.unknown", .never),
        (204, "", "devicecheck.status.unknown", .never),
    ])
    func errorTable(status: Int, text: String, code: String, advice: DeviceCheckFault.Advice) {
        let fault = #expect(throws: DeviceCheckFault.self) {
            try DeviceCheckAnswer.expectSuccess(status: status, body: Array(text.utf8), retryAfter: "7")
        }
        #expect(fault?.code.rawValue == code)
        #expect(fault?.advice == advice)
        #expect(fault?.status == status)
    }

    @Test(arguments: [("soon", nil), ("-1", nil), ("999999999", 86_400), ("30", 30)] as [(String, Int?)])
    func retryAfterIsBounded(text: String, seconds: Int?) {
        #expect(DeviceCheckFault(status: 429, body: [], retryAfter: text).advice == .later(seconds: seconds))
    }
}
