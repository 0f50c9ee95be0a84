// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

public import Findings
import Foundation

/// What `sealward ats check --format json` measured about servers, as facts for a justification.
public struct CheckEvidence: Sendable {
    struct Target: Decodable, Sendable {
        let target: String
        let host: String
        let port: Int?
        let tests: [Test]
    }

    struct Test: Decodable, Sendable {
        let name: String
        let result: String
        let because: [Reason]
    }

    struct Reason: Decodable, Sendable {
        let code: String
        let message: String
    }

    private struct Document: SchemaDocument {
        static let expectedSchema = "sealward.ats-check/1"
        let schema: String
        let os: String
        let targets: [Target]
    }

    let os: String
    let targets: [Target]

    /// Reads the report.
    ///
    /// - Throws: `MalformedInput` with code `malformed.check-report`.
    public init(json bytes: [UInt8]) throws(MalformedInput) {
        let document = try Document.read(
            bytes,
            code: "malformed.check-report",
            otherwise: "is no report of 'sealward ats check --format json'"
        )
        os = document.os
        targets = document.targets
    }

    /// The targets that a key of NSExceptionDomains covers.
    func targets(of host: String, subdomains: Bool) -> [Target] {
        targets.filter { $0.host == host || subdomains && $0.host.hasSuffix("." + host) }
    }
}
