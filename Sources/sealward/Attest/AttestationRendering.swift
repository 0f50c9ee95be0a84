// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import AppAttest
import Findings

extension AttestationVerdict {
    /// `sealward.attestation/1`.
    var json: JSONValue {
        switch self {
        case .accepted(let key):
            [
                "schema": "sealward.attestation/1", "verdict": "accepted", "step": nil, "code": nil,
                "message": "all verification steps passed", "keyId": .string(key.keyId.base64),
                "publicKey": .string(StrictBase64.encode(key.publicKey.x963Representation)),
                "appId": .string(key.app.applicationId), "environment": .string(key.environment.rawValue),
                "counter": 0, "receipt": .string(StrictBase64.encode(key.receipt)),
                "receiptVerdict": key.receiptVerdict?.summary ?? nil,
                "extensions": key.extensions?.json ?? ["bundleVersion": nil, "validationCategory": nil],
                "leaf": key.leaf.json,
            ]
        case .refused(let refusal):
            [
                "schema": "sealward.attestation/1", "verdict": "refused", "step": .optional(refusal.step),
                "code": .string(refusal.code.rawValue), "message": .string(refusal.reason), "keyId": nil,
                "publicKey": nil, "appId": nil, "environment": nil, "counter": nil, "receipt": nil,
                "receiptVerdict": nil, "extensions": nil, "leaf": nil,
            ]
        }
    }

    /// The same for people.
    var text: String {
        switch self {
        case .refused(let refusal): return refusal.text(of: "attestation")
        case .accepted(let key):
            var lines = [
                "accepted: all verification steps of the attestation passed",
                "  app           \(key.app)",
                "  environment   \(key.environment.rawValue)",
                "  key id        \(key.keyId)",
                "  public key    \(StrictBase64.encode(key.publicKey.x963Representation))",
                "  leaf          valid from \(key.leaf.notBefore.rfc3339) to \(key.leaf.notAfter.rfc3339)",
            ]
            if let version = key.leaf.osVersion {
                lines.append("  system        \(version)" + (key.leaf.osBuild.map { " (\($0))" } ?? ""))
            }
            if let extensions = key.extensions {
                lines.append("  bundle        version \(extensions.bundleVersion ?? "not given")")
                lines.append("  category      \(extensions.validationCategory?.description ?? "not given")")
            }
            switch key.receiptVerdict {
            case .accepted?: lines.append("  receipt       accepted")
            case .refused(let refusal)?: lines.append("  receipt       refused, \(refusal)")
            case nil: lines.append("  receipt       not judged")
            }
            return lines.joined(separator: "\n") + "\n"
        }
    }
}

extension Refusal {
    /// The refusal of text that is no base64.
    init(reading malformed: MalformedInput) {
        self.init(malformed: malformed)
    }

    func text(of name: String) -> String {
        let place = step.map { " in step \($0)" } ?? ""
        return "refused: the \(name) does not hold\(place)\n  \(code)\n  \(reason)\n"
    }
}

extension ReceiptVerdict {
    /// The verdict inside an attestation's.
    var summary: JSONValue {
        switch self {
        case .accepted: ["verdict": "accepted", "code": nil]
        case .refused(let refusal):
            [
                "verdict": "refused", "code": .string(refusal.code.rawValue), "message": .string(refusal.reason),
            ]
        }
    }
}

extension AttestationExtensions {
    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("bundleVersion", .optional(bundleVersion)),
            .init("validationCategory", .optional(validationCategory.map { Int($0.rawValue) })),
        ]
        if !unknown.isEmpty {
            let entries = unknown.map {
                JSONValue.Member($0.key, .string(StrictBase64.encode($0.encodedValue)))
            }
            members.append(.init("unknown", .object(entries)))
        }
        return .object(members)
    }
}

extension LeafFacts {
    var json: JSONValue {
        [
            "notBefore": .string(notBefore.rfc3339), "notAfter": .string(notAfter.rfc3339),
            "osVersion": .optional(osVersion), "osBuild": .optional(osBuild),
            "accessControl": .optional(accessControl.map(StrictBase64.encode)),
        ]
    }
}
