// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

package import AppTransportSecurity
package import Formats
package import FoundationEssentials
package import PropertyLists
package import TLSModel
package import Vocabulary

extension URLLoadError {
    /// Domain, code, stream code and message, the error below it, and what the console shows.
    package func json(console: [ConsoleLine]) -> JSONValue {
        [
            "domain": .string(domain), "code": .integer(code), "streamCode": .optional(streamCode),
            "message": .string(message), "streamDomain": .optional(streamDomain),
            "underlying": underlying.map { ["domain": .string($0.domain), "code": .integer($0.code)] } ?? .null,
            "console": .array(console.map(\.json)),
        ]
    }

    /// The same, with the console lines of a system.
    package func json(on profile: OSProfile, host: String, causes: [Cause]) -> JSONValue {
        json(console: ConsoleLine.lines(for: self, causes: causes, host: host, on: profile))
    }
}

extension ConsoleLine {
    fileprivate var json: JSONValue {
        ["text": .string(text), "known": .string(basis.rawValue), "citation": .string(citation.source)]
    }
}

extension Cause {
    /// Code, sentence, what to do about it on the server or in the app, and source.
    package var json: JSONValue {
        [
            "code": .string(code.rawValue), "message": .string(message),
            "fix": .optional(Remediation(for: self)?.server), "citation": .optional(citation?.source),
        ]
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
        case .date(let date): .string(RFC3339.text(date))
        case .data(let bytes): .string(Data(bytes).base64EncodedString())
        case .array(let elements): .array(elements.map(\.json))
        case .dictionary(let members):
            .object(members.keys.sorted().map { .init($0, members[$0]?.json ?? .null) })
        }
    }
}

extension ConnectionFacts {
    /// What was negotiated, who signed what, and how the path ended.
    ///
    /// - Parameters:
    ///   - hello: which hello got the answer.
    ///   - instant: the time of judgement, from which the days that certificates have left are counted.
    package func json(of hello: AnsweredHello, at instant: Date) -> JSONValue {
        let possession =
            switch handshake.keyPossession {
            case .proven: "proven"
            case .refuted: "refuted"
            case .unproven: "unproven"
            }
        return [
            "hello": .string(hello.kind.rawValue), "helloLength": .optional(hello.length),
            "smallerHelloGotFurther": hello.smallerGotFurther.map(JSONValue.bool) ?? .null,
            "tlsVersion": .string(handshake.version.description), "cipherSuite": .string(handshake.suite.description),
            "forwardSecrecy": .bool(handshake.suite.hasForwardSecrecy),
            "group": .optional(handshake.group?.description),
            "signatureScheme": .optional(handshake.signatureScheme?.description), "keyPossession": .string(possession),
            "applicationProtocol": .optional(handshake.applicationProtocol),
            "extendedMasterSecret": .bool(handshake.usesExtendedMasterSecret),
            "requestsClientCertificate": .bool(handshake.requestsClientCertificate),
            "helloRetryRequest": .bool(handshake.usedHelloRetryRequest),
            "stapledOCSP": .bool(handshake.stapledResponse != nil), "ocspStatus": .optional(staple?.word),
            "timestamps": trust.timestampsJSON, "certificates": .array(chain.judged.map { $0.json(at: instant) }),
            "presented": .integer(chain.presented.count + chain.unparsed),
            "anchor": chain.anchor?.json(at: instant) ?? .null,
            "fetched": .array(chain.fetched.map { .string($0.address) }),
        ]
    }
}

extension AnchorFacts {
    func json(at instant: Date) -> JSONValue {
        [
            "subject": .string(certificate.subject), "kind": .string(kind.rawValue), "store": .string(store),
            "notAfter": .string(RFC3339.text(certificate.notAfter)),
            "daysLeft": .integer(certificate.daysLeft(at: instant)),
        ]
    }
}

extension PresentedTrust {
    /// Signed certificate timestamps, counted by where they came from.
    var timestampsJSON: JSONValue {
        func count(_ bytes: [UInt8]?) -> Int { bytes.flatMap { SignedTimestamp.list(decoding: $0) }?.count ?? 0 }
        return [
            "certificate": .integer(count(chain.judged.first?.embeddedTimestamps)),
            "extension": .integer(count(timestamps)), "staple": .integer(count(stapledTimestamps)),
        ]
    }
}

extension CertificateFacts {
    /// Whole days until the certificate expires, negative if it has expired.
    func daysLeft(at instant: Date) -> Int {
        let days = (notAfter.timeIntervalSince(instant) / 86_400).rounded(.down)
        // A date of a hostile certificate may be far out.
        return days.isFinite ? Int(min(max(days, -1e7), 1e7)) : 0
    }

    func json(at instant: Date) -> JSONValue {
        [
            "subject": .string(subject), "issuer": .string(issuer), "serialNumber": .string(serialNumber),
            "notBefore": .string(RFC3339.text(notBefore)), "notAfter": .string(RFC3339.text(notAfter)),
            "daysLeft": .integer(daysLeft(at: instant)), "key": .string(publicKey.words),
            "signatureHash": .string(signature.hash.rawValue), "subjectAlternativeNames": names,
            "extendedKeyUsages": extendedKeyUsages.map { .array($0.map(JSONValue.string)) } ?? .null,
            "spkiSHA256": .string(Data(publicKey.sha256).base64EncodedString()),
        ]
    }

    private var names: JSONValue {
        guard let alternativeNames else { return .null }
        let addresses = alternativeNames.addresses.map { bytes in
            bytes.count == 4
                ? bytes.map(String.init).joined(separator: ".")
                : bytes.hexadecimal()
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

extension Remedy {
    /// The key and its value, and what they require besides.
    package var json: JSONValue {
        [
            "keyPath": .string(keyPath), "value": .string(value), "requiresJustification": .bool(requiresJustification),
            "needsDelegate": .bool(needsDelegate),
        ]
    }
}

extension LinkedSDK? {
    /// The member `sdk`: its number as a string, or null.
    package var json: JSONValue { .optional(self?.description) }
}
