// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
import Vocabulary

/// Reads Apple's answers to DeviceCheck requests.
package enum DeviceCheckAnswer {
    /// The two wordings of "nothing was ever set": the live one first, then the documented one. The status is 200 with both.
    package static let neverSetTexts = ["failed to find bit state", "bit state not found"]

    package static let bodyLimit = 65_536

    /// What an answer of status 200 to a query says.
    ///
    /// A bit must be a JSON boolean and the month must be there: a value that Apple does not document is not guessed at.
    package static func state(in body: [UInt8]) throws(DeviceCheckFault) -> DeviceBitState {
        if neverSetTexts.contains(plainText(body)) { return .neverSet }
        guard let answer = try? JSONReader.read(body), answer.members != nil else {
            throw unusable(
                .devicecheckAnswerNotJSON, "neither a JSON object nor one of the texts for bits that were never set")
        }
        guard let bit0 = answer.member("bit0"), let bit1 = answer.member("bit1") else {
            throw unusable(.devicecheckAnswerBitsMissing, "an object without both bits")
        }
        guard case .bool(let first) = bit0, case .bool(let second) = bit1 else {
            throw unusable(.devicecheckAnswerBitsNotBoolean, "bits that are not true or false")
        }
        guard let time = answer.member("last_update_time") else {
            throw unusable(.devicecheckAnswerTimeMissing, "bits without last_update_time")
        }
        guard case .string(let text) = time, let month = YearMonth(text) else {
            throw unusable(.devicecheckAnswerTimeMalformed, "a last_update_time that is not YYYY-MM")
        }
        return .set(BitPair(bit0: first, bit1: second), lastUpdate: month)
    }

    /// Accepts an answer of status 200 within the limit, whatever its body, unless that is a page: then something else answered.
    package static func expectSuccess(
        status: Int, body: [UInt8], retryAfter: String? = nil
    ) throws(DeviceCheckFault) {
        guard body.count <= bodyLimit else { throw unusable(.devicecheckAnswerTooLarge, "more than 64 KiB") }
        guard status == 200 else { throw DeviceCheckFault(status: status, body: body, retryAfter: retryAfter) }
        if body.first(where: { $0 > 0x20 }) == UInt8(ascii: "<") {
            throw unusable(.devicecheckAnswerNotJSON, "a page and nothing of Apple's")
        }
    }

    /// A short answer as comparable text: lower case, no spaces or line ends around. Long or non-UTF-8 ones are empty.
    static func plainText(_ body: some Collection<UInt8>) -> String {
        guard body.count <= 512, let text = String(validating: body, as: UTF8.self) else { return "" }
        return String(text.trimmingPrefix { $0.isWhitespace }.reversed().trimmingPrefix { $0.isWhitespace }.reversed())
            .lowercased()
    }

    private static func unusable(_ code: Code, _ found: String) -> DeviceCheckFault {
        DeviceCheckFault(
            code: code, reason: "Apple's answer contains \(found)",
            status: 200, advice: .later(seconds: nil))
    }
}
