// Sealward: the open trust stack between Apple apps and their servers.
// SPDX-License-Identifier: Apache-2.0

import Formats
package import Vocabulary

/// What `sealward ats check --format json` measured about servers, as facts for a justification.
package struct CheckEvidence: Sendable {
    struct Target: Sendable {
        let target: String
        let host: String
        let tests: [Test]
    }

    struct Test: Sendable {
        let name: String
        let result: String
        let because: [Reason]
    }

    struct Reason: Sendable {
        let code: String
        let message: String
    }

    let os: String
    /// The day of the measurement, as `YYYY-MM-DD`; nil in reports of older versions.
    let checked: String?
    let targets: [Target]

    /// Reads the report.
    ///
    /// - Throws: `MalformedInput` with code `malformed.check-report`.
    package init(json bytes: [UInt8]) throws(MalformedInput) {
        let reason = "is not a report of 'sealward ats check --format json'"
        let document = try SchemaDocument(
            bytes, schema: "sealward.ats-check/1", code: .malformedCheckReport, otherwise: reason)
        guard let os = document["os"]?.text, let list = document["targets"]?.elements else { throw document.fault }
        self.os = os
        checked = document["checked"]?.text.flatMap { text in
            let day = text.utf8.prefix(10)
            let isDay = day.count == 10 && day.allSatisfy { $0 == 0x2D || (0x30...0x39).contains($0) }
            return isDay ? String(Substring(day)) : nil
        }
        guard let targets = list.all(Target.init) else { throw document.fault }
        self.targets = targets
    }

    /// The targets that a key of NSExceptionDomains covers.
    func targets(of host: String, subdomains: Bool) -> [Target] {
        let parent = ("." + host).utf8
        return targets.filter {
            $0.host.hasSameBytes(as: host) || subdomains && $0.host.utf8.suffix(parent.count).elementsEqual(parent)
        }
    }
}

extension CheckEvidence.Target {
    fileprivate init?(_ value: JSONValue) {
        guard let target = value.member("target")?.text, let host = value.member("host")?.text,
            let tests = value.member("tests")?.elements?.all(CheckEvidence.Test.init)
        else { return nil }
        (self.target, self.host, self.tests) = (target, host, tests)
    }
}

extension CheckEvidence.Test {
    fileprivate init?(_ value: JSONValue) {
        guard let name = value.member("name")?.text, let result = value.member("result")?.text,
            let because = value.member("because")?.elements?.all(CheckEvidence.Reason.init)
        else { return nil }
        (self.name, self.result, self.because) = (name, result, because)
    }
}

extension CheckEvidence.Reason {
    fileprivate init?(_ value: JSONValue) {
        guard let code = value.member("code")?.text, let message = value.member("message")?.text else { return nil }
        (self.code, self.message) = (code, message)
    }
}

extension [JSONValue] {
    /// All of them as values; nil if one is none.
    fileprivate func all<Value>(_ value: (JSONValue) -> Value?) -> [Value]? {
        let found = compactMap(value)
        return found.count == count ? found : nil
    }
}
