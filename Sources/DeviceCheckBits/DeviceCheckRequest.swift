// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import FoundationEssentials
import Vocabulary

/// One request to DeviceCheck: where it goes and what it says.
///
/// Source: "Accessing and modifying per-device data", developer.apple.com/documentation/devicecheck.
package struct DeviceCheckRequest: Sendable, Equatable {
    package enum Operation: Sendable, Equatable {
        case query
        /// Both bits are always sent: what Apple does with an absent one is not documented.
        case update(BitPair)
        /// Asks only whether the token is genuine.
        case validate
    }

    package let operation: Operation
    /// The token as the device gave it: base64 text.
    package let deviceToken: String
    /// A name of this transaction, chosen by the server.
    package let transactionId: String
    /// The server's time; sent in whole milliseconds since 1970.
    package let timestamp: Date

    /// - Throws: ``DeviceCheckFault`` with code `deviceToken.invalid` if the token is empty, longer than ``tokenLimit``, or not
    ///   base64; `devicecheck.transaction.invalid` if the transaction id is empty or longer than 128 bytes.
    package init(
        _ operation: Operation, deviceToken: String, transactionId: String, timestamp: Date
    ) throws(DeviceCheckFault) {
        guard let deviceToken = DeviceCheckRequest.token(deviceToken) else { throw .tokenInvalid }
        guard !transactionId.isEmpty, transactionId.utf8.count <= 128 else { throw .transactionInvalid }
        self.operation = operation
        self.deviceToken = deviceToken
        self.transactionId = transactionId
        self.timestamp = timestamp
    }

    /// The path below the host, for example `/v1/query_two_bits`.
    package var path: String {
        switch operation {
        case .query: "/v1/query_two_bits"
        case .update: "/v1/update_two_bits"
        case .validate: "/v1/validate_device_token"
        }
    }

    package var body: [UInt8] {
        var members: [JSONValue.Member] = [
            .init("device_token", .string(deviceToken)), .init("transaction_id", .string(transactionId)),
            .init("timestamp", .integer(Int(clampedMilliseconds))),
        ]
        if case .update(let bits) = operation {
            members += [.init("bit0", .bool(bits.bit0)), .init("bit1", .bool(bits.bit1))]
        }
        return JSONValue.object(members).encoded(pretty: false)
    }

    private var clampedMilliseconds: Double {
        let milliseconds = (timestamp.timeIntervalSince1970 * 1000).rounded(.down)
        return milliseconds.isFinite ? min(max(milliseconds, 0), 9e15) : 0
    }

    /// The longest device token that is sent on, in bytes: seen ones have about 2,800; the service reads bodies of 64 KiB at most.
    package static let tokenLimit = 16_384

    /// A device token as Apple takes it, in standard base64, of one in base64 or base64url; nil for other texts.
    private static func token(_ text: String) -> String? {
        if isStandard(text) { return text }
        let bytes = Array(text.utf8)
        let content = bytes.prefix { $0 != UInt8(ascii: "=") }
        let isURL = content.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        guard isURL, bytes.count <= tokenLimit, bytes.dropFirst(content.count).allSatisfy({ $0 == UInt8(ascii: "=") })
        else { return nil }
        return Base64.decodeURL(String(decoding: content, as: UTF8.self)).map(Base64.encode)
    }

    /// Whether a text can be a device token: base64 or base64url, with padding or without, not empty and not beyond the limit.
    package static func isToken(_ text: String) -> Bool { token(text) != nil }

    private static func isStandard(_ text: String) -> Bool {
        let bytes = text.utf8
        guard !bytes.isEmpty, bytes.count <= tokenLimit else { return false }
        let content = bytes.prefix { $0 != UInt8(ascii: "=") }
        let padding = bytes.dropFirst(content.count)
        guard !content.isEmpty, padding.count <= 2, padding.allSatisfy({ $0 == UInt8(ascii: "=") }) else {
            return false
        }
        guard content.count % 4 != 1, padding.isEmpty || bytes.count % 4 == 0 else { return false }
        return content.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
    }
}
