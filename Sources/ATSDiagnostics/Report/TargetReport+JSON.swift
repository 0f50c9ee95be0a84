// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
public import Findings
import Foundation
import TLSFacts

extension TargetReport {
    /// One target of `sealward.ats-check/1`.
    public var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("target", .string(target)), .init("host", .string(host)), .init("port", .integer(port)),
            .init("address", .optional(address)), .init("tests", .array(results.map(\.json))),
            .init("smallestException", smallestException.value?.json ?? .null),
            .init("facts", facts?.json(ofWiderHello: factsAreOfWiderHello) ?? .null),
            .init("status", .optional(status)), .init("handshakes", .integer(handshakes)),
            .init("elapsedMilliseconds", .integer(elapsed.milliseconds)),
        ]
        if !notes.isEmpty { members.append(.init("notes", .array(notes.map(\.json)))) }
        return .object(members)
    }
}

extension ConfigurationResult {
    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("section", .string(configuration.section)), .init("name", .string(configuration.name)),
            .init("ats", configuration.ats.json), .init("result", .string(result.rawValue)),
            .init("error", error?.json ?? .null), .init("because", .array(because.map(\.json))),
        ]
        if !notes.isEmpty { members.append(.init("notes", .array(notes.map(\.json)))) }
        return .object(members)
    }
}

extension URLLoadError {
    var json: JSONValue {
        .object([
            .init("domain", .string(domain)), .init("code", .integer(code)), .init("streamCode", .optional(streamCode)),
            .init("message", .string(message)),
        ])
    }
}

extension Cause {
    var json: JSONValue {
        .object([
            .init("code", .string(code.rawValue)), .init("message", .string(message)),
            .init("citation", .optional(citation?.source)),
        ])
    }
}

extension PropertyListValue {
    /// The value as JSON, members sorted; dates as RFC 3339, data as base64.
    package var json: JSONValue {
        switch self {
        case .string(let text): .string(text)
        case .integer(let number): .integer(number)
        case .real(let number): .number(number)
        case .boolean(let flag): .bool(flag)
        case .date(let date): .string(Timestamp.text(date))
        case .data(let bytes): .string(Data(bytes).base64EncodedString())
        case .array(let elements): .array(elements.map(\.json))
        case .dictionary(let members):
            .object(members.keys.sorted().map { .init($0, members[$0]?.json ?? .null) })
        }
    }
}

extension ConnectionFacts {
    /// What was negotiated, who signed what, and how the path ended.
    func json(ofWiderHello: Bool) -> JSONValue {
        var possession = "unproven"
        switch handshake.keyPossession {
        case .proven: possession = "proven"
        case .refuted: possession = "refuted"
        case .unproven: break
        }
        return .object([
            .init("hello", .string(ofWiderHello ? "wider" : "default")),
            .init("tlsVersion", .string(handshake.version.description)),
            .init("cipherSuite", .string(handshake.suite.description)),
            .init("forwardSecrecy", .bool(handshake.suite.hasForwardSecrecy)),
            .init("group", .optional(handshake.group?.description)),
            .init("signatureScheme", .optional(handshake.signatureScheme?.description)),
            .init("keyPossession", .string(possession)),
            .init("applicationProtocol", .optional(handshake.applicationProtocol)),
            .init("extendedMasterSecret", .bool(handshake.usesExtendedMasterSecret)),
            .init("requestsClientCertificate", .bool(handshake.requestsClientCertificate)),
            .init("helloRetryRequest", .bool(handshake.usedHelloRetryRequest)),
            .init("stapledOCSP", .bool(handshake.stapledResponse != nil)),
            .init("ocspStatus", .optional(staple?.word)),
            .init("timestamps", timestamps),
            .init("certificates", .array(chain.judged.map(\.json))),
            .init("presented", .integer(chain.presented.count + chain.unparsed)),
            .init("anchor", chain.anchor.map(anchor) ?? .null),
            .init("fetched", .array(chain.fetched.map { .string($0.address) })),
        ])
    }

    private func anchor(_ anchor: AnchorFacts) -> JSONValue {
        .object([
            .init("subject", .string(anchor.certificate.subject)), .init("kind", .string(anchor.kind.rawValue)),
            .init("store", .string(anchor.store)),
        ])
    }

    /// Signed certificate timestamps, counted by where they came from.
    private var timestamps: JSONValue {
        func count(_ bytes: [UInt8]?) -> Int { bytes.flatMap { SignedTimestamp.list(decoding: $0) }?.count ?? 0 }
        return .object([
            .init("certificate", .integer(count(chain.judged.first?.embeddedTimestamps))),
            .init("extension", .integer(count(handshake.timestamps))),
            .init("staple", .integer(count(handshake.stapledTimestamps))),
        ])
    }
}

extension CertificateFacts {
    var json: JSONValue {
        .object([
            .init("subject", .string(subject)), .init("issuer", .string(issuer)),
            .init("serialNumber", .string(serialNumber)), .init("notBefore", .string(Timestamp.text(notBefore))),
            .init("notAfter", .string(Timestamp.text(notAfter))), .init("key", .string(publicKey.words)),
            .init("signatureHash", .string(signature.hash.rawValue)),
            .init("subjectAlternativeNames", names),
            .init("extendedKeyUsages", extendedKeyUsages.map { .array($0.map(JSONValue.string)) } ?? .null),
            .init("spkiSHA256", .string(Data(publicKey.sha256).base64EncodedString())),
        ])
    }

    private var names: JSONValue {
        guard let alternativeNames else { return .null }
        let addresses = alternativeNames.addresses.map { bytes in
            bytes.count == 4
                ? bytes.map(String.init).joined(separator: ".")
                : bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        return .array((alternativeNames.dnsNames + addresses).map(JSONValue.string))
    }
}

extension PublicKeyFacts {
    /// For people: `RSA 2048`, `P-256`.
    var words: String {
        switch kind {
        case .rsa(let bits): "RSA \(bits)"
        case .ellipticCurve(let curve, _): curve
        case .other(let identifier): identifier
        }
    }
}

/// RFC 3339 text of an instant, UTC, whole seconds.
enum Timestamp {
    static func text(_ date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        // Years 0 to 9999: others have no four digits.
        guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return date.formatted(.iso8601) }
        let whole = Int(seconds.rounded(.down))
        let (days, rest) = (whole.flooredDivision(by: 86_400), whole.flooredRemainder(by: 86_400))
        let date = CivilDate(daysSince1970: days)
        var text: [UInt8] = []
        text.reserveCapacity(20)
        func digits(_ number: Int, _ count: Int) {
            let figures = String(number).utf8
            for _ in 0..<max(0, count - figures.count) { text.append(0x30) }
            text += figures
        }
        digits(date.year, 4)
        text.append(UInt8(ascii: "-"))
        digits(date.month, 2)
        text.append(UInt8(ascii: "-"))
        digits(date.day, 2)
        text.append(UInt8(ascii: "T"))
        digits(rest / 3600, 2)
        text.append(UInt8(ascii: ":"))
        digits(rest / 60 % 60, 2)
        text.append(UInt8(ascii: ":"))
        digits(rest % 60, 2)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    static func day(_ date: Date) -> String { String(text(date).prefix(10)) }
}

extension Int {
    fileprivate func flooredDivision(by divisor: Int) -> Int { (self - flooredRemainder(by: divisor)) / divisor }

    fileprivate func flooredRemainder(by divisor: Int) -> Int {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}

extension Duration {
    package var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds) &* 1000 &+ Int(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
