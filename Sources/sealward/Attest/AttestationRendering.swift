// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Formats
import Vocabulary

/// What `attest verify` answers: the verifier's verdict, and what the receipt inside adds to it.
struct AttestationAnswer {
    let verdict: AttestationVerdict
    /// Whether a refused receipt refuses the whole.
    let requiresReceipt: Bool
    /// Whether roots were named that replace Apple's, for the receipt too.
    let replacesRoots: Bool

    /// The refusal of the key, or of the receipt where it counts.
    var refusal: Refusal? {
        switch verdict {
        case .refused(let refusal): refusal
        case .accepted(let key): requiresReceipt ? key.receiptVerdict?.refusal : nil
        }
    }

    /// `sealward.attestation/1`. The step is the attestation's: the steps of its receipt have numbers of their own.
    var json: JSONValue {
        var members = Refusal.document("sealward.attestation/1", refusal, step: verdict.refusal?.step)
        let key: AttestedKey? = if case .accepted(let key) = verdict { key } else { nil }
        let extensions = key.map { $0.extensions?.json ?? ["bundleVersion": nil, "validationCategory": nil] }
        members += [
            .init("keyId", .optional(key?.keyId.base64)),
            .init("publicKey", .optional(key.map { Base64.encode($0.publicKey.x963Representation) })),
            .init("appId", .optional(key?.app.applicationId)),
            .init("environment", .optional(key?.environment.rawValue)), .init("counter", .optional(key.map { _ in 0 })),
            .init("receipt", .optional(key.map { Base64.encode($0.receipt) })),
            .init("receiptVerdict", key?.receiptVerdict?.summary ?? .null), .init("extensions", extensions ?? .null),
            .init("leaf", key?.leaf.json ?? .null),
        ]
        return .object(members)
    }

    /// The same for people.
    var text: String {
        switch verdict {
        case .refused(let refusal): return refusal.text(of: "attestation")
        case .accepted(let key):
            var lines = ["accepted: all verification steps of the attestation passed"]
            if let refusal {
                lines = ["refused: the key is accepted, its receipt is refused"] + refusal.lines
            }
            lines += [
                "  app           \(key.app)",
                "  environment   \(key.environment.rawValue)",
                "  key id        \(key.keyId)",
                "  public key    \(Base64.encode(key.publicKey.x963Representation))",
                "  leaf          valid from \(RFC3339.text(key.leaf.notBefore)) to \(RFC3339.text(key.leaf.notAfter))",
            ]
            if let version = key.leaf.osVersion {
                lines.append("  system        \(version)" + (key.leaf.osBuild.map { " (\($0))" } ?? ""))
            }
            if let extensions = key.extensions {
                lines.append("  bundle        version \(extensions.bundleVersion ?? "not given")")
                lines.append("  category      \(extensions.validationCategory?.named ?? "not given")")
            }
            switch key.receiptVerdict {
            case .accepted?: lines.append("  receipt       accepted")
            case .refused(let found)?:
                lines.append("  receipt       refused, \(found)")
                if refusal == nil { lines += (found.differences + found.advice).map { "                " + $0 } }
                if replacesRoots, found.code == .receiptChainUntrusted {
                    lines.append(
                        "  roots         --trust-root replaces Apple Root CA - G3, which signs receipts: name it too, or add --receipt ignore"
                    )
                }
            case nil: lines.append("  receipt       not judged")
            }
            return lines.map(\.terminalSafe).joined(separator: "\n") + "\n"
        }
    }
}

extension AttestationVerdict {
    var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }
}

extension Refusal {
    /// The members with which the document of a verdict begins; nil is accepted.
    static func document(_ schema: String, _ refusal: Refusal?, step: Int?) -> [JSONValue.Member] {
        [
            .init("schema", .string(schema)), .init("verdict", refusal == nil ? "accepted" : "refused"),
            .init("step", .optional(step)), .init("code", .optional(refusal?.code.rawValue)),
            .init("message", .string(refusal?.reason ?? "all verification steps passed")),
        ] + difference(refusal)
    }

    func text(of name: String) -> String {
        let place = step.map { " in step \($0)" } ?? ""
        return (["refused: the \(name) fails\(place)"] + lines).map(\.terminalSafe).joined(separator: "\n") + "\n"
    }

    /// Code, reason, the values that differ, and what to do.
    var lines: [String] {
        (["\(code)", reason] + differences + advice).map { "  " + $0 }
    }

    /// The values that differ.
    fileprivate var differences: [String] {
        compared.flatMap { value in
            [
                "expected  \(value.name) \(value.expected ?? "(no such value)")",
                "found     \(value.name) \(value.found.map { $0 + value.asText } ?? "(the object does not tell it)")",
            ]
        }
    }

    /// The mistake, if one was recognised, and what to do about the refusal.
    var advice: [String] {
        if let mistake {
            return ["mistake   \(mistake.name): \(mistake.explanation)", "fix       \(mistake.action)"]
        }
        return CodeCatalog.explanation(of: code.rawValue).map { ["fix       \($0.action)"] } ?? []
    }
}

extension ComparedValue {
    /// The value that was found as text in quotes, if it is base64 of printable text.
    fileprivate var asText: String {
        guard name == "clientDataHash", let bytes = found.flatMap(Base64.decode), !bytes.isEmpty,
            bytes.allSatisfy({ (0x20..<0x7F).contains($0) })
        else { return "" }
        return " (the text \"\(String(decoding: bytes, as: UTF8.self).terminalSafe(limit: 80))\")"
    }
}

extension ReceiptVerdict {
    /// The verdict inside an attestation's.
    var summary: JSONValue {
        switch self {
        case .accepted: ["verdict": "accepted", "code": nil]
        case .refused(let refusal):
            .object(
                [
                    .init("verdict", "refused"), .init("code", .string(refusal.code.rawValue)),
                    .init("message", .string(refusal.reason)),
                ] + Refusal.difference(refusal))
        }
    }
}

extension AttestationExtensions {
    var json: JSONValue {
        let entries = unknown.map { JSONValue.Member($0.key, .string(Base64.encode($0.encodedValue))) }
        return .omittingNone([
            "bundleVersion": .optional(bundleVersion),
            "validationCategory": .optional(validationCategory.map { Int($0.rawValue) }),
            "unknown": entries.isEmpty ? .none : .object(entries),
        ])
    }
}

extension LeafFacts {
    var json: JSONValue {
        [
            "notBefore": .string(RFC3339.text(notBefore)), "notAfter": .string(RFC3339.text(notAfter)),
            "osVersion": .optional(osVersion), "osBuild": .optional(osBuild),
            "accessControl": .optional(accessControl.map(Base64.encode)),
        ]
    }
}
