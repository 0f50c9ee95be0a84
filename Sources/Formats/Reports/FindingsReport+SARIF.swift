// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Vocabulary

extension FindingsReport {
    /// SARIF 2.1.0 for code scanning.
    ///
    /// Paths are relative to the root of the sources. Fingerprints are made of the rule, the file and the key path, so they survive
    /// changes of lines; the same finding at the same key path is numbered.
    package func sarif() -> JSONValue {
        let indices = Dictionary(rules.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        var results: [JSONValue] = []
        var seen: [String: Int] = [:]
        for file in files {
            for finding in file.findings {
                let identity = [finding.rule, file.path, finding.keyPath.joined(separator: "\u{0}")].joined(
                    separator: "\u{1}")
                let number = seen[identity, default: 0]
                seen[identity] = number + 1
                results.append(
                    result(finding, path: file.path, index: indices[finding.rule], identity: identity, number: number))
            }
        }
        let notifications: [JSONValue] = gaps.map { path, reason in
            [
                "level": "error", "message": ["text": .string("\(path): \(reason)")],
                "locations": [["physicalLocation": ["artifactLocation": Self.artifact(path)]]],
            ]
        }
        return [
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [
                [
                    "tool": [
                        "driver": [
                            "name": "sealward", "semanticVersion": .string(version), "version": .string(version),
                            "rules": .array(rules.map(description)),
                        ]
                    ],
                    "columnKind": "unicodeCodePoints",
                    "originalUriBaseIds": [
                        "SRCROOT": ["description": ["text": "The folder in which sealward was run."]]
                    ],
                    "invocations": [
                        [
                            "executionSuccessful": .bool(gaps.isEmpty),
                            "toolExecutionNotifications": .array(notifications),
                        ]
                    ],
                    "results": .array(results),
                ]
            ],
        ]
    }

    private func description(_ rule: RuleDescription) -> JSONValue {
        .omittingNone([
            "id": .string(rule.id),
            "shortDescription": ["text": .string(rule.summary)],
            "fullDescription": ["text": .string(rule.reason)],
            "help": ["text": .string("\(rule.reason) Source: \(rule.citation.source) (read \(rule.citation.read)).")],
            "defaultConfiguration": ["level": .string(rule.severity.rawValue)],
            "helpUri": rule.citation.url.map(JSONValue.string),
        ])
    }

    private func result(_ finding: Finding, path: String, index: Int?, identity: String, number: Int) -> JSONValue {
        let text = finding.message + (finding.fix.map { " " + $0 } ?? "")
        let region = finding.location.map { place -> JSONValue in
            ["startLine": .integer(place.line), "startColumn": .integer(place.column)]
        }
        let location: JSONValue = [
            "physicalLocation": .omittingNone(["artifactLocation": Self.artifact(path), "region": region]),
            "logicalLocations": [["fullyQualifiedName": .string(finding.keyPath.keyPathText), "kind": "member"]],
        ]
        return .omittingNone([
            "ruleId": .string(finding.rule), "ruleIndex": index.map(JSONValue.integer),
            "level": .string(finding.severity.rawValue), "message": ["text": .string(text)], "locations": [location],
            "partialFingerprints": ["sealward/v1": .string(Self.fingerprint("\(identity)\u{1}\(number)"))],
        ])
    }

    private static func artifact(_ path: String) -> JSONValue {
        let uri = path.utf8.percentEncoded { $0.isUnreserved || $0 == UInt8(ascii: "/") }
        return path.hasPrefix("/")
            ? ["uri": .string("file://" + uri)] : ["uri": .string(uri), "uriBaseId": "SRCROOT"]
    }

    /// FNV-1a of 64 bits: a name, not a secret.
    package static func fingerprint(_ text: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
