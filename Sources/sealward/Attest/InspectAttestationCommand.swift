// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import ArgumentParser
import Formats
import Vocabulary

struct InspectAttestationCommand: ResultCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show every field of an attestation or an assertion. Nothing is verified.",
        discussion: """
            Example:
              sealward attest inspect attestation.b64
            """
    )

    @Argument(help: .value("The attestation or assertion, raw or in base64; - is standard input.", "FILE"))
    var file: String

    @OptionGroup var inspection: InspectionOptions

    var form: ResultForm { inspection.form }

    func result() async throws -> CommandResult {
        let input = try AttestInput.read(file)
        let document = try CommandIO.named(file) { () throws(MalformedInput) in
            let bytes = try input.get()
            if let assertion = try? AssertionObject(decoding: bytes) {
                return InspectAttestationCommand.document(assertion)
            }
            return InspectAttestationCommand.document(try AttestationObject(decoding: bytes))
        }
        return CommandResult(document, text: document.outline)
    }

    private static func document(_ object: AttestationObject) -> JSONValue {
        let receipt: JSONValue
        do throws(MalformedInput) {
            receipt = try Receipt(decoding: object.receipt).inspection
        } catch {
            receipt = ["malformed": .string(error.description)]
        }
        return [
            "schema": "sealward.attest-inspect/1", "kind": "attestation", "fmt": "apple-appattest",
            "x5c": .array(object.certificates.map(certificate)),
            "authData": authenticatorData(object.authenticatorData),
            "receiptSize": .integer(object.receipt.count), "receipt": receipt,
        ]
    }

    private static func document(_ object: AssertionObject) -> JSONValue {
        [
            "schema": "sealward.attest-inspect/1", "kind": "assertion",
            "signature": .string(Base64.encode(object.signature)),
            "authData": authenticatorData(object.authenticatorData),
        ]
    }

    private static func authenticatorData(_ data: AuthenticatorData) -> JSONValue {
        let (credential, claimed) = (data.credential, data.claimedExtensions)
        return .omittingNone([
            "size": .integer(data.bytes.count),
            "rpIdHash": .string(Base64.encode(data.relyingPartyIdHash)),
            "flags": .string("0x" + [data.flags].hexadecimal()),
            "flagsMeaning": .string(meaning(data.flags)),
            "counter": .integer(Int(data.counter)),
            "aaguid": credential.map { .string($0.aaguid.hexadecimal()) },
            "aaguidText": credential.map { .string(printable($0.aaguid)) },
            "credentialId": credential.map { .string(Base64.encode($0.credentialId)) },
            "publicKey": credential.map { .string(Base64.encode($0.publicKey)) },
            "extensions": claimed.known?.json ?? .null,
            "extensionsUnknownShape": claimed.unknownShape.map { .string($0) },
        ])
    }

    private static func meaning(_ flags: UInt8) -> String {
        var names: [String] = []
        if flags & 0x40 != 0 { names.append("attested credential data (AT)") }
        if flags & 0x80 != 0 { names.append("extension data (ED)") }
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }

    /// The text of an AAGUID without the zero bytes that fill it.
    private static func printable(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.filter { (0x20..<0x7F).contains($0) }, as: UTF8.self)
    }

    private static func certificate(_ der: ArraySlice<UInt8>) -> JSONValue {
        do throws(MalformedInput) {
            let summary = try CertificateSummary(der: der)
            return [
                "subject": .string(summary.subject), "issuer": .string(summary.issuer),
                "serialNumber": .string(summary.serialNumber), "notBefore": .string(RFC3339.text(summary.notBefore)),
                "notAfter": .string(RFC3339.text(summary.notAfter)), "key": .string(summary.key),
                "osVersion": .optional(summary.facts.osVersion), "osBuild": .optional(summary.facts.osBuild),
                "extensions": .array(
                    summary.extensions.map {
                        [
                            "id": .string($0.id), "critical": .bool($0.isCritical),
                            "name": .optional(extensionNames[$0.id]), "value": .string($0.value.hexadecimal()),
                        ]
                    }
                ),
            ]
        } catch {
            return ["malformed": .string(error.description)]
        }
    }

    private static let extensionNames = [
        "2.5.29.15": "key usage", "2.5.29.19": "basic constraints", "2.5.29.37": "extended key usage",
        "2.5.29.14": "subject key identifier", "2.5.29.35": "authority key identifier",
        "1.2.840.113635.100.8.2": "attestation nonce", "1.2.840.113635.100.8.5": "key usage properties",
        "1.2.840.113635.100.8.6": "key access control", "1.2.840.113635.100.8.7": "device OS information",
    ]
}

extension JSONValue {
    /// The document as indented lines for people: one member a line.
    var outline: String { outline(depth: 0) }

    private func outline(depth: Int) -> String {
        let indent = String(repeating: "  ", count: depth)
        switch self {
        case .object(let members):
            return members.map { indent + $0.name + $0.value.outlineValue(depth: depth) }.joined()
        case .array(let elements):
            return elements.enumerated().map { "\(indent)[\($0)]" + $1.outlineValue(depth: depth) }.joined()
        default: return indent + rendered(pretty: false) + "\n"
        }
    }

    private func outlineValue(depth: Int) -> String {
        switch self {
        case .object, .array: "\n" + outline(depth: depth + 1)
        case .string(let string) where string.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }):
            "  \(string)\n"
        case .null: "  -\n"
        default: "  " + rendered(pretty: false) + "\n"
        }
    }
}
