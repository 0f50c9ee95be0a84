// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

private func row(_ name: String, _ outcome: TLSMisbehaviour.Outcome, _ acts: TLSMisbehaviour.Act...) -> TLSMisbehaviour
{
    TLSMisbehaviour(name, outcome, modern: false) { _ in acts }
}

extension TLSMisbehaviour {
    /// Servers that do not speak TLS, or nothing at all.
    static let noTLS: [TLSMisbehaviour] = [
        row("closes without a word", .closed, .close),
        row("resets", .reset, .reset),
        row("says nothing", .timeout, .stall),
        row("HTTP", .notTLS, .send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))),
        row("SSH", .notTLS, .send(Array("SSH-2.0-OpenSSH_9.9\r\n".utf8))),
        row("SMTP", .notTLS, .send(Array("220 mail.example ESMTP\r\n".utf8))),
        row("zeros", .notTLS, .send([UInt8](repeating: 0, count: 4096))),
        row("0xFF", .notTLS, .send([UInt8](repeating: 0xFF, count: 4096))),
        row("SSLv2", .notTLS, .send([0x80, 0x2E, 4, 0, 1, 0, 2] + [UInt8](repeating: 7, count: 40))),
        row("a record of version 2", .notTLS, .send([22, 2, 0, 0, 4, 2, 0, 0, 0])),
        row("a first record of type 24", .notTLS, .send(Bytes.record(24, [1, 0, 0]))),
        row("a first record of type 0", .notTLS, .send(Bytes.record(0, [0]))),
        row("a first record of type 255", .notTLS, .send(Bytes.record(255, [0]))),
        row("a first record of 18,433 bytes", .notTLS, .send([22, 3, 3, 0x48, 0x01])),
        row("a first record of 65,535 bytes", .notTLS, .send([22, 3, 3, 0xFF, 0xFF])),
        row("an endless stream of HTTP", .notTLS, .flood(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), limit: 4 << 20)),
        row("one byte, then the end", .closed, .send([22]), .close),
        row("one byte, then nothing", .timeout, .send([22]), .stall),
        row("half of a header, then the end", .closed, .send([22, 3, 3]), .close),
        row("a header, then the end", .closed, .send([22, 3, 3, 0, 80]), .close),
        row("a header, then nothing", .timeout, .send([22, 3, 3, 0, 80]), .stall),
    ]

    /// Alerts of all kinds.
    static let alerts: [TLSMisbehaviour] = {
        let descriptions: [UInt8] = [
            0, 10, 20, 21, 22, 30, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 60, 70, 71, 80, 86, 90, 100, 109,
            110,
            111, 112, 113, 114, 115, 116, 120, 121, 200, 255,
        ]
        let fatal = descriptions.map { row("fatal alert \($0)", .alert($0), .send(Bytes.alert(2, $0)), .close) }
        let warnings = descriptions.filter { $0 != 112 && $0 != 90 }.map {
            row("warning \($0)", .alert($0), .send(Bytes.alert(1, $0)), .close)
        }
        return fatal + warnings + [
            row("warning 112, then the end", .closed, .send(Bytes.alert(1, 112)), .close),
            row("warning 90, then the end", .closed, .send(Bytes.alert(1, 90)), .close),
            row("warning 112, then nothing", .timeout, .send(Bytes.alert(1, 112)), .stall),
            row("an alert of level 0", .alert(80), .send(Bytes.alert(0, 80))),
            row("an alert of level 255", .alert(80), .send(Bytes.alert(255, 80))),
            row("an empty alert", .protocolError, .send(Bytes.record(21, []))),
            row("an alert of one byte", .protocolError, .send(Bytes.record(21, [2]))),
            row("an alert of three bytes", .protocolError, .send(Bytes.record(21, [2, 40, 0]))),
            row("two alerts in one record", .protocolError, .send(Bytes.record(21, [1, 112, 2, 40]))),
            row("an alert of 16 KiB", .protocolError, .send(Bytes.record(21, [UInt8](repeating: 2, count: 16_384)))),
            row("endless warnings", .protocolError, .flood(Bytes.alert(1, 112), limit: 4 << 20)),
            row("endless cancellations", .protocolError, .flood(Bytes.alert(1, 90), limit: 4 << 20)),
        ]
    }()

    /// The record layer before any ServerHello, and right behind it.
    static let records: [TLSMisbehaviour] =
        [
            row("application data first", .protocolError, .send(Bytes.record(23, [UInt8](repeating: 1, count: 40)))),
            row("empty application data first", .protocolError, .send(Bytes.record(23, []))),
            row("endless empty handshake records", .protocolError, .flood(Bytes.record(22, []), limit: 4 << 20)),
            row("endless ChangeCipherSpec", .protocolError, .flood(Bytes.record(20, [1]), limit: 4 << 20)),
            row("ChangeCipherSpec of value 2", .protocolError, .send(Bytes.record(20, [2]))),
            row("an empty ChangeCipherSpec", .protocolError, .send(Bytes.record(20, []))),
            row("a long ChangeCipherSpec", .protocolError, .send(Bytes.record(20, [1, 1]))),
            row("a second record of type 24", .protocolError, .send(Bytes.record(22, [2]) + Bytes.record(24, [1]))),
            row("a second record of type 0", .protocolError, .send(Bytes.record(22, [2]) + Bytes.record(0, [1]))),
            row("a second record of version 2", .protocolError, .send(Bytes.record(22, [2]) + [22, 2, 0, 0, 1, 0])),
            row("a second record of 18,433 bytes", .protocolError, .send(Bytes.record(22, [2]) + [22, 3, 3, 0x48, 1])),
            row(
                "a second record of 65,535 bytes", .protocolError,
                .send(Bytes.record(22, [2]) + [22, 3, 3, 0xFF, 0xFF])),
            row("plain text behind a record", .protocolError, .send(Bytes.record(22, [2]) + Array("HTTP/1.1 ".utf8))),
            row("a message of 16 MiB announced", .protocolError, .send(Bytes.record(22, [2, 0xFF, 0xFF, 0xFF]))),
            row("a message of 128 KiB and one announced", .protocolError, .send(Bytes.record(22, [2, 2, 0, 1]))),
            row(
                "a message of 128 KiB announced, that never ends", .closed, .send(Bytes.record(22, [2, 2, 0, 0])),
                .send(Bytes.record(22, [UInt8](repeating: 0, count: 16_000))), .close),
            row(
                "handshake bytes without end, one a record", .protocolError,
                .send(Bytes.record(22, [2, 1, 0xFF, 0xFF])), .flood(Bytes.record(22, [3]), limit: 4 << 20)),
            row(
                "full records without end", .protocolError, .send(Bytes.record(22, [2, 2, 0, 0])),
                .flood(Bytes.record(22, [UInt8](repeating: 3, count: 16_384)), limit: 8 << 20)),
        ]
        + (0...25).filter { $0 != 2 }.map { type in
            row(
                "message \(type) first", .protocolError, .send(Bytes.records(Bytes.message(UInt8(type), [0, 0, 0, 0]))))
        }
}
